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
from polygait.progress import duration
from polygait.study.grid import Measures, StudyJob
from polygait.suites import suite_conditions
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateFilter
from polygait.tasks.task import Task

UPDATE_PACE = 42_000
"""Samples per second that one core learns from with PPO's ten epochs (docs/results.md)."""
MODEL_SHARE = 0.4
"""What an inverse-dynamics model adds to that, for DiR."""
_PROBE_ENVS, _PROBE_STEPS = 64, 30
_LOG_BYTES = 600
"""Of one member's line per rollout."""


class Cost(NamedTuple):
    """What is left to do."""

    jobs: int
    training_steps: int
    evaluation_steps: int
    """At most: as if nobody fell."""
    core_seconds: float
    disk_bytes: int

    def on(self, cores: int) -> str:
        """In words, for so many jobs at once."""
        hours = duration(self.core_seconds / max(1, min(cores, self.jobs)))
        return (
            f"{self.jobs:,} jobs to do: {self.training_steps:,} steps of training, at most "
            f"{self.evaluation_steps:,} of measuring; about {hours} with {cores} at once, "
            f"{_size(self.disk_bytes)} of disk."
        )


_NOTHING = Cost(0, 0, 0, 0.0, 0)


class _World(NamedTuple):
    """What was found out about one task."""

    seconds_per_step: float
    episode_steps: int
    conditions: int
    sizes: tuple[int, int]
    """Of state and action."""


def estimate(jobs: Sequence[StudyJob]) -> Cost:
    """Try every task for a moment; all that is impossible is told at once."""
    worlds: dict[str, _World] = {}
    problems: dict[str, None] = {}
    for about, job in {_about(job): job for job in jobs}.items():
        try:
            worlds[about] = _look(job)
        except UserError as error:
            problems[str(error).replace("\n", " ")] = None
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    costs = [_cost(job, worlds[_about(job)]) for job in jobs]
    return Cost(len(jobs), *(sum(column) for column in zip(*costs, strict=True))) if costs else _NOTHING


def _about(job: StudyJob) -> str:
    """What a job's world depends on."""
    return repr((job.run.task, job.run.task_options, job.run.remove, job.measures))


def evaluation_steps(job: StudyJob, conditions: int, episode_steps: int) -> int:
    """Steps of measuring if nobody falls."""
    measures = job.measures
    episodes = conditions * (job.run.members * measures.episodes + measures.held_out)
    return (
        episodes + job.run.members * measures.contact_episodes
    ) * episode_steps + measures.diversity_states


def count_conditions(measures: Measures, task: Task) -> int:
    """Of all suites; a suite that the task cannot have is an error."""
    known = getattr(task, "conditions", {})
    return sum(len(suite_conditions(suite, task.name, known)) for suite in measures.suites)


def free_bytes(folder: Path) -> int:
    """On the disk where a folder is or will be."""
    existing = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    return shutil.disk_usage(existing).free


def _look(job: StudyJob) -> _World:
    """Try a task for a moment, and whether its filter and its conditions exist."""
    task = make_task(job.run.task, num_envs=_PROBE_ENVS, num_threads=1, **job.run.task_options)
    if job.run.remove is not None:
        StateFilter.remove(task.layout, job.run.remove)
    conditions = count_conditions(job.measures, task)
    chance = np.random.default_rng(0)
    task.reset()
    begun = time.perf_counter()
    for _ in range(_PROBE_STEPS):
        step = task.step(chance.uniform(-1.0, 1.0, (task.num_envs, task.action_size)))
        if (ended := np.flatnonzero(step.terminated | step.truncated)).size:
            task.reset(ended)
    seconds = (time.perf_counter() - begun) / (_PROBE_STEPS * task.num_envs)
    sizes = (task.observation_size, task.action_size)
    return _World(seconds, task.max_episode_steps, conditions, sizes)


def _member_bytes(sizes: tuple[int, int], job: StudyJob) -> int:
    """Of a member's networks, each weight four bytes."""
    states, actions = sizes
    ppo = job.run.ppo
    layers = [(states, *ppo.policy_hidden, actions), (states, *ppo.critic_hidden, 1)]
    if job.run.method == "dir":
        layers.append((2 * states, *job.run.dir.hidden, 2 * actions))
    return 4 * sum(
        (inputs + 1) * outputs for widths in layers for inputs, outputs in itertools.pairwise(widths)
    )


def _cost(job: StudyJob, world: _World) -> tuple[int, int, float, int]:
    training = job.training_steps
    measuring = evaluation_steps(job, world.conditions, world.episode_steps)
    learning = job.run.ppo.epochs / 10 + (MODEL_SHARE if job.run.method == "dir" else 0.0)
    seconds = (
        training * (world.seconds_per_step + learning / UPDATE_PACE) + measuring * world.seconds_per_step
    )
    disk = job.run.members * (_member_bytes(world.sizes, job) + _LOG_BYTES * job.run.iterations)
    return training, measuring, seconds, disk


def _size(count: int) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count = round(count / 1000)
    return f"{count} {unit}"
