"""How sure numbers are: by hand, against SciPy, and on what the paper's authors published."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from polygait.report.study.sources import best_values, published
from polygait.study import statistics
from polygait.study.statistics import (
    Spread,
    best_members,
    bootstrap,
    bootstrap_relative,
    compare,
    compare_paired,
    expanded_tail,
    improvement,
    interquartile_mean,
    mean_interval,
    mean_of_means,
    performance_profile,
    pooled_interquartile_mean,
    probability_of_improvement,
    stands_out,
)


def p_of(ours, theirs):
    return compare(ours, theirs).p


values = st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=12).map(np.array)


def test_best_member_then_mean_and_population_sd():
    returns = np.array([[1.0, 5.0, 2.0], [9.0, 3.0, 0.0]])
    np.testing.assert_array_equal(best_members(returns), [5.0, 9.0])
    assert Spread.of(best_members(returns)) == (7.0, 2.0, 2)


def test_interquartile_mean_by_hand():
    assert interquartile_mean(np.array([100.0, 1.0, 2.0, -50.0])) == 1.5
    assert interquartile_mean(np.array([7.0, 1.0, 4.0])) == 4.0  # three quarters of a seed are not cut
    both = np.array([[8.0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 1, 1, 1, 1.0]])
    np.testing.assert_allclose(interquartile_mean(both), [4.5, 0.5])
    pooled = pooled_interquartile_mean([np.array([100.0, 1.0]), np.array([2.0, -50.0])])
    assert pooled == 1.5


@settings(deadline=None, max_examples=40)
@given(values)
def test_interquartile_mean_is_scipys_trimmed_mean(sample):
    np.testing.assert_allclose(interquartile_mean(sample), stats.trim_mean(sample, 0.25), atol=1e-9)


def test_probability_of_improvement_by_hand():
    assert probability_of_improvement(np.array([1.0, 3.0]), np.array([2.0, 3.0])) == (0 + 0 + 1 + 0.5) / 4
    ours = [np.array([2.0]), np.array([0.0])]
    theirs = [np.array([1.0]), np.array([0.0])]
    assert improvement(ours, theirs, ["a", "b"]).value == 0.75


@settings(deadline=None, max_examples=40)
@given(values, values)
def test_probability_of_improvement_is_mann_whitneys(ours, theirs):
    found = probability_of_improvement(ours, theirs)
    expected = stats.mannwhitneyu(ours, theirs, method="asymptotic").statistic / (len(ours) * len(theirs))
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found + probability_of_improvement(theirs, ours), 1.0)


def test_welch_by_hand():
    # means 2 and 5, variances 1 and 1 of three seeds each: t = −3/√(2/3), 4 degrees of freedom
    p = p_of(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    assert p == pytest.approx(2 * stats.t.sf(3 / math.sqrt(2 / 3), 4))
    assert p_of(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 1.0
    assert p_of(np.array([1.0, 1.0]), np.array([2.0, 2.0])) == 0.0
    assert math.isnan(p_of(np.array([1.0]), np.array([2.0, 3.0])))


@settings(deadline=None, max_examples=40)
@given(values, values)
def test_welch_is_scipys(ours, theirs):
    if min(np.std(ours), np.std(theirs)) < 1e-3:
        return
    expected = stats.ttest_ind(ours, theirs, equal_var=False)[1]
    assert p_of(ours, theirs) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_mark_needs_enough_seeds_and_all_others():
    low, high = np.array([1.0, 1.1, 0.9, 1.0, 1.05]), np.array([5.0, 5.1, 4.9, 5.0, 5.05])
    assert stands_out({"a": high, "b": low, "c": low + 1}, "a")
    assert not stands_out({"a": high, "b": low, "c": low + 1}, "b")  # differs, and is not the largest
    assert not stands_out({"a": high, "b": low, "c": high - 0.01}, "a")
    assert not stands_out({"a": high}, "a")
    assert not stands_out({"a": high, "b": low[:4]}, "a")  # four seeds decide nothing
    assert compare(high, low).marked and compare(low, high).marked
    assert compare_paired(high, low).marked and not compare_paired(high[:4], low[:4]).marked


def test_profiles_by_hand():
    strata = [np.array([1.0, 3.0]), np.array([0.0, 0.0, 2.0])]
    found = performance_profile(strata, [-1.0, 0.0, 1.0, 2.5])
    np.testing.assert_allclose(found, [1.0, (1 + 1 / 3) / 2, (1 / 2 + 1 / 3) / 2, (1 / 2) / 2])


def test_bootstrap_of_all_draws_by_hand():
    """Two seeds have four equally likely draws: means 0, 1, 1, 2."""
    estimate = bootstrap([np.array([0.0, 2.0])], mean_of_means)
    assert (estimate.value, estimate.low, estimate.high) == (1.0, 0.0, 2.0)
    alone = bootstrap([np.array([3.0])], mean_of_means)
    assert alone.value == 3.0 and math.isnan(alone.low) and math.isnan(alone.high)


def test_bootstrap_agrees_with_scipys():
    chance = np.random.default_rng(1)
    sample = chance.gamma(2.0, 100.0, size=9)
    ours = bootstrap([sample], mean_of_means, resamples=50_000)
    theirs = stats.bootstrap(
        (sample,),
        np.mean,
        n_resamples=50_000,
        method="percentile",
        confidence_level=1 - 2 * expanded_tail(9),
        rng=np.random.default_rng(2),
    ).confidence_interval
    np.testing.assert_allclose([ours.low, ours.high], theirs, atol=0.02 * (theirs.high - theirs.low))


def test_strata_are_drawn_within_themselves():
    """Were seeds drawn across strata, the mean of means would vary."""
    estimate = bootstrap([np.array([1.0, 1.0, 1.0]), np.array([9.0, 9.0])], mean_of_means)
    assert (estimate.value, estimate.low, estimate.high) == (5.0, 5.0, 5.0)


def test_tails_are_those_of_a_t_distribution():
    """Eight seeds: 2.365 of t₇, √(8/7) wider, is 2.528 of a normal distribution."""
    assert expanded_tail(8) == pytest.approx(stats.norm.sf(2.3646 * math.sqrt(8 / 7)), rel=1e-3)
    assert expanded_tail(4) < expanded_tail(8) < expanded_tail(10**6) == pytest.approx(0.025, rel=1e-3)


def test_strata_of_a_group_are_drawn_together():
    """A seed that is low in one condition and high in the other: their mean never changes."""
    strata = [np.array([0.0, 1.0, 2.0]), np.array([2.0, 1.0, 0.0])]
    together = bootstrap(strata, mean_of_means, groups=["a", "a"])
    assert (together.low, together.high) == (1.0, 1.0)
    apart = bootstrap(strata, mean_of_means, groups=["a", "b"])
    assert apart.low < 1.0 < apart.high


def test_a_reference_is_drawn_as_well():
    values, unit = np.array([2.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0])
    estimate = bootstrap_relative([values], [unit], [("ours", "theirs")], mean_of_means)
    assert estimate.value == 1.0 and estimate.low < 0.8 and estimate.high > 1.2
    itself = bootstrap_relative([unit], [unit], [("same", "same")], mean_of_means)
    np.testing.assert_allclose(itself, 1.0)


def test_complete_separation_is_not_certainty():
    """The interval solves (1 − p)² = z² Var(p), here by hand for two and two seeds."""
    found = compare(np.array([3.0, 4.0]), np.array([1.0, 2.0])).improvement
    p, z = found.low, stats.norm.isf(0.025)
    variance = p * (1 - p) * (1 + (1 - p) / (2 - p) + p / (1 + p)) / 4
    assert (1 - p) ** 2 == pytest.approx(z**2 * variance) and found.high == 1.0 and 0.2 < p < 0.5
    lows = [compare(np.arange(n) + 100.0, np.arange(n) + 0.0).improvement.low for n in (2, 4, 8, 30)]
    assert lows == sorted(lows) and lows[1] == pytest.approx(0.58, abs=0.01) and lows[2] < 0.8 < lows[3]
    never = compare(np.array([1.0, 2.0]), np.array([3.0, 4.0])).improvement
    np.testing.assert_allclose([never.low, never.high], [0.0, 1 - p], atol=1e-6)


def test_conditions_of_a_task_count_as_one_and_tasks_do_not():
    ours, theirs = [np.arange(6.0) + 1] * 4, [np.arange(6.0)] * 4
    single = improvement(ours[:1], theirs[:1], ["a"])
    np.testing.assert_allclose(improvement(ours, theirs, ["a"] * 4), single)
    wide, narrow = single, improvement(ours, theirs, ["a", "b", "c", "d"])
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_pairs_are_compared_seed_by_seed():
    """Seeds differ more among themselves than pairs do; Wilson's interval of three of three."""
    theirs = np.array([0.0, 100.0, 200.0])
    found = compare_paired(theirs + np.array([1.0, 2.0, 3.0]), theirs)
    assert found.paired and found.p == pytest.approx(stats.ttest_1samp([1.0, 2.0, 3.0], 0.0)[1])
    assert found.difference.low < 2.0 < found.difference.high < 5.0
    wilson = stats.binomtest(3, 3).proportion_ci(method="wilson")
    np.testing.assert_allclose(found.improvement, [1.0, wilson.low, wilson.high], atol=1e-6)


def test_the_interval_of_a_mean_is_students():
    curves = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]])
    found = mean_interval(curves)
    assert (found.low[0], found.high[0]) == pytest.approx(
        stats.t.interval(0.95, 4, 2.0, stats.sem(curves[:, 0]))
    )
    few = mean_interval(curves[:4])
    assert (few.low[0], few.value[0], few.high[0]) == (0.0, 1.5, 3.0)  # all that was seen
    assert (found.low[1], found.value[1], found.high[1]) == (5.0, 5.0, 5.0)
    assert np.isnan(mean_interval(curves[:1]).low).all()


def made(kind, shape, chance):
    """Returns of seeds as they are seen: alike, now and then much better, or of two kinds."""
    draws = {
        "normal": lambda: chance.normal(size=shape),
        "wide": lambda: 4 * chance.normal(size=shape),
        "skewed": lambda: chance.exponential(size=shape),
        "two kinds": lambda: 3.0 * (chance.random(shape) < 0.5) + 0.3 * chance.normal(size=shape),
    }
    return draws[kind]()


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [4, 8])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
@pytest.mark.parametrize(
    "kinds", [("normal",) * 2, ("skewed",) * 2, ("two kinds",) * 2, ("wide", "normal")], ids="-".join
)
def test_intervals_of_comparisons_cover_as_often_as_they_say(seeds, shift, kinds):
    """1,000 studies each; at 95 % the share that covers wobbles by 0.7 %."""
    chance = np.random.default_rng(seeds)
    many = [made(kind, 100_000, chance) for kind in kinds]
    below = np.searchsorted(np.sort(many[1]), many[0] + shift) / 100_000
    better, difference = below.mean(), many[0].mean() + shift - many[1].mean()
    ours, theirs = (made(kind, (1000, seeds), chance) for kind in kinds)
    found = [compare(x + shift, y) for x, y in zip(ours, theirs, strict=True)]
    covered = np.mean([one.improvement.low <= better <= one.improvement.high for one in found])
    assert 0.90 <= covered <= 0.99
    covered = np.mean([one.difference.low <= difference <= one.difference.high for one in found])
    assert 0.92 <= covered <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "least"), [(4, 0.82), (8, 0.91)])
def test_a_bootstrap_of_few_seeds_covers_nearly_as_often_as_it_says(seeds, least):
    """Of the mean of two conditions that share their seeds; plain percentiles cover 0.79 and 0.89."""
    chance = np.random.default_rng(1)
    covered = []
    for _ in range(1000):
        own = chance.normal(size=seeds)
        strata = [own + chance.normal(size=seeds) for _ in range(2)]
        estimate = bootstrap(strata, mean_of_means, 1000, groups=["a", "a"])
        covered.append(estimate.low <= 0 <= estimate.high)
    assert least <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("kind", ["normal", "skewed", "two kinds"])
@pytest.mark.parametrize("methods", [2, 4])
def test_marks_hold_their_level_at_eight_seeds(kind, methods):
    """Where methods are alike, a row has a mark in at most 5 % of 800 studies, give or take two errors."""
    chance = np.random.default_rng(methods)
    studies = made(kind, (800, methods, 8), chance)
    test = stats.ttest_ind(studies[:, :, None], studies[:, None, :], axis=-1, equal_var=False)
    p = np.asarray(test[1])
    largest = studies.mean(axis=-1).argmax(axis=1)
    against = p[np.arange(800), largest]
    against[np.arange(800), largest] = 0.0
    marked = np.all(against < statistics.SIGNIFICANT, axis=1)
    assert marked.mean() < 0.05 + 2 * 0.0077
    for place in (*np.flatnonzero(marked)[:5], *np.flatnonzero(~marked)[:5]):
        row = {str(number): values for number, values in enumerate(studies[place])}
        assert any(stands_out(row, name) for name in row) == bool(np.take(marked, place))


def test_vector_statistics_have_bands():
    strata = [np.arange(8.0), np.arange(8.0) + 1]
    bands = bootstrap(strata, lambda one: performance_profile(one, [2.0, 5.0]), resamples=2000)
    assert np.shape(bands.value) == np.shape(bands.low) == (2,)
    assert (bands.low < bands.value).all() and (bands.value < bands.high).all()


def test_a_seed_may_have_a_curve():
    """Seeds lie on the first axis: each point varies as its own seeds do, here 0 and 2, then 10 and 10."""
    bands = bootstrap([np.array([[0.0, 10.0], [2.0, 10.0]])], lambda strata: strata[0].mean(axis=-2))
    np.testing.assert_allclose([bands.value, bands.low, bands.high], [[1, 10], [0, 10], [2, 10]])


@settings(deadline=None, max_examples=5)
@given(values, values)
def test_comparison_is_antisymmetric(ours, theirs):
    one, other = compare(ours, theirs), compare(theirs, ours)
    assert one.difference.value == pytest.approx(-other.difference.value, abs=1e-9)
    assert one.improvement.value == pytest.approx(1 - other.improvement.value)
    assert one.difference.low <= one.difference.value + 1e-9
    assert one.p == pytest.approx(other.p)


# What the published per-seed numbers say (facts that others computed, too).

MUJOCO_DAMAGES = [
    ("hopper", "broken-leg"),
    ("hopper", "broken-foot"),
    ("walker", "broken-leg"),
    ("walker", "broken-foot"),
    ("ant", "broken-ankle"),
    ("ant", "broken-hip"),
]


@pytest.fixture(scope="module")
def damage():
    return best_values(published().returns, "damage")


def test_published_probability_of_improvement(damage):
    ours, theirs = zip(
        *((damage[place]["dir"], damage[place]["multi"]) for place in MUJOCO_DAMAGES), strict=True
    )
    estimate = improvement(ours, theirs, [task for task, _ in MUJOCO_DAMAGES])
    assert estimate.value == pytest.approx(0.62, abs=0.005)
    assert 0.4 < estimate.low < estimate.value < estimate.high < 0.8


def test_published_intervals_of_the_mean_difference(damage):
    """None clears zero with Welch's test; a percentile bootstrap said that of Walker's broken foot."""
    for place in MUJOCO_DAMAGES:
        ours, theirs = damage[place]["dir"], damage[place]["multi"]
        found = compare(ours, theirs)
        expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval()
        np.testing.assert_allclose([found.difference.low, found.difference.high], expected)
        assert found.difference.low < 0 < found.difference.high and not found.marked


def test_constants_are_what_the_tables_say():
    assert (statistics.LEVEL, statistics.SIGNIFICANT) == (0.95, 0.05)


def test_exhaustive_draws_match_the_bootstrap():
    """All 27 draws of three seeds, against many random ones."""
    sample = np.array([0.0, 1.0, 5.0])
    means = np.array([np.mean(draw) for draw in itertools.product(sample, repeat=3)])
    seen = []

    def keep(strata):
        seen.append(strata[0].mean(axis=-1))
        return seen[-1]

    bootstrap([sample], keep, resamples=60_000)
    np.testing.assert_allclose(np.sort(np.unique(seen[0])), np.unique(means))
    assert np.mean(seen[0]) == pytest.approx(means.mean(), abs=0.02)
    assert np.std(seen[0]) == pytest.approx(means.std(), abs=0.02)
