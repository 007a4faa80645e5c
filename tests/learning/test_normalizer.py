"""Running statistics against NumPy on everything at once."""

import numpy as np

from polygait.learning.normalizer import (
    CLIP,
    at_least,
    initial_moments,
    initial_normalizer,
    merge_moments,
    normalize,
    scale_reward,
    update_reward_scale,
)


def test_merged_moments_are_those_of_all_values():
    random = np.random.default_rng(0)
    # Far from zero: sums of squares would lose these variances.
    parts = [1e6 + random.normal(size=(length, 2, 3, 4)) for length in (5, 1, 17)]
    moments = initial_moments(2, 4)
    for part in parts:
        moments = merge_moments(moments, part)
    everything = np.concatenate(parts)
    np.testing.assert_allclose(moments.num_values, [23 * 3, 23 * 3])
    np.testing.assert_allclose(moments.mean, everything.mean(axis=(0, 2)), rtol=1e-14)
    np.testing.assert_allclose(moments.variance, everything.var(axis=(0, 2)), rtol=1e-9)


def test_members_keep_their_own_statistics():
    values = np.random.default_rng(0).normal(size=(6, 2, 3, 4))
    both = merge_moments(initial_moments(2, 4), values)
    second = merge_moments(initial_moments(1, 4), values[:, 1:])
    for ours, theirs in zip(both, second, strict=True):
        np.testing.assert_array_equal(ours[1:], theirs)


def test_what_hardly_moves_is_credited_with_a_spread():
    values = np.array([[-2.0, -0.1], [2.0, 0.1]]).reshape(2, 1, 1, 2)
    moments = at_least(merge_moments(initial_moments(1, 2), values), 0.5)
    np.testing.assert_allclose(moments.variance, [[4.0, 0.25]])
    seen = normalize(moments, np.array([[[2.0, 0.1]]], np.float32))
    np.testing.assert_allclose(seen, [[[1.0, 0.2]]], rtol=1e-6)


def test_nothing_seen_changes_nothing():
    seen = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    np.testing.assert_array_equal(normalize(initial_moments(2, 4), seen), seen)
    reward = np.ones((5, 2, 3))
    np.testing.assert_array_equal(scale_reward(initial_normalizer(2, 3, 4).reward, reward), reward)


def test_normalised_observations_are_centred_scaled_and_cut():
    values = np.random.default_rng(0).normal(3, 2, size=(500, 1, 4, 2)).astype(np.float32)
    values[..., 1] = 8
    moments = merge_moments(initial_moments(1, 2), values)
    shown = normalize(moments, values)
    np.testing.assert_allclose(shown[..., 0].mean(), 0, atol=1e-5)
    np.testing.assert_allclose(shown[..., 0].std(), 1, atol=1e-5)
    np.testing.assert_array_equal(shown[..., 1], 0)
    assert normalize(moments, np.full((1, 4, 2), 1e6, np.float32)).max() == CLIP


def test_discounted_returns_by_hand():
    scale = initial_normalizer(1, 1, 1).reward
    reward = np.array([1.0, 2.0, 4.0, 1.0]).reshape(4, 1, 1)
    ended = np.array([False, False, True, False]).reshape(4, 1, 1)
    first = update_reward_scale(scale, reward, ended, 0.5)
    returns = [1, 2.5, 5.25, 1]
    np.testing.assert_allclose(first.moments.mean, [np.mean(returns)])
    np.testing.assert_allclose(first.moments.variance, [np.var(returns)])
    np.testing.assert_allclose(first.discounted_return, [[1.0]])
    second = update_reward_scale(first, reward[:1], ended[:1], 0.5)
    returns.append(1.5)
    np.testing.assert_allclose(second.moments.variance, [np.var(returns)])
    np.testing.assert_allclose(scale_reward(second, reward), reward / np.std(returns))
    np.testing.assert_allclose(first.discounted_return, [[1.0]])


def test_a_return_that_never_varies_leaves_rewards_alone():
    reward, ended = np.full((4, 1, 2), 3.0), np.ones((4, 1, 2), bool)
    scale = update_reward_scale(initial_normalizer(1, 2, 1).reward, reward, ended, 0.9)
    np.testing.assert_array_equal(scale_reward(scale, reward), reward)
