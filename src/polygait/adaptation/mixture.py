"""A mixture of Gaussians over what every member is worth in a world that nobody has seen before.

Every world that is known is a hypothesis: the new one is like it, but not quite. Beside them stands a broad
Gaussian, the hypothesis that the new world is like none of them. A trial moves the weights (which hypothesis
foretold it?) and, inside every hypothesis, the members that do well and badly together with the one tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

_TINY = 1e-12


class Mixture(NamedTuple):
    """Weighted Gaussians over the members' values."""

    log_weight: Float[np.ndarray, " hypothesis"]
    mean: Float[np.ndarray, "hypothesis member"]
    covariance: Float[np.ndarray, "hypothesis member member"]
    noise: Float[np.ndarray, "hypothesis member"]
    """Variance of a single trial about a member's value."""

    @property
    def weight(self) -> Float[np.ndarray, " hypothesis"]:
        """How probable each hypothesis is."""
        return np.exp(self.log_weight)

    @property
    def variance(self) -> Float[np.ndarray, "hypothesis member"]:
        """How unsure each hypothesis is of every member."""
        return np.diagonal(self.covariance, axis1=1, axis2=2)


def expected(mixture: Mixture) -> Float[np.ndarray, " member"]:
    """What every member is worth on average."""
    return mixture.weight @ mixture.mean


def uncertainty(mixture: Mixture) -> Float[np.ndarray, " member"]:
    """The standard deviation of what every member is worth: inside hypotheses and between them."""
    between = np.square(mixture.mean - expected(mixture))
    return np.sqrt(mixture.weight @ (mixture.variance + between))


def after_trial(mixture: Mixture, member: int, value: float) -> Mixture:
    """Bayes' rule for one trial of one member."""
    spread = mixture.covariance[:, member, member] + mixture.noise[:, member]
    surprise = value - mixture.mean[:, member]
    along = mixture.covariance[:, member]
    log_weight = mixture.log_weight - 0.5 * (np.square(surprise) / spread + np.log(spread))
    return mixture._replace(
        log_weight=log_weight - np.logaddexp.reduce(log_weight),
        mean=mixture.mean + (surprise / spread)[:, None] * along,
        covariance=mixture.covariance - along[:, :, None] * along[:, None, :] / spread[:, None, None],
    )


def expected_improvement(mixture: Mixture, best: float) -> Float[np.ndarray, " member"]:
    """By how much one more trial of each member is expected to raise what is known to be reached.

    Inside a hypothesis a trial moves a member's mean by a Gaussian with variance v²/(v + noise), where v is
    the member's own: much for one that was never tried, little for one of which all is known.
    """
    move = np.sqrt(np.maximum(np.square(mixture.variance) / (mixture.variance + mixture.noise), _TINY))
    ahead = mixture.mean - best
    density = np.exp(-0.5 * np.square(ahead / move)) / np.sqrt(2 * np.pi)
    return mixture.weight @ (ahead * ndtr(ahead / move) + move * density)
