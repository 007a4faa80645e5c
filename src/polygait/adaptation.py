"""Few-shot selection: which member still works in a changed world (paper, Algorithm 2), and cheaper.

A member is chosen by its returns in some trials, so that very average flatters it: the more members and
the fewer trials, the more. What it is worth is told by fresh episodes, the held-out return.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from polygait.config import AdaptConfig, from_wishes
from polygait.episodes import Job, Watch, counting, episode_seeds, run_members, world_of
from polygait.errors import UserError
from polygait.population.files import read_bounded
from polygait.population.population import Population
from polygait.population.results import file_name, make_results_folder, save_result
from polygait.population.strict_json import canonical, from_plain, parse, to_plain
from polygait.progress import Count, silent
from polygait.tasks.task import Task
from polygait.variations import Edit, Variation, parse_variation

EPISODES = 20
"""Per member in the paper's protocol."""
TRIALS_PER_MEMBER = 4
MOST_PRIOR = 0.5
"""What a member's nominal return counts for in a race at most, in trials."""
_LARGEST_FILE = 2**28
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
    """As asked, with the number of episodes or trials that was left out."""
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
    world: str = ""
    """What the variation came down to; not known of adaptations that 0.1 kept."""
    weights: tuple[str, ...] = ()
    """The identity of every member that took part; not known of adaptations that 0.1 kept."""

    @property
    def name(self) -> str:
        """What the answer is kept under: readable, and another for every other question."""
        asked = {**vars(replace(self.config, threads=None)), "task": self.task, "variation": self.variation}
        question = canonical(to_plain({**asked, "world": self.world, "weights": self.weights}))
        where = f"{self.config.on}." if self.config.on else ""
        readable = file_name(f"{where}{self.variation}.{self.config.selector}")
        return f"{readable}-{hashlib.sha256(question).hexdigest()[:8]}"

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
            "world": self.world,
            "weights": list(self.weights),
        }

    @classmethod
    def from_json(cls, data: Any) -> Adaptation:
        """The adaptation that to_json() described; ValueError for anything else."""
        try:
            known = {field.name for field in fields(AdaptConfig)}
            config = AdaptConfig(**{name: one for name, one in data["config"].items() if name in known})
            returns = [[math.nan if one is None else float(one) for one in row] for row in data["returns"]]
            found = cls(
                task=str(data.get("task", "")),
                variation=str(data["variation"]),
                config=_complete(config, len(returns)),
                best=int(data["best"]),
                returns=np.array(returns),
                falls=np.array(data["falls"], np.int64),
                diverged=np.array(data["diverged"], np.int64),
                stopped=tuple(map(int, data.get("stopped", ()))),
                held_out_returns=np.array(data.get("held_out_returns", ()), np.float64),
                world=str(data.get("world", "")),
                weights=tuple(map(str, data.get("weights", ()))),
            )
            fitting = not config.problems(len(returns)) and isinstance(config.on, str | None)
            shapes = {found.falls.shape, found.diverged.shape, (len(found.weights) or len(returns),)}
            if not fitting or shapes != {(len(returns),)} or not len(found.trials_of(found.best)):
                raise ValueError("its numbers do not fit together")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError("it is not an adaptation's answer") from error
        return found


def read_adaptation(path: Path) -> Adaptation:
    """An adaptation that was kept; ValueError or UserError for a file that holds none."""
    return Adaptation.from_json(from_plain(parse(read_bounded(path, _LARGEST_FILE))))


def _complete(config: AdaptConfig, num_members: int) -> AdaptConfig:
    """The number of episodes or trials filled in where it was left out."""
    if config.selector == "exhaustive":
        return replace(config, episodes=config.episodes or EPISODES)
    return replace(config, trials=config.trials or TRIALS_PER_MEMBER * num_members)


def adapt(
    population: Population,
    variation: str | Variation | Edit | None = None,
    report: Count = silent,
    **wishes: Any,
) -> Adaptation:
    """Choose the member that works best in a changed world; the options are those of AdaptConfig.

    Every answer is kept in the run's folder; only who asks the very same again replaces it.
    """
    config = from_wishes(AdaptConfig, wishes)
    if problems := config.problems(len(population)):
        raise UserError("\n".join(problems))
    config = _complete(config, len(population))
    make = world_of(population, config.on, config.threads)
    text = "nominal" if variation is None else str(variation)
    task = make(1)
    task.set_variation(text)  # an unknown name is told before any episode is run
    make_results_folder(population.path / "adaptations")
    budget = config.trials or (config.episodes or EPISODES) * len(population)
    episodes = Episodes(population, make, text, config.seed, counting(report, budget + config.held_out))
    if config.trials is None:
        choice = exhaust(episodes, budget // len(population))
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
        world=str(parse_variation(text, getattr(task, "conditions", {}))),
        weights=tuple(population.weights(place) for place in range(len(population))),
    )
    save_result(population.path / "adaptations", result.name, result.to_json())
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
    """Successive halving: after each round the better half goes on, and the last two race to the end.

    One trial of every racer at a time, so that nobody falls more often than allowed. All of the budget that
    suffices for a trial of each finalist is spent, unless one racer alone is left: then the choice is clear.
    """
    racers = list(range(len(nominal)))
    stopped: list[int] = []
    used = 0
    first = 2 if budget >= 4 * len(racers) else 1  # a second trial shows how much chance there is
    while True:
        final = len(racers) <= 2
        rounds = max(1, math.ceil(math.log2(len(racers))))
        waves = (budget - used) // (len(racers) * rounds)
        if not final:
            waves = max(1, waves) if used else first
        for _ in range(waves):
            if used + len(racers) > budget or (used and len(racers) <= 1):
                break
            trials.try_out(racers, 1)
            used += len(racers)
            fallen = [one for one in racers if max_falls is not None and trials.falls[one] >= max_falls]
            stopped += fallen
            racers = [one for one in racers if one not in fallen]
        if final or len(racers) <= 1:
            break
        order = np.argsort(-expected_returns(trials.returns, nominal)[racers], kind="stable")
        racers = [racers[place] for place in order[: max(2, math.ceil(len(racers) / 2))]]
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
