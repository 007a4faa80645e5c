"""How much a bonus weighs: running means by hand, no units, nothing for mere survival, fading."""

import numpy as np
import pytest
from tests.diversity.rollouts import random_rollout

from polygait.diversity.method import bonus_statistics
from polygait.diversity.strength import BonusScale, fading, guarded, initial_scale, weigh


def arrays(*values):
    """(time 2, member 1, env 2) arrays, each from four numbers."""
    return [np.array(four, float).reshape(2, 1, 2) for four in values]


def test_one_rollout_by_hand():
    value, task = arrays([1, 3, 5, 7], [2, -2, 2, 2])  # mean 4, standard deviation √5; the task pays 2
    found = weigh(initial_scale(1), value, task, np.array([0.3]))
    np.testing.assert_allclose(found.reward, 0.3 * 2 / np.sqrt(5) * (value - 4))
    assert [field.item() for field in found.scale] == pytest.approx([4, np.sqrt(5), 2])
    assert found.reward.std() == pytest.approx(0.3 * 2)  # a share of what the task pays


def test_later_rollouts_count_for_a_tenth():
    value, task = arrays([1, 3, 5, 7], [2, 2, 2, 2])
    before = BonusScale(*(np.array([number]) for number in (14.0, 1.0, 12.0)))
    scale = weigh(before, value, task, np.array([1.0])).scale
    assert [field.item() for field in scale] == pytest.approx([13.0, 0.9 + np.sqrt(5) / 10, 11.0])


def test_neither_the_units_of_the_bonus_nor_its_mean_matter():
    value, task = arrays([0.5, 3, -5, 7], [2, 1, 2, 2])
    plain, scaled = (
        weigh(initial_scale(1), one, task, np.array([0.2])).reward for one in (value, 1000 * value + 50)
    )
    np.testing.assert_allclose(plain, scaled, rtol=1e-9)
    np.testing.assert_allclose(weigh(initial_scale(1), value, 8 * task, np.array([0.2])).reward, 8 * plain)


def test_a_bonus_that_is_the_same_everywhere_pays_nothing():
    value, task = arrays([3, 3, 3, 3], [2, 1, 2, 2])
    assert (weigh(initial_scale(1), value, task, np.array([0.2])).reward == 0).all()


def test_members_have_scales_of_their_own():
    value, task = (
        np.concatenate(one, axis=1) for one in (arrays([1, 3, 5, 7], [9, 9, 1, 1]), arrays([2] * 4, [4] * 4))
    )
    both = weigh(initial_scale(2), value, task, np.array([0.5, 0.5])).reward
    for member in range(2):
        alone = weigh(initial_scale(1), value[:, [member]], task[:, [member]], np.array([0.5])).reward
        np.testing.assert_array_equal(both[:, [member]], alone)


@pytest.mark.parametrize(
    ("progress", "fade", "weight"),
    [
        (0.0, 0.5, 1),
        (0.25, 0.5, 1),
        (0.375, 0.5, 0.5),
        (0.5, 0.5, 0),
        (0.9, 0.5, 0),
        (0.9, 0.0, 1),
        (0.75, 1.0, 0.5),
    ],
)
def test_the_bonus_fades(progress, fade, weight):
    assert fading(progress, fade) == pytest.approx(weight)


def test_a_guard_shrinks_while_its_member_is_behind():
    guard = np.array([1.0, 1.0, 0.5, 0.99])
    earned = np.array([79.0, 80.0, 90.0, 90.0])
    np.testing.assert_allclose(guarded(guard, earned, 80.0), [0.9, 1.0, 0.5 / 0.9, 1.0])
    for unknown in ((np.full(4, np.nan), 80.0), (earned, float("nan"))):
        np.testing.assert_array_equal(guarded(guard, *unknown), guard)


def test_the_statistics_describe_the_bonus():
    rollout = random_rollout(0)
    rollout = rollout._replace(reward=np.full(rollout.reward.shape, -2.0))
    value = np.random.default_rng(0).normal(3.0, 1.0, rollout.reward.shape)
    found = bonus_statistics(value, 0.3 * value, rollout)
    assert found["bonus_mean"] == pytest.approx([value.mean()])
    assert found["bonus_std"] == pytest.approx([value.std()])
    assert found["bonus_p99"] == pytest.approx([np.quantile(value, 0.99)])
    assert found["bonus_ratio"] == pytest.approx([0.3 * np.abs(value).mean() / 2])
