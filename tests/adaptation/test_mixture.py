"""The mixture over known worlds: Bayes' rule and the worth of a trial, worked out by hand."""

import math

import numpy as np
import pytest

from polygait.adaptation.mixture import Mixture, after_trial, expected, trial_worth, uncertainty


def single(mean: list[float], covariance: list[list[float]], noise: float) -> Mixture:
    """One hypothesis: an ordinary Gaussian."""
    return Mixture(
        np.zeros(1),
        np.array([mean], np.float64),
        np.zeros(1, np.int64),
        np.array([covariance], np.float64),
        np.full(len(mean), float(noise)),
    )


def test_a_trial_says_something_of_members_that_go_along():
    """Prior variance 4, covariance 2, noise 1: a surprise of 5 moves the first by 4, the second by 2."""
    after = after_trial(single([0, 0], [[4, 2], [2, 4]], 1), 0, 5.0)
    np.testing.assert_allclose(expected(after), [4, 2])
    np.testing.assert_allclose(after.covariance[0], [[4 - 16 / 5, 2 - 8 / 5], [2 - 8 / 5, 4 - 4 / 5]])
    np.testing.assert_allclose(uncertainty(after), np.sqrt([0.8, 3.2]))


def test_the_hypothesis_that_foretold_a_trial_gains():
    """Worlds in which the first member is worth 0 or 4, sure to σ² = 1 with noise: at 4, e⁸ to 1."""
    both = Mixture(
        np.log([0.5, 0.5]),
        np.array([[0.0, 7.0], [4.0, 1.0]]),
        np.zeros(2, np.int64),
        np.full((1, 2, 2), 0.0),
        np.ones(2),
    )
    after = after_trial(both, 0, 4.0)
    share = 1 / (1 + math.exp(-8))
    np.testing.assert_allclose(after.weight, [1 - share, share])
    np.testing.assert_allclose(expected(after)[1], 7 * (1 - share) + share)
    np.testing.assert_allclose(uncertainty(both), [2, 3])


def test_the_order_of_trials_does_not_matter():
    start = Mixture(
        np.log([0.3, 0.7]),
        np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]),
        np.array([0, 1]),
        np.stack([np.eye(3), np.eye(3) + 0.5]),
        np.full(3, 0.2),
    )
    told = [(0, 1.0), (2, -1.0), (0, 0.5)]
    ways = []
    for order in (told, told[::-1]):
        mixture = start
        for member, value in order:
            mixture = after_trial(mixture, member, value)
        ways.append(mixture)
    for ours, theirs in zip(*ways, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_trial_is_worth_what_the_choice_gains():
    """Two independent members, both worth 0 with σ = 1, no noise: E max(Z, 0) = 1/√(2π)."""
    mixture = single([0, 0], [[1, 0], [0, 1]], 1e-12)
    assert trial_worth(mixture, 0) == pytest.approx(1 / math.sqrt(2 * math.pi), abs=0.05)
    sure = single([0, 9], [[1, 0], [0, 1]], 1e-12)
    assert trial_worth(sure, 0) == pytest.approx(0, abs=1e-9)  # nothing it can show changes the choice
    noisy = single([0, 0], [[1, 0], [0, 1]], 100.0)
    assert 0 < trial_worth(noisy, 0) < 0.1


def test_a_trial_of_a_hopeless_member_is_worth_something_if_it_tells_worlds_apart():
    """The first member is never best, but its value says which of the others is."""
    mixture = Mixture(
        np.log([0.5, 0.5]),
        np.array([[-5.0, 1.0, 0.0], [-9.0, 0.0, 1.0]]),
        np.zeros(2, np.int64),
        np.full((1, 3, 3), 0.0),
        np.full(3, 0.01),
    )
    assert trial_worth(mixture, 0) == pytest.approx(0.5, abs=1e-3)
