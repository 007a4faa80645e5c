"""Few-shot selection: which member still works in a changed world (paper, Algorithm 2), and cheaper.

A member is chosen by its returns in some trials, so that very average flatters it: the more members and
the fewer trials, the more. What it is worth is told by fresh episodes, the held-out return.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from polygait.config import AdaptConfig, from_wishes
from polygait.episodes import Job, Watch, counting, episode_seeds, run_members, world_of
from polygait.errors import UserError
from polygait.population.population import Population, PopulationLike, as_population
from polygait.population.results import make_results_folder, save_result
from polygait.progress import Count, silent
from polygait.tasks.task import Task
from polygait.variations import Edit, Variation, variation_text

EPISODES = 20
"""Per member in the paper's protocol."""
TRIALS_PER_MEMBER = 4
MOST_PRIOR = 0.5
"""What a member's nominal return counts for in a race at most, in trials."""
_TRIALS, _HELD_OUT = 0, 1  # what episode seeds are for


class Interval(NamedTuple):
    """A 95 % confidence interval of a mean (Student's t); infinite for a single episode."""

    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray) -> Interval:
        """The interval of the mean of independent values."""
        count = len(values)
        if count < 2:
            return cls(-math.inf, math.inf)
        reach = float(stats.t.ppf(0.975, count - 1)) * float(np.std(values, ddof=1)) / math.sqrt(count)
        mean = float(np.mean(values))
        return cls(mean - reach, mean + reach)


@dataclass(frozen=True)
class Adaptation:
    """Which member was chosen, from what, and what it is worth."""

    task: str
    variation: str
    config: AdaptConfig
    best: int
    returns: np.ndarray
    """(member, episode) NaN where not tried."""
    falls: np.ndarray
    """Episodes in which each member fell."""
    diverged: np.ndarray
    """Episodes of each member that ended because the physics broke down."""
    stopped: tuple[int, ...]
    """Members that fell too often to be tried to the end."""
    held_out_returns: np.ndarray

    @property
    def episodes_used(self) -> int:
        """Trials of all members, without the held-out episodes."""
        return int(np.isfinite(self.returns).sum())

    def trials_of(self, member: int) -> np.ndarray:
        """The returns of one member's trials."""
        tried = self.returns[member]
        return tried[np.isfinite(tried)]

    @property
    def selection_return(self) -> float:
        """The average by which the member was chosen; flattered by the choice."""
        return float(self.trials_of(self.best).mean())

    @property
    def selection_interval(self) -> Interval:
        """Of the selection return, as if the member had been chosen by other episodes."""
        return Interval.of(self.trials_of(self.best))

    @property
    def held_out_return(self) -> float:
        """The average of the chosen member on fresh episodes; NaN when none were asked for."""
        return float(np.mean(self.held_out_returns)) if len(self.held_out_returns) else math.nan

    @property
    def held_out_interval(self) -> Interval:
        """Of the held-out return."""
        return Interval.of(self.held_out_returns)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data; a trial that was not made is null."""
        return {
            "task": self.task,
            "variation": self.variation,
            "config": vars(self.config),
            "best": self.best,
            "episodes_used": self.episodes_used,
            "selection_return": self.selection_return,
            "selection_interval": list(self.selection_interval),
            "held_out_return": self.held_out_return,
            "held_out_interval": list(self.held_out_interval),
            "held_out_returns": self.held_out_returns.tolist(),
            "returns": [[None if math.isnan(one) else one for one in row] for row in self.returns.tolist()],
            "falls": self.falls.tolist(),
            "diverged": self.diverged.tolist(),
            "stopped": list(self.stopped),
        }


def adapt(
    population: PopulationLike,
    variation: str | Variation | Edit | None = None,
    report: Count = silent,
    **wishes: Any,
) -> Adaptation:
    """Choose the member that works best in a changed world; the options are those of AdaptConfig."""
    population = as_population(population)
    config = from_wishes(AdaptConfig, wishes)
    if problems := config.problems(len(population)):
        raise UserError("\n".join(problems), "Nothing was started.")
    make = world_of(population, config.on, config.threads)
    text = variation_text(variation)
    make(1).set_variation(text)  # an unknown name is told before any episode is run
    make_results_folder(population.path / "adaptations")
    exhaustive = config.selector == "exhaustive"
    each = config.episodes or EPISODES
    budget = each * len(population) if exhaustive else config.trials or TRIALS_PER_MEMBER * len(population)
    episodes = Episodes(population, make, text, config.seed, counting(report, budget + config.held_out))
    if exhaustive:
        choice = exhaust(episodes, each)
    else:
        nominal = np.array([member.summary["nominal_return"] for member in population.members])
        choice = race(episodes, nominal, budget, config.max_falls)
    result = Adaptation(
        task=config.on or population.config.task,
        variation=text,
        config=config,
        best=choice.best,
        returns=episodes.returns,
        falls=episodes.falls,
        diverged=episodes.diverged,
        stopped=choice.stopped,
        held_out_returns=episodes.held_out(choice.best, config.held_out),
    )
    where = f"{config.on}." if config.on else ""
    save_result(population.path / "adaptations", f"{where}{text}.{config.selector}", result.to_json())
    return result


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
            seeds = episode_seeds(self._seed, _TRIALS, begun + count)[begun:]
            jobs += [Job(member, self._variation, seed) for seed in seeds]
        outcome = run_members(self._population, jobs, self._make, self._watch)
        for index, job in enumerate(jobs):
            self._tried[job.member].append(float(outcome.total_reward[index]))
            self.falls[job.member] += outcome.fell[index]
            self.diverged[job.member] += outcome.diverged[index]

    def held_out(self, member: int, count: int) -> np.ndarray:
        """Returns of fresh episodes, from starts that no trial had."""
        jobs = [Job(member, self._variation, seed) for seed in episode_seeds(self._seed, _HELD_OUT, count)]
        return run_members(self._population, jobs, self._make, self._watch).total_reward


class Choice(NamedTuple):
    """The chosen member, and those that were given up for falling."""

    best: int
    stopped: tuple[int, ...] = ()


def exhaust(trials: Trials, episodes: int) -> Choice:
    """Algorithm 2: every member for N episodes, the highest average wins; of equals the first."""
    trials.try_out(range(len(trials.falls)), episodes)
    return Choice(int(np.argmax(trials.returns.mean(axis=1))))


def race(trials: Trials, nominal: np.ndarray, budget: int, max_falls: int | None = None) -> Choice:
    """Successive halving: rounds of equal cost, and after each the better half goes on.

    One trial of every racer at a time, so that nobody falls more often than allowed.
    """
    racers = list(range(len(nominal)))
    stopped: list[int] = []
    used = 0
    rounds = max(1, math.ceil(math.log2(len(racers))))
    first = 2 if budget >= 4 * len(racers) else 1  # a second trial shows how much chance there is
    for number in range(rounds):
        waves = (budget - used) // (len(racers) * (rounds - number)) if number else first
        for _ in range(max(1, waves)):
            if not racers or used + len(racers) > budget:
                break
            trials.try_out(racers, 1)
            used += len(racers)
            fallen = [one for one in racers if max_falls is not None and trials.falls[one] >= max_falls]
            stopped += fallen
            racers = [one for one in racers if one not in fallen]
        if len(racers) <= 1:
            break
        order = np.argsort(-expected_returns(trials.returns, nominal)[racers], kind="stable")
        racers = [racers[place] for place in order[: math.ceil(len(racers) / 2)]]
    expected = expected_returns(trials.returns, nominal)
    upright = [one for one in range(len(nominal)) if one not in stopped]
    finalists = racers or upright or range(len(nominal))
    return Choice(max(finalists, key=lambda one: expected[one]), tuple(sorted(stopped)))


def expected_returns(returns: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """What each member's trials and its nominal return lead one to expect here.

    The prior: the change costs every member the same share of its nominal return. It counts σ²/τ² trials:
    σ is how much a member's trials scatter, τ how wrong the prior proves to be.
    """
    tried = np.isfinite(returns)
    count, total = tried.sum(axis=1), np.where(tried, returns, 0.0).sum(axis=1)
    mean = total / count
    share = mean.mean() / nominal.mean() if nominal.mean() else 0.0
    error = np.square(mean - share * nominal).mean()
    repeats = (count - 1).sum()
    if share <= 0 or error == 0 or repeats == 0:
        return mean
    scatter = np.where(tried, np.square(returns - mean[:, None]), 0.0).sum() / repeats
    weight = min(MOST_PRIOR, scatter / error)
    return (total + weight * share * nominal) / (count + weight)
