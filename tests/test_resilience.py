"""Figures of a population, each worked out by hand."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

from polygait.evaluation import SCHEMA
from polygait.resilience import (
    best_of,
    chance_chosen,
    chosen,
    episodes_of,
    expected_best_of,
    mean_correlation,
    resilience,
    stands_still,
    still_speed,
    survival,
)

SECONDS = 8.0


def row(member, world, returns, progress, **changed):
    """A row as evaluate has it; progress in metres."""
    told = progress is not None
    blank = dict.fromkeys(SCHEMA)
    numbers = {"mean_return": float(np.mean(returns)), "falls": 0.0, "seconds": SECONDS if told else None}
    return (
        blank
        | {"member": member, "condition": world, "variation": world, "world": world}
        | numbers
        | {"returns": returns, "progress": progress}
        | changed
    )


def frame(rows):
    return pl.DataFrame(rows, schema=SCHEMA)


def two_members():
    """Member 0 runs when nothing is wrong and earns by standing in `b`; member 1 is slow and steady."""
    return frame(
        [
            row(0, "nominal", [40.0, 40.0], [32.0, 32.0]),  # 4 m/s
            row(1, "nominal", [20.0, 20.0], [16.0, 16.0]),  # 2 m/s
            row(0, "a", [30.0, 10.0], [24.0, 8.0]),  # 3 and 1 m/s
            row(1, "a", [20.0, 20.0], [16.0, 16.0]),  # 2 m/s
            row(0, "b", [25.0, 25.0], [0.0, 0.0]),
            row(1, "b", [22.0, 22.0], [18.0, 18.0]),  # 2.25 m/s
        ]
    )


def test_every_choice_of_k_counts_alike():
    np.testing.assert_allclose(chance_chosen(3), [[1 / 3, 1 / 3, 1 / 3], [2 / 3, 1 / 3, 0], [1, 0, 0]])


def test_expected_best_of_k_is_the_mean_over_all_draws():
    returns = np.array([3.0, -1.0, 7.0, 7.0, 2.0])
    for size, expected in enumerate(expected_best_of(returns), start=1):
        draws = [max(draw) for draw in itertools.combinations(returns, size)]
        np.testing.assert_allclose(expected, np.mean(draws))
    several = np.array([returns, returns[::-1] + 1]).T
    np.testing.assert_allclose(best_of(several), [expected_best_of(one) for one in several.T])


def test_who_is_chosen_by_one_half_is_scored_by_the_other():
    # Two conditions, three members, four episodes: first half, second half.
    choosing = np.array(
        [[[9.0, 9, 1, 1], [1, 1, 1, 1]], [[5, 5, 5, 5], [2, 2, 2, 2]], [[0, 0, 6, 6], [3, 3, 3, 3]]]
    )
    found = chosen(choosing, choosing)
    # Condition 0: 0 leads the first half and has 1 in the second; 2 leads the second and has 0 in the first.
    assert found[0, 2] == pytest.approx((1 + 0) / 2)
    # Pairs {0,1}, {0,2}, {1,2}, chosen on the first half: 0, 0, 1 with 1, 1, 5; on the second: 5, 0, 0.
    assert found[0, 1] == pytest.approx((7 / 3 + 5 / 3) / 2)
    assert found[0, 0] == pytest.approx(choosing[:, 0].mean())
    np.testing.assert_allclose(found[1], best_of(choosing.mean(axis=2))[1])


def test_choosing_over_every_subset_agrees_with_trying_them_all():
    chance = np.random.default_rng(0)
    choosing, values = chance.normal(size=(2, 5, 3, 4))
    found = chosen(choosing, values)
    for size in range(1, 6):
        tried = []
        for draw in itertools.combinations(range(5), size):
            for choice, score in ((slice(0, 2), slice(2, 4)), (slice(2, 4), slice(0, 2))):
                best = [max(draw, key=lambda one: choosing[one, place, choice].mean()) for place in range(3)]
                tried.append([values[one, place, score].mean() for place, one in enumerate(best)])
        np.testing.assert_allclose(found[:, size - 1], np.mean(tried, axis=0))


def test_half_of_the_best_nominal_speed_must_be_kept():
    speeds = np.array([[[2.0, 2.0], [1.9, 1.9], [4.0, 0.0]]])
    np.testing.assert_array_equal(survival(speeds, speeds, 4.0), [[1.0], [0.0], [0.5]])
    assert np.isnan(survival(speeds, speeds, math.nan)).all()


def test_nobody_survives_by_standing_still_in_a_population_that_stands():
    speeds = np.full((2, 3, 2), 0.001)
    assert not survival(speeds, speeds, 0.001).any()


def test_a_single_episode_leaves_nothing_to_score_on():
    assert np.isnan(chosen(np.ones((2, 3, 1)), np.ones((2, 3, 1)))).all()


def test_failures_are_alike_as_far_as_they_come_together():
    values = np.array(
        [[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0], [4.0, 3.0, 2.0, 1.0], [7.0, 7.0, 7.0, 7.0]]
    )
    assert mean_correlation(values[:2]) == pytest.approx(1.0)
    assert mean_correlation(values[:3]) == pytest.approx((1 - 1 - 1) / 3)
    assert mean_correlation(values) == pytest.approx(-1 / 3)  # who never changes says nothing
    assert math.isnan(mean_correlation(values[:1])) and math.isnan(mean_correlation(values[:2, :1]))


def test_all_figures_of_two_members_by_hand():
    found = resilience(two_members())
    assert (found.members, found.conditions, found.episodes) == (2, 2, 2)
    nominal = (found.best_nominal_return, found.mean_nominal_return, found.worst_nominal_return)
    assert nominal == (40.0, 30.0, 20.0) and found.best_nominal_speed == 4.0
    np.testing.assert_allclose(found.best_return, [(20 + 20 + 25 + 22) / 4, (20 + 25) / 2])
    np.testing.assert_allclose(found.best_speed, [(2 + 2 + 0 + 2.25) / 4, (2 + 2.25) / 2])
    # By return, in a: 0 leads the first half and has 1 m/s then; 1 leads the second and has 2 m/s. In b: 0.
    assert found.by == "return"
    np.testing.assert_allclose(found.survival[1], (0.5 + 0.0) / 2)
    np.testing.assert_allclose(found.chosen_speed[1], ((1 + 2) / 2 + 0) / 2)
    # Of one member at random: in a, 0 has 3 and 1 m/s and 1 always 2; in b, 1 alone walks.
    np.testing.assert_allclose(found.survival[0], (0.75 + 0.5) / 2)
    assert math.isclose(found.return_correlation, 1.0) and math.isclose(found.speed_correlation, -1.0)


def test_chosen_by_progress_nobody_takes_the_one_that_stands():
    found = resilience(two_members(), by="progress")
    np.testing.assert_allclose(found.survival, [(0.75 + 0.5) / 2, (0.5 + 1.0) / 2])


def test_another_population_may_set_the_speed_to_keep():
    np.testing.assert_allclose(resilience(two_members(), "progress", reference_speed=4.5).survival[1], 0.5)


def test_where_nobody_tells_progress_only_returns_are_known():
    blind = frame([row(member, world, [1.0 + member, 2.0], None) for world in "ab" for member in (0, 1)])
    found = resilience(blind)
    assert np.isnan(found.survival).all() and math.isnan(found.best_nominal_speed)
    np.testing.assert_allclose(found.best_return, [1.75, 2.0])
    assert np.isnan(resilience(blind, by="progress").chosen_return).all()
    plain = found.to_json()
    assert plain["survival"] == [None, None] and plain["best_return"] == [1.75, 2.0]


def test_a_condition_without_all_members_is_left_out():
    found = episodes_of(two_members()[:-1])
    assert found.conditions == ("a",) and found.members == (0, 1)
    np.testing.assert_allclose(found.speeds, [[[3.0, 1.0]], [[2.0, 2.0]]])


@pytest.mark.parametrize(
    ("speed", "falls", "best", "still"),
    [
        (0.02, 0.0, math.nan, True),  # 0.16 m in 8 s
        (0.3, 0.2, 4.0, True),
        (0.5, 0.0, 4.0, False),
        (-0.5, 0.0, 4.0, False),  # backwards is not still
        (0.02, 0.6, 4.0, False),  # it falls
        (0.04, 0.0, 0.01, True),
        (math.nan, 0.0, 4.0, False),
        (None, 0.0, 4.0, False),
    ],
)
def test_standing_still_has_one_meaning(speed, falls, best, still):
    assert stands_still(speed, falls, best) is still
    assert still_speed(4.0) == pytest.approx(0.4)
