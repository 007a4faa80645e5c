"""The law of total variance, by hand and on random data."""

import numpy as np
import pytest

from polygait.diversity.variance import between_shares


def test_by_hand_with_members_that_count_alike():
    """Member 0: 0 and 2 (mean 1, variance 1); member 1: 5 five times (mean 5, variance 0). Between: 4."""
    values = np.array([[0.0], [2.0], *[[5.0]] * 5])
    found = between_shares(values, np.array([0, 0, 1, 1, 1, 1, 1]))
    np.testing.assert_allclose(found, [4 / (4 + 0.5)])


def test_the_ends():
    member = np.repeat([0, 1, 2], 4)
    chance = np.random.default_rng(0)
    same = np.tile(chance.normal(size=4), 3)
    only_the_member = member.astype(float)
    shares = between_shares(np.stack([same, only_the_member, np.full(12, 7.0)], axis=1), member)
    np.testing.assert_allclose(shares, [0, 1, np.nan], atol=1e-12)


def test_scale_and_offset_do_not_matter():
    chance = np.random.default_rng(1)
    member = chance.integers(0, 4, 200)
    values = chance.normal(size=(200, 3)) + member[:, None] * [0, 0.5, 3]
    shares = between_shares(values, member)
    np.testing.assert_allclose(between_shares(values * [10, -2, 0.1] + [5, 0, 1], member), shares, rtol=1e-6)
    assert shares[0] < 0.1 < shares[1] < shares[2] < 1


def test_shares_are_those_of_the_total_variance():
    chance = np.random.default_rng(2)
    member = np.repeat(np.arange(5), 300)
    values = chance.normal(size=(1500, 1)) * (1 + member[:, None]) + np.sin(member)[:, None]
    groups = values.reshape(5, 300)
    assert between_shares(values, member)[0] == pytest.approx(groups.mean(axis=1).var() / values.var())
