"""A policy whose actions cannot leave the box: a Gaussian bent by tanh, as Soft Actor-Critic needs it."""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, Float32, Key

from polygait.learning.acting import TRAINING_TILE, NumpyNetwork
from polygait.learning.networks import Mlp

LOG_STD_RANGE = (-20.0, 2.0)
"""Where the logarithm of the standard deviation is cut, as in the original."""


class Sample(NamedTuple):
    """Actions drawn from a policy, and how likely they were."""

    action: Float[Array, "*batch action"]
    log_probability: Float[Array, "*batch"]


class SquashedPolicy(eqx.Module):
    """a = tanh(u), u ~ N(μ(s), σ(s)²): both moments depend on the state."""

    network: Mlp

    def __init__(self, key: Key[Array, ""], sizes: tuple[int, int], hidden: tuple[int, ...]) -> None:
        """A fresh policy for `sizes` = (observation size, action size)."""
        observation_size, action_size = sizes
        self.network = Mlp(key, (observation_size, *hidden, 2 * action_size), "relu")

    def sample(
        self, observation: Float[Array, "*batch state"], noise: Float[Array, "*batch action"]
    ) -> Sample:
        """Actions from standard normal noise ε, so that gradients pass through them.

        log π(a|s) = Σ_d [ −ε²/2 − log σ − log(2π)/2 − log(1 − tanh²(u)) ] (SAC, Appendix C), with
        log(1 − tanh²(u)) = 2·(log 2 − u − softplus(−2u)), which does not lose its digits for large u.
        """
        mean, log_std = jnp.split(self.network(observation), 2, axis=-1)
        log_std = jnp.clip(log_std, *LOG_STD_RANGE)
        before = mean + jnp.exp(log_std) * noise
        bend = 2 * (math.log(2) - before - jax.nn.softplus(-2 * before))
        per_dimension = 0.5 * noise**2 + log_std + 0.5 * math.log(2 * math.pi) + bend
        return Sample(jnp.tanh(before), -per_dimension.sum(axis=-1))


class NumpySquashed:
    """The same policy in NumPy, for the physics loop: a jitted call there costs ten times as much."""

    def __init__(self, policy: SquashedPolicy, num_envs: int, tile: int = TRAINING_TILE) -> None:
        """Copy a stacked policy (leading member axis) for so many environments of each member."""
        self._network = NumpyNetwork(policy.network, num_envs, tile)

    def act(
        self,
        observation: Float32[np.ndarray, "member env state"],
        noise: Float32[np.ndarray, "member env action"],
        out: Float32[np.ndarray, "member env action"],
    ) -> None:
        """Write tanh(μ(s) + σ(s)·noise) into `out`."""
        mean, log_std = self._moments(observation)
        out[:] = np.tanh(mean + np.exp(np.clip(log_std, *LOG_STD_RANGE)) * noise)

    def mean(
        self, observation: Float32[np.ndarray, "member env state"]
    ) -> Float32[np.ndarray, "member env action"]:
        """The action tanh(μ(s)), taken when the policy is tested."""
        return np.tanh(self._moments(observation)[0])

    def _moments(self, observation: np.ndarray) -> list[np.ndarray]:
        """The mean μ, and log σ before its cut."""
        self._network.inputs[:] = observation
        return np.split(self._network.outputs(), 2, axis=-1)


class EvenActor:
    """Draws actions evenly from the box: erf(noise/√2) of normal noise is uniform in [−1, 1]."""

    def __init__(self, action_size: int) -> None:
        self._action_size = action_size

    def act(self, observation: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None:
        """Write actions that depend on the noise alone into `out`."""
        scipy.special.erf(noise / math.sqrt(2), out=out)

    def mean(self, observation: np.ndarray) -> np.ndarray:
        """The middle of the box."""
        return np.zeros((*observation.shape[:-1], self._action_size), np.float32)
