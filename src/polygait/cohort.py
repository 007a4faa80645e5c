"""Members that train together, and what they train with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from polygait.diversity.method import Method
from polygait.learning.keys import member_keys
from polygait.learning.learner import Learner, Sizes
from polygait.population.checkpoints import Checkpoint
from polygait.population.population import SPECIALISTS
from polygait.population.store import RunFolder
from polygait.population.trained_on import TrainedOn
from polygait.resolving import resolve_specialist
from polygait.run_config import RunConfig
from polygait.tasks.batched import set_worlds
from polygait.tasks.state import StateFilter
from polygait.tasks.task import Task
from polygait.variations import Whose


class Cohort(NamedTuple):
    """What stays the same while members train together."""

    run: RunFolder
    config: RunConfig
    learner: Learner
    method: Method
    task: Task
    keys: Key[Array, " member"]
    first: int
    threads: int | None
    pace: tuple[np.ndarray, np.ndarray] | None = None
    """Steps and returns of the first member, which had no bonus, where others are held to it."""
    origin: Mapping[str, np.ndarray] | None = None
    """The arrays of the finished member from which these start, if any."""
    steps_before: int = 0
    """Of all members before these."""
    total_steps: int = 0
    """Of all members of the run."""

    @property
    def size(self) -> int:
        """How many members train together."""
        return len(self.keys)

    def pace_at(self, steps: int) -> float:
        """What the first member earned after so many steps; NaN where nobody is held to it."""
        return float("nan") if self.pace is None else float(np.interp(steps, *self.pace))


class Assignment(NamedTuple):
    """What a specialist is for, and from whom it goes on."""

    variation: str
    origin: int

    @classmethod
    def of(cls, run: RunFolder, member: int) -> Assignment | None:
        """Of a member that is, or will be, a specialist."""
        found = run.manifest.get(SPECIALISTS, {}).get(str(member))
        return None if found is None else cls(found["variation"], found["origin"])


def make_cohort(run: RunFolder, checkpoint: Checkpoint | None, threads: int | None) -> Cohort:
    """The members to train next: those of the checkpoint, or the first that are missing."""
    config = whole = RunConfig.from_json(run.manifest["config"])
    state_filter = StateFilter.from_json(run.manifest["filter"])
    if checkpoint is None:
        first = len(run.members)
        size = config.generalists - first if config.simultaneous and first < config.generalists else 1
    else:
        first, size = checkpoint.metadata["first"], checkpoint.metadata["size"]
    origin = run.load_origin()
    if assigned := Assignment.of(run, first):
        config, origin = resolve_specialist(config, assigned.variation), run.load_member(assigned.origin)
    method = config.method_class(config.method_config, state_filter)
    task = TrainedOn.of(run.manifest).make_to_train(
        config, num_envs=size * config.envs, variation=config.variation, num_threads=threads
    )
    learner = config.learner_class(
        config.learner, Sizes(task.observation_size, task.action_size), config.envs
    )
    if config.worlds:
        owners = [Whose(member, config.generalists) for member in range(first, first + size)]
        set_worlds(task, config.worlds, [whose for whose in owners for _ in range(config.envs)])
    keys = member_keys(jax.random.key(config.seed), first, size)
    return Cohort(
        run,
        config,
        learner,
        method,
        task,
        keys,
        first,
        threads,
        pace=_pace(run, config, first),
        origin=origin,
        steps_before=whole.steps_of_first(first),
        total_steps=whole.total_steps,
    )


def _pace(run: RunFolder, config: RunConfig, first: int) -> tuple[np.ndarray, np.ndarray] | None:
    if not (config.guard and first):
        return None
    lines = [line for line in run.metrics() if line["members"] == [0, 1]]
    curve = np.array([(line["steps"], line["return"][0]) for line in lines]).reshape(-1, 2)
    known = curve[np.isfinite(curve[:, 1])]
    return (known[:, 0], known[:, 1]) if len(known) else None
