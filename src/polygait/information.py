"""Whether diversity went where the filter allows it: information and variance over members' experience."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from polygait.config import BehaviourConfig
from polygait.diversity.information import (
    PARTS,
    Information,
    Transitions,
    estimate_information,
    split_by_episode,
)
from polygait.diversity.variance import between_shares
from polygait.episodes import IDLE, Frame, Job, Watch, episode_seeds, run_members, task_factory
from polygait.errors import UserError
from polygait.population.population import Population, PopulationLike, as_population
from polygait.progress import Count, silent
from polygait.tasks.state import StateFilter
from polygait.tasks.task import check_count

TRANSITIONS = BehaviourConfig.transitions
"""Of every member, at least."""
LEAST_EPISODES = 4 * len(PARTS)
"""Of every member: an estimate can be no surer than its held-out episodes are many."""
_EXPERIENCE = 2  # what episode seeds are for


def conditional_information(
    population: PopulationLike,
    filters: Mapping[str, StateFilter] | None = None,
    transitions: int = TRANSITIONS,
    seed: int = 0,
    report: Count = silent,
) -> dict[str, Information]:
    """I(a; z | f(s), f(s′)) in nats under each filter, of members z that act with their exploration noise.

    Without filters: the whole state, the run's own filter, and nothing. At most ln(members).
    """
    population = as_population(population)
    _check_filters(filters)
    experience = gather_experience(population, transitions, seed)
    return information_in(experience, filters or standard_filters(population), seed, report)


def variance_shares(
    population: PopulationLike, transitions: int = TRANSITIONS, seed: int = 0, report: Count = silent
) -> dict[str, float]:
    """The share of variance between members for every part of the state, from coarse parts to numbers.

    A part's share is the mean over its numbers, each taken in its own standard deviations; numbers that
    never vary are left out, and a part that has no other is NaN.
    """
    population = as_population(population)
    return shares_in(gather_experience(population, transitions, seed, report=report), population)


def _check_filters(filters: Mapping[str, StateFilter] | None) -> None:
    if filters is not None and not (
        isinstance(filters, Mapping) and all(isinstance(one, StateFilter) for one in filters.values())
    ):
        raise UserError(
            f"filters must be a mapping from names to StateFilters, got {filters!r}.",
            'Write {"own": population.filter}, or leave filters out for the usual three.',
        )


def standard_filters(population: Population) -> dict[str, StateFilter]:
    """The two extremes and, between them, the filter the run was trained with."""
    layout = population.layout
    return {
        "identity": StateFilter.identity(layout),
        "own": population.filter,
        "nothing": StateFilter.nothing(layout),
    }


def information_in(
    experience: Transitions, filters: Mapping[str, StateFilter], seed: int = 0, report: Count = silent
) -> dict[str, Information]:
    """The information in experience that was gathered before."""
    return estimate_information(split_by_episode(experience, seed), filters, seed=seed, report=report)


def shares_in(experience: Transitions, population: Population) -> dict[str, float]:
    """The shares of variance in experience that was gathered before."""
    shares = between_shares(experience.state, experience.member)
    return {part: _mean_of_known(shares[list(places)]) for part, places in population.layout.parts.items()}


def _mean_of_known(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def gather_experience(
    population: Population,
    transitions: int = TRANSITIONS,
    seed: int = 0,
    threads: int | None = None,
    report: Count = silent,
) -> Transitions:
    """Whole episodes of every member with exploration noise, until each has made enough transitions.

    Actions are as the robot receives them, in [−1, 1].
    """
    check_count("transitions", transitions)
    if len(population) < 2:
        raise UserError(
            "This population has one member, so there is nobody to differ from.",
            f"Discover more with: polygait extend {population.path} --members 5",
        )
    make = task_factory(population, None, threads)
    record = _Record(len(population), transitions, report)
    further = np.full(
        len(population), max(LEAST_EPISODES, math.ceil(transitions / make(1).max_episode_steps))
    )
    while further.any():
        begun = record.episodes.tolist()
        places = [
            (member, begun[member] + number)
            for member, count in enumerate(further.tolist())
            for number in range(count)
        ]
        seeds = episode_seeds(seed, _EXPERIENCE, 1 + max(episode for _, episode in places))
        jobs = [Job(member, None, seeds[episode], explore=True) for member, episode in places]
        run_members(population, jobs, make, record.watch(places))
        further = record.missing_episodes()
    return record.transitions()


class _Record:
    """Transitions as they come, and how many of each member there are."""

    def __init__(self, num_members: int, wanted: int, report: Count) -> None:
        self.episodes = np.zeros(num_members, dtype=np.int64)
        self._made = np.zeros(num_members, dtype=np.int64)
        self._wanted = wanted
        self._report = report
        self._frames: list[Transitions] = []

    def watch(self, places: Sequence[tuple[int, int]]) -> Watch:
        """A watcher of jobs, given each job's member and episode."""
        members, episodes = np.array(places).T
        self.episodes += np.bincount(members, minlength=len(self.episodes))

        def watch(frame: Frame) -> None:
            rows = np.flatnonzero((frame.job != IDLE) & ~frame.task.diverged)
            job = frame.job[rows]
            self._frames.append(
                Transitions(
                    state=frame.observation[rows].astype(np.float32),
                    next_state=frame.step.observation[rows].astype(np.float32),
                    action=np.clip(frame.action[rows], -1.0, 1.0),
                    member=members[job],
                    episode=episodes[job],
                )
            )
            self._made += np.bincount(members[job], minlength=len(self._made))
            if frame.ended.any():
                done = np.minimum(self._made, self._wanted).sum()
                self._report(int(done), self._wanted * len(self._made))

        return watch

    def missing_episodes(self) -> np.ndarray:
        """How many more every member needs, if they last as long as its earlier ones did."""
        if not self._made.all():
            member = int(np.argmin(self._made))
            raise UserError(f"The physics of member {member} breaks down at the first step of every episode.")
        missing = np.maximum(self._wanted - self._made, 0)
        return np.ceil(missing * self.episodes / self._made).astype(np.int64)

    def transitions(self) -> Transitions:
        return Transitions(*map(np.concatenate, zip(*self._frames, strict=True)))
