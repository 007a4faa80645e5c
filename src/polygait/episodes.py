"""Whole episodes with mean actions: the one primitive under adaptation, evaluation and checkpoint choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from polygait.learning.acting import ALONE, NumpyPolicy
from polygait.learning.networks import Policy
from polygait.learning.normalizer import Moments
from polygait.tasks.task import Task


class Job(NamedTuple):
    """One episode: who, in which world, from which start."""

    member: int
    variation: str | None
    seed: int


class Outcome(NamedTuple):
    """What every job came to, in the order of the jobs."""

    total_reward: np.ndarray
    length: np.ndarray
    fell: np.ndarray
    """Whether the episode terminated before its time limit."""
    diverged: np.ndarray


def run_episodes(
    policy: Policy, moments: Moments | None, make: Callable[[int], Task], jobs: Sequence[Job]
) -> Outcome:
    """Run all jobs in one batch of environments; `make(n)` gives a task with n of them.

    Rows are member-major and padded to the same number per member. An outcome depends on its job only:
    neither on the other jobs nor on where it stands.
    """
    num_members = int(np.asarray(policy.std_parameter).shape[0])
    by_member: list[list[int]] = [[] for _ in range(num_members)]
    for index, job in enumerate(jobs):
        by_member[job.member].append(index)
    width = max(len(indices) for indices in by_member)
    rows = np.full((num_members, width), -1)
    for member, indices in enumerate(by_member):
        rows[member, : len(indices)] = indices
    flat = rows.ravel()
    task = make(len(flat))
    task.set_variation([jobs[index].variation if index >= 0 else None for index in flat])
    observation = task.reset(seeds=[jobs[index].seed if index >= 0 else 0 for index in flat])

    actor = NumpyPolicy(policy, moments, width, tile=ALONE)
    alive = flat >= 0
    total_reward, length = np.zeros(len(flat)), np.zeros(len(flat), dtype=np.int64)
    fell, diverged = np.zeros(len(flat), dtype=bool), np.zeros(len(flat), dtype=bool)
    while alive.any():
        states = observation.reshape(num_members, width, -1).astype(np.float32)
        actions = np.clip(actor.mean(states), -1.0, 1.0).reshape(len(flat), -1)
        step = task.step(actions)
        observation = step.observation
        total_reward += np.where(alive, step.reward, 0.0)
        length += alive
        fell |= alive & step.terminated
        diverged |= alive & task.diverged
        alive &= ~(step.terminated | step.truncated)
    place = np.empty(len(jobs), dtype=np.int64)
    place[flat[flat >= 0]] = np.flatnonzero(flat >= 0)
    return Outcome(total_reward[place], length[place], fell[place], diverged[place])
