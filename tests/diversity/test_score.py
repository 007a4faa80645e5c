"""Diversity scores against loops written out, and the values they must take at their ends."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polygait.diversity.score import RBF_BANDWIDTH, paper_ceiling, paper_score, rbf_score
from polygait.errors import UserError


def determinant(matrix: list[list[float]]) -> float:
    """By permutations (Leibniz)."""
    size = len(matrix)
    total = 0.0
    for order in itertools.permutations(range(size)):
        swaps = sum(order[i] > order[j] for i in range(size) for j in range(i + 1, size))
        total += (-1) ** swaps * math.prod(matrix[row][column] for row, column in enumerate(order))
    return total


def by_loops(actions: np.ndarray, form: str) -> float:
    """Both scores, one number after another."""
    members, states, size = actions.shape
    kernel = [[0.0] * members for _ in range(members)]
    for i in range(members):
        for j in range(members):
            similar, distance = 0.0, 0.0
            for state in range(states):
                for number in range(size):
                    gap = float(actions[i, state, number]) - float(actions[j, state, number])
                    similar += math.exp(-(gap**2)) / 2
                    distance += gap**2
            length = RBF_BANDWIDTH * math.sqrt(states * size)
            kernel[i][j] = similar if form == "paper" else math.exp(-distance / (2 * length**2))
    return math.log(determinant(kernel))


SCORES = {"paper": paper_score, "rbf": rbf_score}


@pytest.mark.parametrize("form", SCORES)
@pytest.mark.parametrize("shape", [(1, 3, 2), (2, 1, 1), (3, 7, 2), (5, 4, 3)])
def test_scores_are_those_of_plain_loops(form, shape):
    actions = np.random.default_rng(sum(shape)).uniform(-1, 1, shape)
    assert SCORES[form](actions) == pytest.approx(by_loops(actions, form), rel=1e-9, abs=1e-9)
    in_single = actions.astype(np.float32)
    assert SCORES[form](in_single) == pytest.approx(by_loops(in_single, form), rel=1e-6, abs=1e-6)


def test_two_members_by_hand():
    """K = ½·(1, e⁻¹; e⁻¹, 1) and K = (1, e⁻¹; e⁻¹, 1)."""
    actions = np.array([[[0.0]], [[1.0]]])
    assert paper_score(actions) == pytest.approx(math.log(0.25 * (1 - math.exp(-2))))
    assert rbf_score(actions) == pytest.approx(math.log(1 - math.exp(-2)))
    assert rbf_score(actions, bandwidth=2.0) == pytest.approx(math.log(1 - math.exp(-0.25)))


@pytest.mark.parametrize("action_size", [3, 6, 8])
def test_the_ceiling_of_ten_members_on_2000_states(action_size):
    ceiling = paper_ceiling(10, 2000, action_size)
    assert ceiling == pytest.approx(10 * math.log(1000 * action_size))
    far_apart = np.broadcast_to(100.0 * np.arange(10)[:, None, None], (10, 2000, action_size))
    assert paper_score(far_apart) == pytest.approx(ceiling)
    assert rbf_score(far_apart) == 0
    within_the_box = np.random.default_rng(0).uniform(-1, 1, (10, 2000, action_size))
    assert 0.8 * ceiling < paper_score(within_the_box) < ceiling


@pytest.mark.parametrize("score", SCORES.values())
@pytest.mark.parametrize("copies", [(0, 0), (0, 1, 0), (0, 1, 2, 3, 4, 5, 6, 7, 8, 3)])
def test_a_member_that_repeats_another_leaves_no_volume(score, copies):
    different = np.random.default_rng(1).uniform(-1, 1, (10, 50, 3))
    assert score(different[list(copies)]) == -math.inf
    assert math.isfinite(score(different[list(dict.fromkeys(copies))]))


def test_a_kernel_without_full_rank_has_no_volume_either():
    """Four members, all different, of which the first and last together are the other two."""
    actions = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])[:, None]
    assert paper_score(actions) == -math.inf
    assert math.isfinite(rbf_score(actions))


def test_a_small_difference_is_a_low_score_not_none():
    actions = np.zeros((2, 2000, 6))
    actions[1] += 1e-4
    expected = 2 * math.log(6000) + math.log(1 - math.exp(-2e-8))
    assert paper_score(actions) == pytest.approx(expected, rel=1e-6)


@settings(deadline=None, max_examples=80)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=3, max_dims=3, max_side=5), elements=st.floats(-1, 1)),
    st.randoms(use_true_random=False),
)
def test_scores_are_numbers_that_do_not_depend_on_the_order(actions, chance):
    order = list(range(len(actions)))
    chance.shuffle(order)
    for form, score in SCORES.items():
        value = score(actions)
        assert not math.isnan(value)
        assert value <= (paper_ceiling(*actions.shape) if form == "paper" else 0) + 1e-9
        if value > -20:
            assert score(actions[order]) == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("score", SCORES.values())
def test_actions_must_be_numbers(score):
    for bad in (np.full((2, 3, 1), np.nan), np.zeros((0, 3, 1)), np.zeros((2, 0, 1))):
        with pytest.raises(UserError, match="finite actions"):
            score(bad)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, math.inf, math.nan])
def test_a_bandwidth_must_be_one(bandwidth):
    with pytest.raises(UserError, match="bandwidth"):
        rbf_score(np.zeros((1, 1, 1)), bandwidth)
