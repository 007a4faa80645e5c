"""A population: the members of a run, ready to act."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from polygait.errors import UserError
from polygait.learning.acting import ALONE, NumpyPolicy
from polygait.learning.networks import Policy
from polygait.learning.normalizer import Moments, initial_moments
from polygait.population.store import RunFolder
from polygait.population.trees import flatten_tree, unflatten_tree
from polygait.presets import RunConfig
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateFilter, StateLayout
from polygait.tasks.task import Task

_MOST_ROWS = 256
"""On which a member acts at once; longer batches are cut, for memory must not grow with their variety."""


class Brain(NamedTuple):
    """What acts: a policy and the statistics it normalises with. A cohort's has a leading member axis."""

    policy: Policy
    moments: Moments


@dataclass(frozen=True)
class Member:
    """One way to do the task."""

    index: int
    steps: int
    summary: dict[str, Any]
    brain: Brain


class Population:
    """The finished members of a run folder."""

    def __init__(self, run: RunFolder) -> None:
        manifest = run.manifest
        self.path = run.path
        self.config = RunConfig.from_json(manifest["config"])
        self.layout = StateLayout.from_json(manifest["layout"])
        self.filter = StateFilter.from_json(manifest["filter"])
        self.members = [_member(run, index, self) for index in sorted(run.members)]
        self._actors: dict[tuple[int, int], NumpyPolicy] = {}

    def __len__(self) -> int:
        return len(self.members)

    def act(self, observations: np.ndarray, member: int) -> np.ndarray:
        """One member's mean actions in [−1, 1], (n, action size) for raw observations (n, state)."""
        if not 0 <= member < len(self.members):
            raise UserError(
                f"There is no member {member}.", f"This population has members 0 to {len(self.members) - 1}."
            )
        seen = self._checked(observations)
        actions = np.empty((len(seen), self.action_size), np.float32)
        for begin in range(0, len(seen), _MOST_ROWS):
            rows = seen[begin : begin + _MOST_ROWS]
            # Room for a power of two: few kinds of batches to keep, however many sizes are asked for.
            padded = np.zeros((1 << (len(rows) - 1).bit_length(), self.layout.size), np.float32)
            padded[: len(rows)] = rows
            mean = self._actor(member, len(padded)).mean(padded[None])[0, : len(rows)]
            np.clip(mean, -1.0, 1.0, out=actions[begin : begin + len(rows)])
        return actions

    def _checked(self, observations: np.ndarray) -> np.ndarray:
        """Observations as policies take them, or an error that says which cannot be acted on."""
        with np.errstate(over="ignore"):  # what float32 cannot hold is named below
            seen = np.atleast_2d(np.asarray(observations, dtype=np.float32))
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

    def _actor(self, member: int, rows: int) -> NumpyPolicy:
        """One member ready to act on so many rows."""
        if (member, rows) not in self._actors:
            one = cohort_brain([self.members[member].brain])
            moments = one.moments if self.config.ppo.normalize_observations else None
            self._actors[member, rows] = NumpyPolicy(one.policy, moments, rows, tile=ALONE)
        return self._actors[member, rows]

    @property
    def action_size(self) -> int:
        """How many actions every member gives."""
        return int(np.shape(self.members[0].brain.policy.std_parameter)[0])

    def member_arrays(self, index: int) -> list[np.ndarray]:
        """All numbers with which a member acts, in a fixed order."""
        return [np.asarray(array) for array in jax.tree.leaves(self.members[index].brain)]

    def make_task(self, num_envs: int = 1, **options: Any) -> Task:
        """The task this population was trained on."""
        return make_task(self.config.task, num_envs=num_envs, **self.config.task_options, **options)

    @property
    def brains(self) -> Brain:
        """All members' policies in one tree with a leading member axis."""
        return cohort_brain([member.brain for member in self.members])


def cohort_brain(brains: list[Brain]) -> Brain:
    """Several members' brains as one with a leading member axis."""
    policy = jax.tree.map(lambda *arrays: jnp.stack(arrays), *[brain.policy for brain in brains])
    return Brain(policy, Moments(*map(np.stack, zip(*[brain.moments for brain in brains], strict=True))))


def load(path: str | os.PathLike[str]) -> Population:
    """The population in a run folder, checked; needs nothing but the folder."""
    population = Population(RunFolder.open(path))
    if not population.members:
        raise UserError(f"{path} has no finished member yet.", f"Go on with: polygait resume {path}")
    return population


def member_tensors(brain: Brain, critic: Any, method: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a member's file holds: policy, normaliser, critic, and what its method leaves."""
    tensors = {f"brain{name}": array for name, array in flatten_tree(brain).items()}
    tensors |= {f"critic{name}": array for name, array in flatten_tree(critic).items()}
    return tensors | {f"method.{name}": array for name, array in method.items()}


def method_tensors(run: RunFolder, index: int) -> dict[str, np.ndarray]:
    """What the method of an earlier member left."""
    return _section(run.load_member(index), "method.")


def _member(run: RunFolder, index: int, population: Population) -> Member:
    entry = run.members[index]
    tensors = _section(run.load_member(index), "brain")
    action_size = tensors[".policy.std_parameter"].shape[0]
    sizes = (population.layout.size, action_size)
    policy = jax.eval_shape(lambda: Policy(jax.random.key(0), sizes, population.config.ppo))
    like = Brain(policy, jax.tree.map(lambda array: array[0], initial_moments(1, sizes[0])))
    return Member(index, entry.steps, entry.summary, unflatten_tree(like, tensors))


def _section(tensors: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
