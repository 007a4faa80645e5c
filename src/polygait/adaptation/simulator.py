"""A simulator in the robot's place: it makes the trials that a selector asks for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from polygait.episodes import Job, Outcome, Watch, episode_seeds, run_members
from polygait.population.population import Population
from polygait.tasks.randomness import EpisodePurpose
from polygait.tasks.task import Task


class Trial(NamedTuple):
    """What one trial came to, as AskTell.tell takes it."""

    member: int
    value: float
    fell: bool
    diverged: bool


class Simulator:
    """Trials in simulation; every member's first trial has the same start, its second too, and so on."""

    def __init__(
        self,
        population: Population,
        make: Callable[[int], Task],
        variation: str,
        seed: int,
        watch: Watch | None = None,
    ) -> None:
        self._population = population
        self._make = make
        self._variation = variation
        self._seed = seed
        self._watch = watch
        self._begun: Counter[int] = Counter()
        self.by = "return"
        """What a trial's value is: its return, or its progress in metres."""
        self._made: list[list[tuple[float, float]]] = [[] for _ in range(len(population))]

    def trials(self, members: Sequence[int]) -> Iterator[Trial]:
        """The next trials of some members, of each as many as it is named."""
        jobs = []
        for member, count in Counter(members).items():
            begun = self._begun[member]
            seeds = episode_seeds(self._seed, EpisodePurpose.SELECTION, begun + count)[begun:]
            jobs += [Job(member, self._variation, seed) for seed in seeds]
        self._begun.update(members)
        outcome = run_members(self._population, jobs, self._make, self._watch)
        for index, job in enumerate(jobs):
            ended = bool(outcome.fell[index]), bool(outcome.diverged[index])
            made = float(outcome.total_reward[index]), float(outcome.progress[index])
            self._made[job.member].append(made)
            yield Trial(job.member, made[self.by == "progress"], *ended)

    @property
    def returns(self) -> np.ndarray:
        """(member, episode) NaN where not tried."""
        return self._padded(0)

    @property
    def progress(self) -> np.ndarray:
        """(member, episode) Metres; NaN where not tried, or where nobody tells."""
        return self._padded(1)

    def _padded(self, place: int) -> np.ndarray:
        most = max(map(len, self._made))
        return np.array(
            [[*(one[place] for one in made), *[math.nan] * (most - len(made))] for made in self._made]
        )

    def held_out(self, member: int, count: int) -> Outcome:
        """Fresh episodes, from starts that no trial had."""
        jobs = [
            Job(member, self._variation, seed)
            for seed in episode_seeds(self._seed, EpisodePurpose.HELD_OUT, count)
        ]
        return run_members(self._population, jobs, self._make, self._watch)
