"""Racing: successive halving on a budget of trials, with members' nominal returns as a prior."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from polygait.adaptation.record import TrialRecord
from polygait.adaptation.selector import Choice, Request, Selector

TRIALS_PER_MEMBER = 4
MOST_PRIOR = 0.5
"""What a member's nominal return counts for in a race at most, in trials."""


@dataclass(frozen=True)
class RacingConfig:
    """How much to spend."""

    trials: int | None = None
    """Episodes of all members together; four per member when left out."""
    max_falls: int | None = None
    """A member that has fallen so often is tried no more."""


class Racing(Selector):
    """After each round the better half goes on, and the last two race to the end.

    One trial of every racer at a time, so that nobody falls more often than allowed. All of the budget that
    suffices for a trial of each finalist is spent, unless one racer alone is left: then the choice is clear.
    """

    name = "racing"
    Config = RacingConfig

    config: RacingConfig

    def __init__(self, config: RacingConfig, nominal: np.ndarray) -> None:
        super().__init__(config, nominal)
        self._racers = list(range(len(nominal)))

    @classmethod
    def complete(cls, config: RacingConfig, num_members: int) -> RacingConfig:
        return replace(config, trials=config.trials or TRIALS_PER_MEMBER * num_members)

    @classmethod
    def problems(cls, config: RacingConfig, num_members: int) -> list[str]:
        if config.trials is None or not 1 <= config.trials < num_members:
            return []
        return [
            f"{config.trials} trials do not reach {num_members} members: give `trials={num_members}` or "
            "more, at least one each."
        ]

    @property
    def budget(self) -> int:
        return self.config.trials or TRIALS_PER_MEMBER * len(self.nominal)

    def requests(self, trials: TrialRecord) -> Iterator[Request]:
        first = (
            2 if self.budget >= 4 * len(self._racers) else 1
        )  # a second trial shows how much chance there is
        while True:
            final = len(self._racers) <= 2
            rounds = max(1, math.ceil(math.log2(len(self._racers))))
            waves = (self.budget - trials.num_trials) // (len(self._racers) * rounds)
            if not final:
                waves = max(1, waves) if trials.num_trials else first
            for _ in range(waves):
                too_dear = trials.num_trials + len(self._racers) > self.budget
                if too_dear or (trials.num_trials and len(self._racers) <= 1):
                    break
                yield Request(tuple(self._racers))
                stopped = self._stopped(trials)
                self._racers = [member for member in self._racers if member not in stopped]
            if final or len(self._racers) <= 1:
                return
            order = np.argsort(-expected_returns(trials.returns, self.nominal)[self._racers], kind="stable")
            half = max(2, math.ceil(len(self._racers) / 2))
            self._racers = [self._racers[place] for place in order[:half]]

    def choose(self, trials: TrialRecord) -> Choice:
        expected = expected_returns(trials.returns, self.nominal)
        stopped = self._stopped(trials)
        upright = [member for member in range(trials.num_members) if member not in stopped]
        racing = [
            member for member in self._racers if member in upright
        ]  # the last trials may have stopped one
        finalists = racing or upright or range(trials.num_members)
        return Choice(max(finalists, key=lambda member: expected[member]), stopped)

    def _stopped(self, trials: TrialRecord) -> tuple[int, ...]:
        """Members that have fallen as often as allowed."""
        limit = self.config.max_falls
        return () if limit is None else tuple(np.flatnonzero(trials.falls >= limit).tolist())


def expected_returns(returns: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """What each member's trials and its nominal return lead one to expect here.

    The prior: the change costs every member the same share of its nominal return. It counts σ²/τ² trials:
    σ is how much a member's trials scatter, τ how wrong the prior proves to be.
    """
    tried = np.isfinite(returns)
    if not (known := tried.any(axis=1)).all():
        expected = np.full(len(returns), -np.inf)  # who was never tried is never chosen
        if known.any():
            expected[known] = expected_returns(returns[known], nominal[known])
        return expected
    count, total = tried.sum(axis=1), np.where(tried, returns, 0.0).sum(axis=1)
    mean = total / count
    share = mean.mean() / nominal.mean() if nominal.mean() else 0.0
    error = np.square(mean - share * nominal).mean()
    repeats = (count - 1).sum()
    if share <= 0 or error == 0 or repeats == 0:
        return mean
    scatter = np.where(tried, np.square(returns - mean[:, None]), 0.0).sum() / repeats
    weight = MOST_PRIOR if scatter >= MOST_PRIOR * error else scatter / error  # which may be beyond numbers
    return (total + weight * share * nominal) / (count + weight)
