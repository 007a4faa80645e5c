"""The mixture over known worlds: Bayes' rule and the worth of a trial, worked out by hand."""

import math

import numpy as np

from polygait.adaptation.mixture import Mixture, after_trial, expected, expected_improvement, uncertainty


def mixture_of(
    weights: list[float], means: list[list[float]], covariance: np.ndarray, noise: float
) -> Mixture:
    mean = np.array(means, np.float64)
    wide = np.broadcast_to(np.asarray(covariance, np.float64), (*mean.shape, mean.shape[1]))
    return Mixture(np.log(weights), mean, wide, np.full(mean.shape, float(noise)))


def single(mean: list[float], covariance: list[list[float]], noise: float) -> Mixture:
    """One hypothesis: an ordinary Gaussian."""
    return mixture_of([1.0], [mean], np.array(covariance), noise)


def test_a_trial_says_something_of_members_that_go_along():
    """Prior variance 4, covariance 2, noise 1: a surprise of 5 moves the first by 4, the second by 2."""
    after = after_trial(single([0, 0], [[4, 2], [2, 4]], 1), 0, 5.0)
    np.testing.assert_allclose(expected(after), [4, 2])
    np.testing.assert_allclose(after.covariance[0], [[4 - 16 / 5, 2 - 8 / 5], [2 - 8 / 5, 4 - 4 / 5]])
    np.testing.assert_allclose(uncertainty(after), np.sqrt([0.8, 3.2]))


def test_the_hypothesis_that_foretold_a_trial_gains():
    """Worlds in which the first member is worth 0 or 4, sure to σ² = 1 with noise: at 4, e⁸ to 1."""
    both = mixture_of([0.5, 0.5], [[0, 7], [4, 1]], np.zeros((2, 2)), 1)
    after = after_trial(both, 0, 4.0)
    share = 1 / (1 + math.exp(-8))
    np.testing.assert_allclose(after.weight, [1 - share, share])
    np.testing.assert_allclose(expected(after)[1], 7 * (1 - share) + share)
    np.testing.assert_allclose(uncertainty(both), [2, 3])


def test_the_order_of_trials_does_not_matter():
    start = mixture_of([0.3, 0.7], [[0, 1, 2], [2, 0, 1]], np.stack([np.eye(3), np.eye(3) + 0.5]), 0.2)
    told = [(0, 1.0), (2, -1.0), (0, 0.5)]
    ways = []
    for order in (told, told[::-1]):
        mixture = start
        for member, value in order:
            mixture = after_trial(mixture, member, value)
        ways.append(mixture)
    for ours, theirs in zip(*ways, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_the_expected_improvement_of_a_gaussian():
    """σ = 2, no noise, nothing ahead: 2/√(2π). One σ behind: 2·(φ(1) − Φ(−1)) = 2 · 0.08332."""
    found = expected_improvement(single([1, -1], [[4, 0], [0, 4]], 1e-9), 1.0)
    np.testing.assert_allclose(found, [2 / math.sqrt(2 * math.pi), 2 * 0.0833154706], rtol=1e-6)


def test_noise_makes_a_trial_worth_less():
    """Variance 4 and noise 12: a trial moves the mean by √(16/16) = 1."""
    found = expected_improvement(single([0, 0], [[4, 0], [0, 4]], 12), 0.0)
    np.testing.assert_allclose(found, [1 / math.sqrt(2 * math.pi)] * 2)


def test_a_member_of_which_all_is_known_is_not_tried_again():
    known = single([5, 4], [[4, 0], [0, 4]], 0.01)
    for _ in range(3):
        known = after_trial(known, 0, 5.0)
    again, other = expected_improvement(known, float(expected(known)[0]))
    assert again < 0.05 < other


def test_hypotheses_improve_by_their_weight():
    """A member that is worth 0 or, with a chance of a quarter, 8 for sure, improves on 4 by 1."""
    found = expected_improvement(mixture_of([0.75, 0.25], [[0], [8]], np.zeros((1, 1)), 1), 4.0)
    np.testing.assert_allclose(found, [1.0], atol=1e-5)
