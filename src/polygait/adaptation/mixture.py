"""A mixture of Gaussians over what every member is worth in a world that nobody has seen before.

Every world that is known is a hypothesis: the new one is like it, but not quite. Beside them stands a broad
Gaussian, the hypothesis that the new world is like none of them. A trial moves the weights (which hypothesis
foretold it?) and, inside every hypothesis, the members that do well and badly together with the one tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()
_NEGLIGIBLE = 1e-6


class Mixture(NamedTuple):
    """Weighted Gaussians over the members' values; hypotheses of one kind share their covariance."""

    log_weight: Float[np.ndarray, " hypothesis"]
    mean: Float[np.ndarray, "hypothesis member"]
    kind: Int[np.ndarray, " hypothesis"]
    covariance: Float[np.ndarray, "kind member member"]
    noise: Float[np.ndarray, " member"]
    """Variance of a single trial about a member's value."""

    @property
    def weight(self) -> Float[np.ndarray, " hypothesis"]:
        """How probable each hypothesis is."""
        return np.exp(self.log_weight)


def expected(mixture: Mixture) -> Float[np.ndarray, " member"]:
    """What every member is worth on average."""
    return mixture.weight @ mixture.mean


def uncertainty(mixture: Mixture) -> Float[np.ndarray, " member"]:
    """The standard deviation of what every member is worth: inside hypotheses and between them."""
    inside = np.diagonal(mixture.covariance, axis1=1, axis2=2)[mixture.kind]
    between = np.square(mixture.mean - expected(mixture))
    return np.sqrt(mixture.weight @ (inside + between))


def after_trial(mixture: Mixture, member: int, value: float) -> Mixture:
    """Bayes' rule for one trial of one member."""
    spread, gain = _prediction(mixture, member)
    surprise = value - mixture.mean[:, member]
    log_weight = mixture.log_weight - 0.5 * (np.square(surprise) / spread + np.log(spread))
    column = mixture.covariance[:, :, member]
    total = mixture.covariance[:, member, member] + mixture.noise[member]
    return mixture._replace(
        log_weight=log_weight - np.logaddexp.reduce(log_weight),
        mean=mixture.mean + surprise[:, None] * gain,
        covariance=mixture.covariance - column[:, :, None] * column[:, None, :] / total[:, None, None],
    )


def trial_worth(mixture: Mixture, member: int) -> float:
    """How much better the choice is expected to be after one more trial of a member (knowledge gradient).

    Every outcome that some hypothesis foretells is thought through: the choice after it, and what that is
    then worth.
    """
    spread, gain = _prediction(mixture, member)
    chance = (mixture.weight[:, None] * _NODE_WEIGHTS).ravel()
    values = (mixture.mean[:, member, None] + np.sqrt(spread)[:, None] * _NODES).ravel()
    likely = chance > _NEGLIGIBLE
    chance, values = chance[likely] / chance[likely].sum(), values[likely]
    surprise = values[:, None] - mixture.mean[:, member]
    log_weight = mixture.log_weight - 0.5 * (np.square(surprise) / spread + np.log(spread))
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    then = weight @ mixture.mean + (weight * surprise) @ gain
    return float(chance @ then.max(axis=1) - expected(mixture).max())


def _prediction(
    mixture: Mixture, member: int
) -> tuple[Float[np.ndarray, " hypothesis"], Float[np.ndarray, "hypothesis member"]]:
    """The variance of a trial's value under every hypothesis, and what a surprise says about all members."""
    total = mixture.covariance[:, member, member] + mixture.noise[member]
    gain = mixture.covariance[:, member] / total[:, None]
    return total[mixture.kind], gain[mixture.kind]
