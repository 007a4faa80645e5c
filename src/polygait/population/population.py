"""A population: the members of a run, ready to act."""

from __future__ import annotations

import hashlib
import importlib
import math
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from polygait.errors import UserError
from polygait.learning.acting import ALONE
from polygait.learning.learner import Learner, PlainPolicy, PolicyState, Sizes
from polygait.learning.rollout import Actor
from polygait.learning.stacking import member_of, stacked
from polygait.population.store import RunFolder
from polygait.population.trained_on import TrainedOn
from polygait.progress import amount
from polygait.run_config import RunConfig
from polygait.screen import plain_table
from polygait.storage.trees import flatten_tree, unflatten_tree
from polygait.tasks.state import StateFilter, StateLayout
from polygait.tasks.task import Task, checked_numbers
from polygait.zoo import is_zoo, own_copy

SPECIALISTS = "specialists"
"""In the manifest: what each of them is for, and from whom it goes on."""
_MOST_ROWS = 256
"""On which a member acts at once; longer batches are cut, for memory must not grow with their variety."""


@dataclass(frozen=True)
class Member:
    """One way to do the task."""

    index: int
    steps: int
    summary: dict[str, Any]
    policy: Any
    """What acts: a PolicyState of ours, or the function of a policy from elsewhere."""
    name: str = ""
    """What it is called; a member of a run has a number only."""
    specialty: str = ""
    """The damage in which it went on from another member, if it did."""

    @property
    def title(self) -> str:
        """What to call it in a sentence."""
        return self.name or f"member {self.index}"


class Population:
    """The finished members of a run folder."""

    def __init__(self, run: RunFolder) -> None:
        if not isinstance(run, RunFolder):
            raise UserError(
                f"A Population is made from a RunFolder, got {run!r}.", "Open one with load(path)."
            )
        manifest = run.manifest
        self.path = run.path
        self.config = RunConfig.from_json(manifest["config"])
        self.layout = StateLayout.from_json(manifest["layout"])
        self.filter = StateFilter.from_json(manifest["filter"])
        self.action_size: int = manifest["task"]["action"]
        """How many actions every member gives."""
        self.trained_on = TrainedOn.of(manifest)
        sizes = Sizes(self.layout.size, self.action_size)
        self._learner = self.config.learner_class(self.config.learner, sizes, self.config.envs)
        like = self._learner.policy_shape()
        self.members = [
            Member(
                index,
                entry.steps,
                entry.summary,
                unflatten_tree(like, section(run.load_member(index), "brain")),
                specialty=manifest.get(SPECIALISTS, {}).get(str(index), {}).get("variation", ""),
            )
            for index, entry in sorted(run.members.items())
        ]
        self._actors: dict[tuple[int, int], Actor] = {}
        self.lasting = True
        """Whether results are kept when the process ends."""

    @classmethod
    def from_policies(
        cls,
        policies: Mapping[str, Any],
        task: str,
        out: str | os.PathLike[str] | None = None,
        **task_options: Any,
    ) -> Population:
        """Policies of anybody, by name, as the members of a population for a task.

        A policy is a function from observations (n, state) to actions (n, action) in [−1, 1], an object with
        Stable-Baselines3's `predict`, or the path of an ONNX file. Results go to the folder `out`; without
        one they are forgotten with the population.
        """
        from polygait.population.policies import GivenPopulation

        return GivenPopulation(policies, task, out, task_options)

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        """Its members in a small table: how well each does when nothing is wrong."""
        return f"{self.title}\n{plain_table(*self.table())}"

    def _repr_html_(self) -> str:
        """The same for notebooks, with a strip of pictures of every member."""
        # By name: pictures are drawn above this layer, and only notebooks ask for them here.
        return importlib.import_module("polygait.report.notebook").population_html(self)

    @property
    def title(self) -> str:
        """How many members of what."""
        members = "1 member" if len(self) == 1 else f"{len(self)} members"
        return f"Population of {members}: {self.config.task}, {self.config.method} ({self.path})"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows of what is known of its members; what is not known is empty."""
        columns = ("member", "name", "steps", "return", "m/s", "falls")
        if special := any(member.specialty for member in self.members):
            columns += ("specialist for",)
        return columns, [
            (
                str(member.index),
                member.name,
                f"{member.steps:,}" if member.steps else "",
                *_nominal_words(member.summary),
                *([member.specialty] if special else []),
            )
            for member in self.members
        ]

    @property
    def best_nominal(self) -> int:
        """The member with the highest return when nothing is wrong, as measured after training."""
        return max(self.members, key=lambda one: one.summary.get("nominal_return", -math.inf)).index

    def act(self, observations: np.ndarray, member: int) -> np.ndarray:
        """One member's mean actions in [−1, 1], (n, action size) for raw observations (n, state)."""
        self.require_member(member)
        seen = self._checked(observations)
        actions = np.empty((len(seen), self.action_size), np.float32)
        for begin in range(0, len(seen), _MOST_ROWS):
            rows = seen[begin : begin + _MOST_ROWS]
            # Room for a power of two: few kinds of batches to keep, however many sizes are asked for.
            padded = np.zeros((1 << (len(rows) - 1).bit_length(), self.layout.size), np.float32)
            padded[: len(rows)] = rows
            place = (member, len(padded))
            if place not in self._actors:
                self._actors[place] = self.actor([member], len(padded))
            mean = self._actors[place].mean(padded[None])[0, : len(rows)]
            np.clip(mean, -1.0, 1.0, out=actions[begin : begin + len(rows)])
        return actions

    def _checked(self, observations: np.ndarray) -> np.ndarray:
        """Observations as policies take them, or an error that says which cannot be acted on."""
        with np.errstate(over="ignore"):  # what float32 cannot hold is named below
            seen = np.atleast_2d(checked_numbers("observations", observations, np.float32))
        if seen.ndim != 2 or seen.shape[1] != self.layout.size:
            raise UserError(
                f"Expected observations of shape (n, {self.layout.size}), got {seen.shape}.",
                "Give one row per environment, as the task returns them.",
            )
        if unfit := np.flatnonzero(~np.isfinite(seen).all(axis=1)).tolist():
            more = f" and {len(unfit) - 5} more" if len(unfit) > 5 else ""
            raise UserError(
                f"NaN or infinity in observations, rows {', '.join(map(str, unfit[:5]))}{more}: "
                "every number must be finite in 32 bits.",
                "Check the sensors or the simulation that they come from.",
            )
        return seen

    def actor(self, members: Sequence[int], num_envs: int) -> Actor:
        """Some members, ready to act in so many environments each; a row's action depends on no other row."""
        policies = stacked([self.members[member].policy for member in members])
        return self._learner.actor(policies, num_envs, ALONE)

    def plain(self, member: int) -> PlainPolicy:
        """One member's mean action as plain arithmetic, for other runtimes."""
        self.require_member(member)
        return self._learner.plain(self.members[member].policy)

    def require_member(self, member: int) -> None:
        """Say which members there are to who asks for another."""
        whole = isinstance(member, numbers.Integral) and not isinstance(member, bool)
        if not whole or not 0 <= member < len(self.members):
            raise UserError(
                f"There is no member {member!r}.", f"There are members 0 to {len(self.members) - 1}."
            )

    def member_arrays(self, index: int) -> list[np.ndarray]:
        """All numbers with which a member acts, in a fixed order."""
        return [np.asarray(array) for array in jax.tree.leaves(self.members[index].policy)]

    def weights(self, index: int) -> str:
        """A member's identity: the checksum of all numbers with which it acts."""
        digest = hashlib.sha256()
        for array in self.member_arrays(index):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    def make_task(self, num_envs: int = 1, **options: Any) -> Task:
        """The task this population was trained on.

        Code that only the run names is not run (docs/own-robot.md); a robot whose state or actions mean
        something else than in training is refused.
        """
        return self.trained_on.make(self.config, num_envs=num_envs, **options)


def _nominal_words(summary: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return, speed and falls when nothing is wrong, as far as they were measured."""
    returns = [summary[name] for name in ("nominal_return", "nominal_std") if name in summary]
    speed, falls = (summary.get(name, math.nan) for name in ("nominal_speed", "nominal_falls"))
    return (
        amount(*returns) if returns else "",
        "" if math.isnan(speed) else f"{speed:.2f}",
        "" if math.isnan(falls) else f"{100 * falls:.0f} %",
    )


PopulationLike = Population | str | os.PathLike[str]
"""A population, the path of the run folder that holds it, or its name in the zoo, such as zoo:walker."""


def as_population(given: PopulationLike) -> Population:
    """The population that is meant."""
    return given if isinstance(given, Population) else load(given)


def run_path(given: PopulationLike) -> str | os.PathLike[str]:
    """The run folder that is meant."""
    if isinstance(given, Population):
        return given.path
    if not isinstance(given, str | os.PathLike):
        raise UserError(
            f"A run is named by the path of its folder, got {given!r}.", "Give for example 'runs/walker'."
        )
    return own_copy(str(given)) if is_zoo(given) else given


def load(path: str | os.PathLike[str]) -> Population:
    """The population in a run folder or of the zoo, checked; needs nothing but the folder."""
    path = run_path(path)
    population = Population(RunFolder.open(path))
    if not population.members:
        raise UserError(f"{path} has no finished member yet.", f"Go on with: polygait resume {path}")
    return population


def member_tensors(
    policy: PolicyState, critic: Any, method: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """What a member's file holds: policy, normaliser, critic, and what its method leaves."""
    tensors = {f"brain{name}": array for name, array in flatten_tree(policy).items()}
    tensors |= {f"critic{name}": array for name, array in flatten_tree(critic).items()}
    return tensors | {f"method.{name}": array for name, array in method.items()}


def continued(learner: Learner, fresh: Any, tensors: Mapping[str, np.ndarray]) -> Any:
    """A learner's fresh state in which every member goes on from what one member's file holds."""

    def for_all(part: Any, prefix: str) -> Any:
        kept = unflatten_tree(member_of(part, 0), section(tensors, prefix))
        return jax.tree.map(lambda one, like: np.stack([one] * len(like)), kept, part)

    policies = for_all(learner.export(fresh), "brain")
    return learner.start_from(fresh, policies, for_all(learner.critic(fresh), "critic"))


def section(tensors: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The tensors whose names begin alike, under the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
