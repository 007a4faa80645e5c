"""How sure a study's numbers are. A value is what one seed came to; axes before seeds are repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

RESAMPLES = 10_000
LEVEL = 0.95
SIGNIFICANT = 0.05
FEWEST_SEEDS = 5
"""Of each method, for anything to be marked: fewer show what was seen and decide nothing."""

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
    p: float
    """Two-sided, that the means are equal: Welch's test, or the paired t-test where seeds are paired."""
    seeds: int
    """Of the method that has fewer."""
    paired: bool = False

    @property
    def marked(self) -> bool:
        """The rule behind every mark: enough seeds, and p < 0.05."""
        return self.seeds >= FEWEST_SEEDS and self.p < SIGNIFICANT


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


def improvement(ours: Strata, theirs: Strata, tasks: Sequence[Hashable]) -> Estimate:
    """The probability of improvement, averaged over conditions, with an interval of Wilson's kind.

    The interval holds all p that Mann and Whitney's U would not reject, with its variance under p (Newcombe
    2006, method 5): it stays open when all seeds of one method are above all of the other, where a bootstrap
    shrinks to a point. Conditions of a task share their populations and count as one; tasks are independent.
    """
    pairs = list(zip(ours, theirs, strict=True))
    value = float(np.mean([probability_of_improvement(x, y) for x, y in pairs]))
    if min(min(map(len, pair)) for pair in pairs) < 2:
        return Estimate(value, math.nan, math.nan)
    shares = {task: tasks.count(task) / len(tasks) for task in tasks}
    sizes = {task: (len(x), len(y)) for task, (x, y) in zip(tasks, pairs, strict=True)}
    return _score_interval(
        value, lambda p: sum(share**2 * _rank_variance(p, *sizes[task]) for task, share in shares.items())
    )


def _rank_variance(p: float, ours: int, theirs: int) -> float:
    """Of U / (ours · theirs) where the probability of improvement is p."""
    others = (ours + theirs) / 2 - 1
    return p * (1 - p) * (1 + others * ((1 - p) / (2 - p) + p / (1 + p))) / (ours * theirs)


def _score_interval(value: float, variance: Callable[[float], float]) -> Estimate:
    """All p for which a share as far away as `value` is not rare, by the variance under p itself."""
    rare = float(stats.norm.isf((1 - LEVEL) / 2)) ** 2
    edge = 1e-9  # the variance is 0 at 0 and 1, which solves the equation and means nothing

    def gap(p: float) -> float:
        return (value - p) ** 2 - rare * variance(p)

    low = optimize.brentq(gap, 0.0, min(value, 1 - edge)) if value > edge else 0.0
    high = optimize.brentq(gap, max(value, edge), 1.0) if value < 1 - edge else 1.0
    return Estimate(value, low, high)


def performance_profile(strata: Strata, thresholds: Sequence[float]) -> Any:
    """The share of seeds above each threshold, averaged over strata; the last axis is the threshold."""
    levels = np.asarray(thresholds, dtype=np.float64)
    shares = [(values[..., None, :] > levels[:, None]).mean(axis=-1) for values in strata]
    return np.mean(shares, axis=0)


def bootstrap(
    strata: Strata,
    statistic: Callable[[Strata], Any],
    resamples: int = RESAMPLES,
    groups: Sequence[Hashable] | None = None,
) -> Estimate:
    """A stratified percentile bootstrap: seeds are drawn with replacement, within each stratum.

    `statistic` sees all strata at once, for all resamples in one call, and works along the axis of seeds,
    counted from the end. Strata of one group are the same seeds in several conditions and are drawn together.
    Tails are cut where a t-distribution would have them (Hesterberg 2015), since plain percentiles are too
    narrow for few seeds.
    """
    chance = np.random.default_rng(0)
    places: dict[Hashable, Any] = {}
    drawn = []
    for group, values in zip(range(len(strata)) if groups is None else groups, strata, strict=True):
        count = len(values)
        if (group, count) not in places:
            places[group, count] = chance.integers(count, size=(resamples, count))
        drawn.append(np.asarray(values)[places[group, count]])
    fewest = min(map(len, strata))
    tail = 100 * expanded_tail(fewest)
    low, high = np.percentile(statistic(drawn), (tail, 100 - tail), axis=0)
    if fewest < 2:  # a single seed says nothing about its spread
        low, high = np.full_like(low, np.nan), np.full_like(high, np.nan)
    return Estimate(statistic(strata), low, high)


def expanded_tail(seeds: int) -> float:
    """The share of resamples to leave out at either end."""
    if seeds < 2:
        return (1 - LEVEL) / 2
    factor = math.sqrt(seeds / (seeds - 1))
    return float(stats.norm.sf(factor * stats.t.isf((1 - LEVEL) / 2, seeds - 1)))


def bootstrap_relative(
    strata: Strata,
    references: Strata,
    groups: Sequence[tuple[Hashable, Hashable]],
    statistic: Callable[[Strata], Any],
    resamples: int = RESAMPLES,
) -> Estimate:
    """The bootstrap of values in units of a reference's mean, which is as unsure and is drawn as well.

    `groups` names the seeds of each stratum and of its reference; equal names are drawn together.
    """

    def of_ratios(both: Strata) -> Any:
        pairs = zip(both[: len(strata)], both[len(strata) :], strict=True)
        return statistic([values / unit.mean(axis=-1, keepdims=True) for values, unit in pairs])

    names = [name for names in zip(*groups, strict=True) for name in names]
    return bootstrap([*strata, *references], of_ratios, resamples, names)


def mean_interval(values: Float[np.ndarray, "seed ..."]) -> Estimate:
    """The mean over seeds with Student's interval, for every point by itself.

    Of fewer than FEWEST_SEEDS from the lowest to the highest, which is no interval: Student's is wider than
    any axis then. Of a single seed nothing.
    """
    mean, count = values.mean(axis=0), len(values)
    if count < 2:
        return Estimate(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
    if count < FEWEST_SEEDS:
        return Estimate(mean, values.min(axis=0), values.max(axis=0))
    reach = stats.t.isf((1 - LEVEL) / 2, count - 1) * values.std(axis=0, ddof=1) / math.sqrt(count)
    return Estimate(mean, mean - reach, mean + reach)


class _Gap(NamedTuple):
    """A difference of means against its standard error."""

    value: float
    error: float
    freedom: float

    @property
    def p(self) -> float:
        """Two-sided, of no difference; NaN where a single seed says nothing."""
        if not self.error > 0.0:
            return math.nan if math.isnan(self.error) else float(self.value == 0.0)
        return 2 * float(stats.t.sf(abs(self.value) / self.error, self.freedom))

    @property
    def interval(self) -> Estimate:
        """All differences that the test would not reject."""
        reach = float(stats.t.isf((1 - LEVEL) / 2, self.freedom)) * self.error if self.error else 0.0
        return Estimate(self.value, self.value - reach, self.value + reach)


def _welch(ours: Float[np.ndarray, " seed"], theirs: Float[np.ndarray, " other"]) -> _Gap:
    """Of two methods whose variances may differ."""
    value = float(np.mean(ours) - np.mean(theirs))
    if min(len(ours), len(theirs)) < 2:
        return _Gap(value, math.nan, math.nan)
    shares = [float(np.var(values, ddof=1)) / len(values) for values in (ours, theirs)]
    if (variance := sum(shares)) == 0.0:
        return _Gap(value, 0.0, math.inf)
    pieces = zip(shares, (ours, theirs), strict=True)
    freedom = variance**2 / sum(share**2 / (len(values) - 1) for share, values in pieces)
    return _Gap(value, math.sqrt(variance), freedom)


def stands_out(values: Mapping[str, np.ndarray], method: str) -> bool:
    """Whether a method's mean is the largest and marked against every other: the paper's asterisk.

    Where all are alike, some method of a row stands out in at most one of twenty rows.
    """
    ours, others = values[method], [theirs for other, theirs in values.items() if other != method]
    return bool(others) and all(
        np.mean(ours) > np.mean(theirs) and compare(ours, theirs).marked for theirs in others
    )


def compare(ours: Float[np.ndarray, " seed"], theirs: Float[np.ndarray, " other"]) -> Comparison:
    """How much better one method is than another in one condition, and how sure that is."""
    gap = _welch(ours, theirs)
    better = improvement([ours], [theirs], [None])
    return Comparison(gap.interval, better, gap.p, min(len(ours), len(theirs)))


def compare_paired(ours: Float[np.ndarray, " seed"], theirs: Float[np.ndarray, " seed"]) -> Comparison:
    """The same for two values of each seed, which belong together."""
    gaps, count = ours - theirs, len(ours)
    error = float(np.std(gaps, ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    gap = _Gap(float(gaps.mean()), error, count - 1)
    share = float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
    better = _score_interval(share, lambda p: p * (1 - p) / count)
    return Comparison(gap.interval, better, gap.p, count, paired=True)
