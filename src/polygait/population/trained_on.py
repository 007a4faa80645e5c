"""The task behind a run: made again from what its manifest says, and checked to be the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygait.errors import UserError
from polygait.run_config import RunConfig
from polygait.tasks.actions import ActionLaw, law_of_task
from polygait.tasks.fingerprint import Fingerprint, fingerprint_of
from polygait.tasks.registry import GYM_PREFIX, remake_task
from polygait.tasks.task import Task
from polygait.versions import versions

_MEANING = "Its members would act on something else than they learned."


@dataclass(frozen=True)
class TrainedOn:
    """What a run remembers of its task."""

    layout: tuple[str, ...]
    source: str
    """The file of a robot that came from one."""
    fingerprint: Fingerprint | None
    """Of runs of 0.1 it is not known."""
    mujoco: str
    """The version that compiled its model."""
    law: ActionLaw | None = None
    """What its actions did; earlier versions did not write it down."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> TrainedOn:
        """From a checked manifest."""
        task, found, law = manifest["task"], manifest.get("fingerprint"), manifest.get("actions")
        source = task.get("source", "") if isinstance(task, dict) else ""
        return cls(
            tuple(manifest["layout"]),
            source if isinstance(source, str) else "",
            None if found is None else Fingerprint.from_json(found),
            str(manifest["versions"].get("mujoco", "")),
            None if law is None else ActionLaw.from_json(law),
        )

    def make(self, config: RunConfig, **options: Any) -> Task:
        """The task, with its state and its actions as the members know them."""
        task = self._remake(config, options)
        self._require_same_meaning(config, task)
        return task

    def make_to_train(self, config: RunConfig, **options: Any) -> Task:
        """The task for training to go on: nothing about it may have changed."""
        task = self.make(config, **options)
        changed = self.changes(task)
        if self.mujoco != versions()["mujoco"] and "model" in changed:
            changed.remove("model")  # a new compiler; that versions changed is told anyway
        if changed := [name for name in changed if name != "version"]:
            raise UserError(
                f"{config.task} has changed since this run began: its {' and its '.join(changed)}.",
                "Members would be trained on two robots: bring the robot back as it was, or train a new run.",
            )
        return task

    def changes(self, task: Task) -> list[str]:
        """What is no longer as it was in training: model, layout, actions, reward or version."""
        return [] if self.fingerprint is None else fingerprint_of(task).changes_since(self.fingerprint)

    def _remake(self, config: RunConfig, options: dict[str, Any]) -> Task:
        own = dict(config.task_options)
        if config.task.startswith(GYM_PREFIX):
            own.setdefault("layout", list(self.layout))  # who trained may have called numbers otherwise
        return remake_task(config.task, self.source, **own, **options)

    def _require_same_meaning(self, config: RunConfig, task: Task) -> None:
        if self.layout != task.layout.names:
            raise UserError(
                f"{config.task} shows another state than in training: "
                f"{_difference(self.layout, task.layout.names)}.",
                f"{_MEANING} Bring the layout back as it was.",
            )
        if told := self._other_actions(task):
            raise UserError(
                f"{config.task} takes other actions than in training: {told}.",
                f"{_MEANING} To try it nevertheless, name the robot as another task: `on='{config.task}'`.",
            )

    def _other_actions(self, task: Task) -> str:
        """How actions differ from those of training, in words; nothing where they are the same."""
        if self.fingerprint and (now := fingerprint_of(task).actions) != self.fingerprint.actions:
            return _difference(self.fingerprint.actions, now)
        return _some(self.law.differences(law_of_task(task))) if self.law else ""


def _difference(before: Sequence[str], now: Sequence[str]) -> str:
    """How two lists differ, in words."""
    gone = [one for one in before if one not in now]
    new = [one for one in now if one not in before]
    if gone or new:
        told = [("without", gone), ("with", new)]
        return " and ".join(f"{word} {_some(names)}" for word, names in told if names)
    place = next(
        (index for index, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), 0
    )
    return f"in another order, where {before[place]!r} was is now {now[place]!r}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(repr, names[:3])) + more
