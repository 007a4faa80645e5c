"""How sure a study's numbers are. A value is what one seed came to; axes before seeds are repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

RESAMPLES = 10_000
LEVEL = 0.95
SIGNIFICANT = 0.05

Strata = Sequence[Float[np.ndarray, "..."]]
"""One array per task and condition, seeds along its first axis; their numbers may differ.

Nearly always one value per seed. Resamples add an axis in front, so that seeds are then the last axis, or the
last but one where a seed has a whole curve.
"""


class Spread(NamedTuple):
    """The paper's mean ± sd: the population's standard deviation, over seeds."""

    mean: float
    sd: float
    seeds: int

    @classmethod
    def of(cls, values: Float[np.ndarray, " seed"]) -> Spread:
        """Of one value per seed."""
        return cls(float(np.mean(values)), float(np.std(values)), len(values))


class Estimate(NamedTuple):
    """A statistic and the interval in which it lies with LEVEL confidence; arrays where it has parts."""

    value: Any
    low: Any
    high: Any


class Comparison(NamedTuple):
    """One method against another in one condition."""

    difference: Estimate
    """Of the means."""
    improvement: Estimate
    """The probability that a seed of ours is better than a seed of theirs."""
    welch_p: float


def best_members(returns: Float[np.ndarray, "seed member"]) -> Float[np.ndarray, " seed"]:
    """What the best member of each seed reached: the paper's few-shot adaptation."""
    return np.max(returns, axis=-1)


def interquartile_mean(values: Float[np.ndarray, "*batch seed"]) -> Float[np.ndarray, "*batch"] | np.floating:
    """The mean without the lowest and the highest quarter, each rounded down."""
    count = values.shape[-1]
    cut = count // 4
    return np.sort(values, axis=-1)[..., cut : count - cut].mean(axis=-1)


def pooled_interquartile_mean(strata: Strata) -> Any:
    """The interquartile mean of all seeds of all strata together."""
    return interquartile_mean(np.concatenate(list(strata), axis=-1))


def mean_of_means(strata: Strata) -> Any:
    """Every stratum counts alike."""
    return np.mean([values.mean(axis=-1) for values in strata], axis=0)


def probability_of_improvement(
    ours: Float[np.ndarray, "*batch seed"], theirs: Float[np.ndarray, "*batch other"]
) -> Float[np.ndarray, "*batch"] | np.floating:
    """P(X > Y) + P(X = Y)/2 for a seed X of ours and Y of theirs: Mann and Whitney's U over all pairs."""
    x, y = ours[..., :, None], theirs[..., None, :]
    return ((x > y) + 0.5 * (x == y)).mean(axis=(-2, -1))


def mean_improvement(ours: Strata, theirs: Strata) -> Any:
    """The probability of improvement, averaged over conditions."""
    pairs = zip(ours, theirs, strict=True)
    return np.mean([probability_of_improvement(x, y) for x, y in pairs], axis=0)


def performance_profile(strata: Strata, thresholds: Sequence[float]) -> Any:
    """The share of seeds above each threshold, averaged over strata; the last axis is the threshold."""
    levels = np.asarray(thresholds, dtype=np.float64)
    shares = [(values[..., None, :] > levels[:, None]).mean(axis=-1) for values in strata]
    return np.mean(shares, axis=0)


def bootstrap(
    strata: Strata, statistic: Callable[[Strata], Any], resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """A stratified percentile bootstrap: seeds are drawn with replacement, within each stratum.

    `statistic` sees all strata at once, for all resamples in one call, and works along the axis of seeds,
    counted from the end.
    """
    chance = np.random.default_rng(seed)
    drawn = [
        values[chance.integers(len(values), size=(resamples, len(values)))]
        for values in map(np.asarray, strata)
    ]
    tails = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(statistic(drawn), (tails, 100 - tails), axis=0)
    if min(map(len, strata)) < 2:  # a single seed says nothing about its spread
        low, high = np.full_like(low, np.nan), np.full_like(high, np.nan)
    return Estimate(statistic(strata), low, high)


def bootstrap_two(
    ours: Strata, theirs: Strata, statistic: Callable[[Strata, Strata], Any], resamples: int = RESAMPLES
) -> Estimate:
    """The same for a statistic of two methods, whose seeds are drawn independently."""
    half = len(ours)
    return bootstrap([*ours, *theirs], lambda both: statistic(both[:half], both[half:]), resamples)


def welch_p(ours: Float[np.ndarray, " seed"], theirs: Float[np.ndarray, " other"]) -> float:
    """The two-sided p of Welch's test that two means are equal; NaN with fewer than two seeds of one."""
    if min(len(ours), len(theirs)) < 2:
        return math.nan
    gap = float(np.mean(ours) - np.mean(theirs))
    shares = [float(np.var(values, ddof=1)) / len(values) for values in (ours, theirs)]
    variance = sum(shares)
    if variance == 0.0:
        return 1.0 if gap == 0.0 else 0.0
    pieces = zip(shares, (ours, theirs), strict=True)
    freedom = variance**2 / sum(share**2 / (len(values) - 1) for share, values in pieces)
    return 2 * float(stats.t.sf(abs(gap) / math.sqrt(variance), freedom))


def differs_from_all(ours: Float[np.ndarray, " seed"], others: Sequence[Float[np.ndarray, " other"]]) -> bool:
    """The paper's asterisk: the mean differs from that of every other method with p < 0.05."""
    return bool(others) and all(welch_p(ours, theirs) < SIGNIFICANT for theirs in others)


def compare(ours: Float[np.ndarray, " seed"], theirs: Float[np.ndarray, " other"]) -> Comparison:
    """How much better one method is than another in one condition, and how sure that is."""
    return Comparison(
        difference=bootstrap_two([ours], [theirs], lambda x, y: x[0].mean(axis=-1) - y[0].mean(axis=-1)),
        improvement=bootstrap_two([ours], [theirs], mean_improvement),
        welch_p=welch_p(ours, theirs),
    )
