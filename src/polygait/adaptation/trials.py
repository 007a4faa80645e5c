"""Trials of members in one changed world."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from polygait.episodes import Job, Watch, episode_seeds, run_members
from polygait.population.population import Population
from polygait.tasks.randomness import EpisodePurpose
from polygait.tasks.task import Task


class Trials(ABC):
    """The trials made so far in one world."""

    def __init__(self, num_members: int) -> None:
        self._tried: list[list[float]] = [[] for _ in range(num_members)]
        self.falls = np.zeros(num_members, dtype=np.int64)
        self.diverged = np.zeros(num_members, dtype=np.int64)

    @abstractmethod
    def try_out(self, members: Sequence[int], count: int) -> None:
        """The next trials of some members."""

    @property
    def num_members(self) -> int:
        """How many can be chosen from."""
        return len(self._tried)

    @property
    def num_trials(self) -> int:
        """Of all members together."""
        return sum(map(len, self._tried))

    @property
    def returns(self) -> np.ndarray:
        """(member, episode) NaN where not tried."""
        most = max(map(len, self._tried))
        return np.array([[*tried, *[math.nan] * (most - len(tried))] for tried in self._tried])


class Episodes(Trials):
    """Trials in simulation; every member's first trial has the same start, its second too, and so on."""

    def __init__(
        self,
        population: Population,
        make: Callable[[int], Task],
        variation: str,
        seed: int,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(len(population))
        self._population = population
        self._make = make
        self._variation = variation
        self._seed = seed
        self._watch = watch

    def try_out(self, members: Sequence[int], count: int) -> None:
        jobs = []
        for member in members:
            begun = len(self._tried[member])
            seeds = episode_seeds(self._seed, EpisodePurpose.SELECTION, begun + count)[begun:]
            jobs += [Job(member, self._variation, seed) for seed in seeds]
        outcome = run_members(self._population, jobs, self._make, self._watch)
        for index, job in enumerate(jobs):
            self._tried[job.member].append(float(outcome.total_reward[index]))
            self.falls[job.member] += outcome.fell[index]
            self.diverged[job.member] += outcome.diverged[index]

    def held_out(self, member: int, count: int) -> np.ndarray:
        """Returns of fresh episodes, from starts that no trial had."""
        jobs = [
            Job(member, self._variation, seed)
            for seed in episode_seeds(self._seed, EpisodePurpose.HELD_OUT, count)
        ]
        return run_members(self._population, jobs, self._make, self._watch).total_reward
