"""Whole episodes of members: the one primitive under adaptation, evaluation and checkpoint choice."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from polygait.config import check_seed
from polygait.errors import UserError
from polygait.learning.rollout import Actor
from polygait.population.population import Population
from polygait.progress import Count
from polygait.tasks.randomness import TRAINED_MEMBERS, CounterRandom, Draws
from polygait.tasks.registry import make_task
from polygait.tasks.task import Step, Task

MAX_ROWS = 512
"""Environments simulated at once; a row that ends an episode takes the next one that waits."""
IDLE = -1


class Job(NamedTuple):
    """One episode: who, in which world, from which start."""

    member: int
    variation: str | None
    seed: int
    explore: bool = False
    """Act with the noise of training, drawn from the seed, instead of mean actions."""


class Outcome(NamedTuple):
    """What every job came to, in the order of the jobs."""

    total_reward: np.ndarray
    length: np.ndarray
    fell: np.ndarray
    """Whether the episode terminated before its time limit."""
    diverged: np.ndarray
    progress: np.ndarray
    """How far the robot came, in metres; NaN where the simulator does not tell."""
    speed: np.ndarray
    """The metres per second of the episode's whole time limit: who falls comes no further, so that a dive
    does not pass for a run. NaN where the simulator does not tell."""


class Frame(NamedTuple):
    """One step of all rows, for those who want more than the outcome."""

    task: Task
    job: np.ndarray
    """(row,) The place of each row's job in the list; IDLE where there is none."""
    time: np.ndarray
    """(row,) Steps of the episode before this one."""
    observation: np.ndarray
    """Before the action."""
    action: np.ndarray
    """Before it is clipped to [−1, 1]."""
    step: Step
    ended: np.ndarray


Watch = Callable[[Frame], None]
ActorFactory = Callable[[Sequence[int], int], Actor]


def run_episodes(
    actor: ActorFactory,
    make: Callable[[int], Task],
    jobs: Sequence[Job],
    watch: Watch | None = None,
) -> Outcome:
    """Run all jobs over one batch of environments.

    `make(n)` gives a task with n environments, `actor(members, n)` whoever acts for these members in n each.

    An outcome depends on its job only: neither on the other jobs nor on where or when it is run.
    """
    outcome = Outcome(
        np.zeros(len(jobs)),
        np.zeros(len(jobs), np.int64),
        np.zeros(len(jobs), bool),
        np.zeros(len(jobs), bool),
        np.full(len(jobs), np.nan),
        np.full(len(jobs), np.nan),
    )
    if jobs:
        _Runner(actor, make, jobs, outcome).run(watch)
    return outcome


def episode_seconds(task: Task) -> float:
    """The time limit of a task's episodes in seconds; NaN where the simulator does not tell."""
    return math.nan if task.time_step is None else task.time_step * task.max_episode_steps


def run_members(
    population: Population,
    jobs: Sequence[Job],
    make: Callable[[int], Task] | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Episodes of a population's members, in its own world or in one that `make` gives."""
    return run_episodes(population.actor, make or population.make_task, jobs, watch)


def counting(report: Count, total: int) -> Watch:
    """A watcher that tells how many of the episodes are finished."""
    if not callable(report):
        raise UserError(
            f"report must be a function of (done, total), got {report!r}.",
            'Leave it out; options are given by name, such as suite="paper".',
        )
    done = 0
    report(done, total)

    def watch(frame: Frame) -> None:
        nonlocal done
        if ended := int(frame.ended.sum()):
            done += ended
            report(done, total)

    return watch


def task_factory(population: Population, on: str | None, threads: int | None) -> Callable[[int], Task]:
    """Where to run a population: its own task, or another one that shows and takes the same numbers.

    Episodes there last as long as at home, so that returns can be compared.
    """
    if on is None:
        return lambda count: population.make_task(count, num_threads=threads)
    home, other = population.make_task(1), make_task(on)
    if other.layout.names != population.layout.names:
        unlike = [*set(population.layout.names).symmetric_difference(other.layout.names)]
        raise UserError(
            f"{on} shows other state parts than {population.config.task}: {', '.join(sorted(unlike)[:6])}.",
            "A population can act only where the state has the same parts in the same order.",
        )
    if other.action_size != population.action_size:
        raise UserError(
            f"{on} takes {other.action_size} actions, {population.config.task} {population.action_size}.",
            "A population can act only where actions mean the same.",
        )
    own, theirs = list(home.anatomy.actions), list(other.anatomy.actions)
    if own != theirs and home.anatomy.joints and other.anatomy.joints:  # otherwise they are only numbered
        raise UserError(
            f"The actions of {on} are {', '.join(theirs)}, those of {population.config.task} "
            f"{', '.join(own)}.",
            "A population can act only where actions mean the same.",
        )
    limit = home.max_episode_steps
    options: dict[str, Any] = {} if other.max_episode_steps == limit else {"max_episode_steps": limit}
    return lambda count: make_task(on, count, num_threads=threads, **options)


def episode_seeds(seed: int, purpose: int, count: int) -> list[int]:
    """Seeds of episodes for one EpisodePurpose; a longer list begins with the shorter one.

    No training begins an episode from them: its seeds come from two numbers, these from three.
    """
    check_seed(seed)
    return np.random.SeedSequence([seed, purpose, TRAINED_MEMBERS]).generate_state(count, np.uint64).tolist()


class _Runner:
    """Rows in blocks of equal size, one block per member, each with the jobs that still wait for it."""

    def __init__(
        self,
        actor: ActorFactory,
        make: Callable[[int], Task],
        jobs: Sequence[Job],
        outcome: Outcome,
    ) -> None:
        members = sorted({job.member for job in jobs})
        # Episodes of one world follow each other, so that models are rewritten seldom.
        order = sorted(range(len(jobs)), key=lambda index: jobs[index].variation or "")
        self._jobs = jobs
        self._outcome = outcome
        self._waiting = [deque(i for i in order if jobs[i].member == member) for member in members]
        self._width = min(max(map(len, self._waiting)), max(1, MAX_ROWS // len(members)))
        self._actor = actor(members, self._width)
        num_rows = len(members) * self._width
        self._task = make(num_rows)
        self._job = np.full(num_rows, IDLE)
        self._variation: list[str | None] = [None] * num_rows
        self._time = np.zeros(num_rows, dtype=np.int64)
        self._start = np.zeros(num_rows)
        self._explores = any(job.explore for job in jobs)
        limit = self._task.max_episode_steps if self._explores else 0
        self._noise = np.zeros((num_rows, limit, self._task.action_size), np.float32)

    def run(self, watch: Watch | None) -> None:
        observation = self._begin(np.arange(len(self._job)))
        while (busy := self._job != IDLE).any():
            actions = self._actions(observation)
            step = self._task.step(np.clip(actions, -1.0, 1.0))
            ended = busy & (step.terminated | step.truncated)
            self._count(step, busy)
            if watch is not None:
                watch(Frame(self._task, self._job, self._time, observation, actions, step, ended))
            self._time += 1
            observation = self._begin(np.flatnonzero(ended)) if ended.any() else step.observation
        self._outcome.speed[:] = self._outcome.progress / episode_seconds(self._task)

    def _actions(self, observation: np.ndarray) -> np.ndarray:
        states = observation.reshape(len(self._waiting), self._width, -1).astype(np.float32)
        if not self._explores:
            return self._actor.mean(states).reshape(len(self._job), -1)
        moment = np.minimum(self._time, self._noise.shape[1] - 1)
        noise = self._noise[np.arange(len(self._job)), moment].reshape(*states.shape[:2], -1)
        actions = np.empty_like(noise)
        self._actor.act(states, noise, out=actions)
        return actions.reshape(len(self._job), -1)

    def _count(self, step: Step, busy: np.ndarray) -> None:
        rows = np.flatnonzero(busy)
        jobs = self._job[rows]
        self._outcome.total_reward[jobs] += step.reward[rows]
        self._outcome.length[jobs] += 1
        self._outcome.fell[jobs] |= step.terminated[rows]
        self._outcome.diverged[jobs] |= self._task.diverged[rows]
        whole = ~self._task.diverged[rows]  # physics that broke down is nowhere
        self._outcome.progress[jobs[whole]] = (self._task.progress - self._start)[rows[whole]]

    def _begin(self, rows: np.ndarray) -> np.ndarray:
        """Give rows their next jobs; those for whom none waits rest. The observations of all rows."""
        for row in rows.tolist():
            waiting = self._waiting[row // self._width]
            self._job[row] = waiting.popleft() if waiting else IDLE
        busy = rows[self._job[rows] != IDLE]
        jobs = [self._jobs[index] for index in self._job[busy].tolist()]
        changed = [
            (row, job.variation)
            for row, job in zip(busy.tolist(), jobs, strict=True)
            if job.variation != self._variation[row]
        ]
        if changed:
            self._task.set_variation([variation for _, variation in changed], [row for row, _ in changed])
        for row, variation in changed:
            self._variation[row] = variation
        self._time[rows] = 0
        observation = self._task.reset(busy, [job.seed for job in jobs])
        self._start[busy] = self._task.progress[busy]
        self._outcome.progress[self._job[busy]] = 0.0 * self._start[busy]  # NaN where nothing is told
        for row, job in zip(busy.tolist(), jobs, strict=True):
            if job.explore:
                key = np.array([job.seed % 2**64, job.member], np.uint64)
                chance = CounterRandom().at(key, 0, Draws.EXPLORATION, 0)
                self._noise[row] = chance.standard_normal(self._noise.shape[1:], dtype=np.float32)
            elif self._explores:
                self._noise[row] = 0.0
        self._task.rest(rows[self._job[rows] == IDLE])
        return observation
