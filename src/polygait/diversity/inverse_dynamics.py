"""T_φ(a | f(s), f(s′)): which action a member took, read from a filtered state and its successor."""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from polygait.config import DirConfig
from polygait.learning.networks import Mlp

LOG_STD_RANGE = (-10.0, 0.5)
"""Softly, the logarithm of the standard deviation stays within these bounds."""


class Transitions(NamedTuple):
    """Filtered states, their successors, and the actions between them."""

    state: Float[Array, "*batch kept"]
    next_state: Float[Array, "*batch kept"]
    action: Float[Array, "*batch action"]


class InverseDynamics(eqx.Module):
    """A Gaussian over actions with mean tanh(·) and a standard deviation of its own per transition.

    `center` and `factor` normalise both states; they are statistics, not parameters. With a filter that
    keeps nothing the input has no width, and the model is the marginal distribution of actions.
    """

    network: Mlp
    center: Float[Array, " kept"]
    factor: Float[Array, " kept"]

    def __init__(self, key: Key[Array, ""], kept_size: int, action_size: int, config: DirConfig) -> None:
        """A fresh model for a filter that keeps `kept_size` numbers."""
        self.network = Mlp(key, (2 * kept_size, *config.hidden, 2 * action_size), "relu")
        self.center = jnp.zeros(kept_size)
        self.factor = jnp.ones(kept_size)

    def mean_and_log_std(
        self, transitions: Transitions
    ) -> tuple[Float[Array, "*batch action"], Float[Array, "*batch action"]]:
        """The moments of the action between two states."""
        center, factor = jax.lax.stop_gradient((self.center, self.factor))
        pair = [(state - center) * factor for state in (transitions.state, transitions.next_state)]
        mean, log_std = jnp.split(self.network(jnp.concatenate(pair, axis=-1)), 2, axis=-1)
        low, high = LOG_STD_RANGE
        log_std = high - jax.nn.softplus(high - log_std)
        return jnp.tanh(mean), low + jax.nn.softplus(log_std - low)

    def negative_log_likelihood(
        self, transitions: Transitions, std_floor: float = 0.0
    ) -> Float[Array, "*batch action"]:
        """−log T_φ(a_d | f(s), f(s′)) for every action dimension d.

        = (a_d − μ_d)²/(2σ_d²) + log σ_d + log(2π)/2, with σ_d no smaller than `std_floor`.
        """
        mean, log_std = self.mean_and_log_std(transitions)
        if std_floor > 0:
            log_std = jnp.maximum(log_std, math.log(std_floor))
        deviation = (transitions.action - mean) * jnp.exp(-log_std)
        return 0.5 * deviation**2 + log_std + 0.5 * math.log(2 * math.pi)
