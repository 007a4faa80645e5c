"""Anybody's policies as a population: functions, objects with Stable-Baselines3's predict, ONNX files."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from polygait.config.settings import NoSettings
from polygait.errors import UserError
from polygait.learning.rollout import Actor
from polygait.population.manifest import MemberEntry
from polygait.population.population import Member, Population
from polygait.population.store import RunFolder
from polygait.population.trained_on import TrainedOn
from polygait.run_config import RunConfig
from polygait.storage.files import refuse_links
from polygait.tasks.registry import make_task
from polygait.versions import versions

GIVEN = "given"
"""Stands for the method by which such members were made."""
Act = Callable[[np.ndarray], np.ndarray]
"""From observations (n, state) to actions (n, action)."""
_PROBES = 64
_DECIMALS = 4
"""To which actions tell policies apart: other machines may differ in the last bits."""


class GivenPopulation(Population):
    """Members that were trained elsewhere. They act as they are: without noise, and without learning."""

    def __init__(
        self,
        policies: Mapping[str, Any],
        task: str,
        out: str | os.PathLike[str] | None = None,
        task_options: Mapping[str, Any] | None = None,
    ) -> None:
        """`out` is the folder for results; without one they are forgotten with the population."""
        if not isinstance(policies, Mapping) or not policies:
            raise UserError(
                f"Policies are given by name, got {policies!r}.", 'Write {"mine": policy, "yours": another}.'
            )
        options = dict(task_options or {})
        robot = make_task(task, num_envs=1, **options)
        self.config = _config(task, options, len(policies))
        self.layout, self.filter = robot.layout, robot.default_filter
        self.action_size = robot.action_size
        self.trained_on = TrainedOn(robot.layout.names, "", None, versions()["mujoco"])
        self.members = [
            Member(index, 0, {}, self._checked_policy(name, policy), str(name))
            for index, (name, policy) in enumerate(policies.items())
        ]
        self._actors = {}
        self.lasting = out is not None
        if out is None:
            out = tempfile.mkdtemp(prefix="polygait-")
            weakref.finalize(self, shutil.rmtree, out, ignore_errors=True)
        self.path = Path(out)
        if (self.path / "manifest.json").exists():
            raise UserError(
                f"{self.path} holds a run of its own.",
                "Choose another `out` for the results of these policies.",
            )
        refuse_links(self.path)

    def actor(self, members: Sequence[int], num_envs: int) -> Actor:
        """Some members, ready to act; each is asked about all of its rows at once."""
        del num_envs
        return _GivenActor([self.members[member].policy for member in members])

    def member_arrays(self, index: int) -> list[np.ndarray]:
        """A policy from elsewhere is known by what it does."""
        chance = np.random.default_rng(0)
        states = chance.standard_normal((_PROBES, self.layout.size)).astype(np.float32)
        return [states, np.round(self.act(states, index), _DECIMALS) + 0.0]

    def run_folder(self) -> RunFolder:
        """What a run's folder would say of these members, for a report; nothing of it is on disk."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        members = [
            asdict(MemberEntry(one.index, "", "", 0, 0, {**one.summary, "name": one.name}))
            for one in self.members
        ]
        manifest = {
            "config": {"task": self.config.task, "method": GIVEN},
            "task": {
                "name": self.config.task,
                "observation": self.layout.size,
                "action": self.action_size,
            },
            "layout": self.layout.to_json(),
            "filter": self.filter.to_json(),
            "versions": versions(),
            "created": now,
            "updated": now,
            "complete": True,
            "members": members,
        }
        return RunFolder(self.path, manifest)

    def _checked_policy(self, name: str, policy: Any) -> Act:
        """A policy as a function that gives fitting actions, the same for the same observations."""
        act = as_function(name, policy)
        states = np.zeros((2, self.layout.size), np.float32)
        found = _asked(name, act, states)
        if found.shape != (2, self.action_size):
            raise UserError(
                f"The policy {name!r} gave {found.shape} for observations of shape {states.shape}; actions "
                f"must be (2, {self.action_size}), one row for each observation.",
                "For one that takes one at a time: lambda many: np.stack([policy(one) for one in many]).",
            )
        if not np.array_equal(found, _asked(name, act, states), equal_nan=True):
            raise UserError(
                f"The policy {name!r} gives other actions when it is asked the same again.",
                "Give its mean actions: members are compared without noise.",
            )
        return lambda observations: _asked(name, act, observations)


class _GivenActor:
    """Every member asked about its own rows."""

    def __init__(self, functions: Sequence[Act]) -> None:
        self._functions = functions

    def act(self, observation: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None:
        """Write the mean actions: what noise a policy was trained with is not known."""
        del noise
        out[:] = self.mean(observation)

    def mean(self, observation: np.ndarray) -> np.ndarray:
        """What every member does in its rows."""
        pairs = zip(self._functions, observation, strict=True)
        return np.stack([act(rows) for act, rows in pairs])


def as_function(name: str, policy: Any) -> Act:
    """Whatever acts, as a function of many observations."""
    if isinstance(policy, str | os.PathLike):
        return _onnx(name, Path(policy))
    if hasattr(policy, "predict"):
        return lambda observations: policy.predict(observations, deterministic=True)[0]
    if callable(policy):
        return lambda observations: np.asarray(policy(observations))
    raise UserError(
        f"The policy {name!r} is {policy!r}, which cannot act.",
        "Give a function of observations, an object with predict(), or the path of an .onnx file.",
    )


def _onnx(name: str, path: Path) -> Act:
    """An ONNX file: its first input takes observations, its first output gives actions."""
    if path.suffix != ".onnx" or not path.is_file():
        raise UserError(
            f"The policy {name!r} is the path {str(path)!r}, which is no .onnx file.", "Give the path of one."
        )
    try:
        import onnxruntime  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UserError(
            f"The policy {name!r} is an ONNX file, which needs onnxruntime.",
            "Install it: pip install onnxruntime",
        ) from error
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]

    def act(observations: np.ndarray) -> np.ndarray:
        return np.asarray(session.run(None, {given.name: observations})[0])

    if given.shape and given.shape[0] == 1:  # exported for one observation at a time
        return lambda observations: np.concatenate([act(one[None]) for one in observations])
    return act


def _asked(name: str, act: Act, observations: np.ndarray) -> np.ndarray:
    """A policy's actions as float32; NaN would be taken for a robot that stands still."""
    actions = np.asarray(act(observations), np.float32)
    if not np.isfinite(actions).all():
        raise UserError(
            f"The policy {name!r} gave NaN or infinity for an action.", "Check what it was trained to see."
        )
    return actions


def _config(task: str, task_options: dict[str, Any], members: int) -> RunConfig:
    """A configuration in which nothing was trained."""
    return RunConfig(
        task=task,
        method=GIVEN,
        members=members,
        steps=0,
        seed=0,
        preset="robust",
        remove=None,
        alpha=0.0,
        envs=1,
        keep="last",
        learner=NoSettings(),
        method_config=NoSettings(),
        task_options=task_options,
    )
