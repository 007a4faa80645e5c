"""What a study will cost, told before it begins; and whether all of it is possible."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polygait.errors import UserError
from polygait.memory import size_text
from polygait.progress import duration
from polygait.specialists import damages
from polygait.study.grid import Measures, StudyJob
from polygait.study.jobs import CURVE_POINTS
from polygait.suites import Condition, listed_conditions, suite_conditions
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateFilter
from polygait.tasks.task import Task

UPDATE_PACE = 42_000
"""Samples per second that one core learns from with PPO's ten epochs (docs/results.md)."""
_PROBE_ENVS, _PROBE_STEPS = 64, 30
_LOG_BYTES = 600
"""Of one member's line per rollout."""
_SHORTER = 4
"""Rollouts of whole episodes for one in which nobody falls: 185 for 50 in a Hopper's 1M steps."""
_EPISODE_BYTES = 60
"""Of one episode of a member: its return and progress in the evaluation, and in the result of a mesh."""
_CELL_BYTES = 500
"""Of one member in one condition: in the evaluation, its CSV and the result."""
_POINT_BYTES = 40
"""Of one point of a learning curve."""
_FILES_BYTES = 12_000
"""What all the files of a job have besides: headers, names, the configuration."""


class Cost(NamedTuple):
    """What is left to do."""

    jobs: int
    training_steps: int
    evaluation_steps: int
    """At most: as if nobody fell."""
    core_seconds: float
    lasting_bytes: int
    """On disk when all is done."""
    checkpoint_bytes: int
    """Of the two checkpoints that a job has while it trains; the largest job's."""

    def disk_bytes(self, cores: int) -> int:
        """The most that so many jobs at once need."""
        return self.lasting_bytes + min(cores, self.jobs) * self.checkpoint_bytes

    def on(self, cores: int) -> str:
        """In words, for so many jobs at once."""
        hours = duration(self.core_seconds / max(1, min(cores, self.jobs)))
        return (
            f"{self.jobs:,} jobs to do: {self.training_steps:,} steps of training, at most "
            f"{self.evaluation_steps:,} of measuring; about {hours} with {cores} at once, "
            f"{size_text(self.disk_bytes(cores))} of disk."
        )


class _World(NamedTuple):
    """What was found out about one task."""

    seconds_per_step: float
    episode_steps: int
    conditions: int
    sizes: tuple[int, int]
    """Of state and action."""
    feet: int
    row_bytes: int
    """Of one environment's physics in a checkpoint."""


def estimate(jobs: Sequence[StudyJob]) -> Cost:
    """Try every task for a moment; all that is impossible is told at once."""
    worlds: dict[str, _World] = {}
    problems: dict[str, None] = {}
    for about, job in {_about(job): job for job in jobs}.items():
        try:
            worlds[about] = _look(job)
        except UserError as error:
            *others, last = error.problem.splitlines()
            problems |= dict.fromkeys([*others, f"{last} {error.remedy}".strip()])
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    costs = [_cost(job, worlds[_about(job)]) for job in jobs]
    return Cost(
        jobs=len(costs),
        training_steps=sum(cost.training_steps for cost in costs),
        evaluation_steps=sum(cost.evaluation_steps for cost in costs),
        core_seconds=sum(cost.core_seconds for cost in costs),
        lasting_bytes=sum(cost.lasting_bytes for cost in costs),
        checkpoint_bytes=max((cost.checkpoint_bytes for cost in costs), default=0),
    )


def _about(job: StudyJob) -> str:
    """What a job's world depends on."""
    run = job.run
    return repr((run.task, run.task_options, run.remove, run.against, job.measures))


def evaluation_steps(job: StudyJob, conditions: int, episode_steps: int) -> int:
    """Steps of measuring if nobody falls."""
    measures = job.measures
    episodes = conditions * (job.run.members * measures.episodes + measures.held_out)
    episodes += job.run.members * measures.contact_episodes
    return episodes * episode_steps + measures.diversity_states + job.run.members * measures.variance_steps


def _conditions(measures: Measures, task: Task) -> list[Condition]:
    """Of all suites, each tried on the task; all that it cannot have is told at once."""
    found: list[Condition] = []
    problems: list[str] = []
    for suite in measures.suites:
        text = measures.suite_texts.get(suite)
        listed = suite_conditions(suite, task) if text is None else listed_conditions(suite, text)
        for condition in listed:
            try:
                task.set_variation(condition.variation, [0])
            except UserError as error:
                problems.append(f"{suite}, {task.name}: {error}".replace("\n", " "))
        found += listed
    if problems:
        raise UserError("\n".join(problems))
    return found


def free_bytes(folder: Path) -> int:
    """On the disk where a folder is or will be."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free


def _look(job: StudyJob) -> _World:
    """Try a task for a moment, its filter, and all the conditions to be measured in."""
    task = make_task(job.run.task, num_envs=_PROBE_ENVS, num_threads=1, **job.run.task_options)
    if job.run.remove is not None:
        StateFilter.remove(task.layout, job.run.remove)
    if job.run.specialists:
        damages(job.run.against, task)
    chance = np.random.default_rng(0)
    task.reset()
    begun = time.perf_counter()
    for _ in range(_PROBE_STEPS):
        step = task.step(chance.uniform(-1.0, 1.0, (task.num_envs, task.action_size)))
        if (ended := np.flatnonzero(step.terminated | step.truncated)).size:
            task.reset(ended)
    seconds = (time.perf_counter() - begun) / (_PROBE_STEPS * task.num_envs)
    return _World(
        seconds_per_step=seconds,
        episode_steps=task.max_episode_steps,
        conditions=len(_conditions(job.measures, task)),
        sizes=(task.observation_size, task.action_size),
        feet=len(task.feet),
        row_bytes=sum(array.nbytes for array in task.snapshot().values()) // task.num_envs,
    )


def _member_bytes(sizes: tuple[int, int], job: StudyJob) -> int:
    """Of a member's networks, each weight four bytes."""
    run = job.run
    layers = run.learner.network_widths(sizes) + run.method_class.network_widths(run.method_config, sizes)
    return 4 * sum(
        (inputs + 1) * outputs for widths in layers for inputs, outputs in itertools.pairwise(widths)
    )


def _lasting_bytes(job: StudyJob, world: _World) -> int:
    """Members and their log, evaluations and the result."""
    measures = job.measures
    cell = _CELL_BYTES + _EPISODE_BYTES * measures.episodes
    steps_seen = world.feet * (world.episode_steps if measures.contact_episodes else 0)
    iterations = job.run.iterations * (_SHORTER if job.run.episodes_per_iteration else 1)
    member = (
        _member_bytes(world.sizes, job)
        + _LOG_BYTES * iterations
        + cell * world.conditions
        + _POINT_BYTES * min(CURVE_POINTS, iterations)
        + steps_seen
    )
    return job.run.members * member + _FILES_BYTES


def _checkpoint_bytes(job: StudyJob, world: _World) -> int:
    """Of two: weights, their optimiser's two moments and the best so far of all who train; the physics."""
    together = job.run.generalists if job.run.simultaneous else 1
    return 2 * (4 * together * _member_bytes(world.sizes, job) + job.run.envs * world.row_bytes)


def _cost(job: StudyJob, world: _World) -> Cost:
    training = job.training_steps
    measuring = evaluation_steps(job, world.conditions, world.episode_steps)
    learning = job.run.learner.update_cost + job.run.method_class.update_cost
    seconds = (
        training * (world.seconds_per_step + learning / UPDATE_PACE) + measuring * world.seconds_per_step
    )
    return Cost(1, training, measuring, seconds, _lasting_bytes(job, world), _checkpoint_bytes(job, world))
