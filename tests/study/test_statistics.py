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
    bootstrap_two,
    compare,
    differs_from_all,
    interquartile_mean,
    mean_improvement,
    mean_of_means,
    performance_profile,
    pooled_interquartile_mean,
    probability_of_improvement,
    welch_p,
)

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
    assert mean_improvement(ours, theirs) == 0.75


@settings(deadline=None, max_examples=40)
@given(values, values)
def test_probability_of_improvement_is_mann_whitneys(ours, theirs):
    found = probability_of_improvement(ours, theirs)
    expected = stats.mannwhitneyu(ours, theirs, method="asymptotic").statistic / (len(ours) * len(theirs))
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found + probability_of_improvement(theirs, ours), 1.0)


def test_welch_by_hand():
    # means 2 and 5, variances 1 and 1 of three seeds each: t = −3/√(2/3), 4 degrees of freedom
    p = welch_p(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    assert p == pytest.approx(2 * stats.t.sf(3 / math.sqrt(2 / 3), 4))
    assert welch_p(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 1.0
    assert welch_p(np.array([1.0, 1.0]), np.array([2.0, 2.0])) == 0.0
    assert math.isnan(welch_p(np.array([1.0]), np.array([2.0, 3.0])))


@settings(deadline=None, max_examples=40)
@given(values, values)
def test_welch_is_scipys(ours, theirs):
    if min(np.std(ours), np.std(theirs)) < 1e-3:
        return
    expected = stats.ttest_ind(ours, theirs, equal_var=False)[1]
    assert welch_p(ours, theirs) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_an_asterisk_needs_all_others():
    low, high = np.array([1.0, 1.1, 0.9]), np.array([5.0, 5.1, 4.9])
    assert differs_from_all(high, [low, low + 1])
    assert not differs_from_all(high, [low, high + 0.01])
    assert not differs_from_all(high, [])
    assert not differs_from_all(high, [np.array([1.0])])  # one seed proves nothing


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
        (sample,), np.mean, n_resamples=50_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    np.testing.assert_allclose([ours.low, ours.high], theirs, atol=0.02 * (theirs.high - theirs.low))


def test_strata_are_drawn_within_themselves():
    """Were seeds drawn across strata, the mean of means would vary."""
    estimate = bootstrap([np.array([1.0, 1.0, 1.0]), np.array([9.0, 9.0])], mean_of_means)
    assert (estimate.value, estimate.low, estimate.high) == (5.0, 5.0, 5.0)


def test_intervals_cover_as_often_as_they_say():
    """Of 300 samples of 12 normal seeds, a percentile bootstrap covers the mean a little too seldom."""
    chance = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        estimate = bootstrap([chance.normal(size=12)], mean_of_means, resamples=500)
        covered += estimate.low <= 0 <= estimate.high
    assert 0.87 <= covered / 300 <= 0.97


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
    assert one.welch_p == pytest.approx(other.welch_p)


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
    estimate = bootstrap_two(ours, theirs, mean_improvement)
    assert estimate.value == pytest.approx(0.62, abs=0.005)
    assert 0.4 < estimate.low < estimate.value < estimate.high < 0.8


def test_published_intervals_of_the_mean_difference(damage):
    """Only Walker's broken foot clears zero. Expected is what a million resamples give; fewer wobble."""
    found = {
        place: compare(damage[place]["dir"], damage[place]["multi"]).difference for place in MUJOCO_DAMAGES
    }
    foot, ankle = found["walker", "broken-foot"], found["ant", "broken-ankle"]
    np.testing.assert_allclose([foot.low, foot.high], [91, 647], atol=10)
    np.testing.assert_allclose([ankle.low, ankle.high], [-13, 497], atol=10)
    for place in set(MUJOCO_DAMAGES) - {("walker", "broken-foot")}:
        assert found[place].low < 0 < found[place].high


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
