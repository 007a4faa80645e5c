"""The networks of one member; a cohort holds the same modules with a leading member axis."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from polygait.config import PPOConfig
from polygait.learning.keys import named_key

Activation = Literal["tanh", "relu"]


class Mlp(eqx.Module):
    """A multilayer perceptron: x ← activation(x·W + b) through the hidden layers, then x·W + b.

    Weights start orthogonal, with gain 1 as in the paper's authors' code. Biases start at zero; theirs are
    PyTorch's, drawn evenly from ±1/√inputs.
    """

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        key: Key[Array, ""],
        widths: tuple[int, ...],
        activation: Activation = "tanh",
        gains: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        """Layers between `widths`, inputs first, outputs last; `gains` of hidden layers and of the last."""
        shapes = list(itertools.pairwise(widths))
        hidden_gain, last_gain = gains
        scales = [*[hidden_gain] * (len(shapes) - 1), last_gain]
        self.weights = tuple(
            jax.nn.initializers.orthogonal(scale)(named_key(key, "layer", index), shape, jnp.float32)
            for index, (shape, scale) in enumerate(zip(shapes, scales, strict=True))
        )
        self.biases = tuple(jnp.zeros(shape[1], jnp.float32) for shape in shapes)
        self.activation = activation

    def __call__(self, inputs: Float[Array, "*batch input"]) -> Float[Array, "*batch output"]:
        """The outputs for any number of leading axes."""
        activate = jnp.tanh if self.activation == "tanh" else jax.nn.relu
        values = inputs
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = activate(values @ weight + bias)
        return values @ self.weights[-1] + self.biases[-1]


class Policy(eqx.Module):
    """π(a|s) = N(a; μ(s), σ²) with μ(s) = tanh(mlp(s)) and σ the same in every state.

    σ is fixed, or learned as σ = low + (high − low)·sigmoid(parameter): bounded, because an entropy
    bonus on a free log σ drives it without limit. Actions are not clipped here: the density is that
    of the action before the environment clips it.
    """

    network: Mlp
    std_parameter: Float[Array, " action"]
    learn_std: bool = eqx.field(static=True)
    std_bounds: tuple[float, float] = eqx.field(static=True)

    def __init__(self, key: Key[Array, ""], sizes: tuple[int, int], config: PPOConfig) -> None:
        """A fresh policy for `sizes` = (observation size, action size)."""
        observation_size, action_size = sizes
        widths = (observation_size, *config.policy_hidden, action_size)
        self.network = Mlp(key, widths, gains=(config.hidden_init_scale, config.policy_init_scale))
        self.learn_std = config.learn_std
        self.std_bounds = config.std_bounds
        start = config.action_std
        if config.learn_std:
            low, high = config.std_bounds
            start = math.log((start - low) / (high - start))
        self.std_parameter = jnp.full(action_size, start, jnp.float32)

    def mean(self, observation: Float[Array, "*batch state"]) -> Float[Array, "*batch action"]:
        """μ(s), the action taken when the policy is tested."""
        return jnp.tanh(self.network(observation))

    def std(self) -> Float[Array, "*member action"]:
        """σ of every action dimension."""
        if not self.learn_std:
            return jax.lax.stop_gradient(jnp.asarray(self.std_parameter))
        low, high = self.std_bounds
        return low + (high - low) * jax.nn.sigmoid(self.std_parameter)

    def exploring(self, std: float) -> Policy:
        """The same policy with another standard deviation, where it is not learned."""
        return eqx.tree_at(lambda policy: policy.std_parameter, self, jnp.full_like(self.std_parameter, std))

    def log_probability(
        self, observation: Float[Array, "*batch state"], action: Float[Array, "*batch action"]
    ) -> Float[Array, "*batch"]:
        """The log-likelihood of an unclipped action.

        log π(a|s) = −Σ_d [ (a_d − μ_d)²/(2σ_d²) + log σ_d + log(2π)/2 ].
        """
        std = self.std()
        deviation = (action - self.mean(observation)) / std
        return -jnp.sum(0.5 * deviation**2 + jnp.log(std) + 0.5 * math.log(2 * math.pi), axis=-1)

    def entropy(self) -> Float[Array, ""]:
        """H(π) = Σ_d [ log σ_d + (1 + log 2π)/2 ], the same in every state."""
        return jnp.sum(jnp.log(self.std()) + 0.5 * (1 + math.log(2 * math.pi)))


class Critic(eqx.Module):
    """V(s): what the member can still expect from a state."""

    network: Mlp

    def __init__(self, key: Key[Array, ""], observation_size: int, config: PPOConfig) -> None:
        """A fresh critic."""
        widths = (observation_size, *config.critic_hidden, 1)
        self.network = Mlp(key, widths, gains=(config.hidden_init_scale, 1.0))

    def __call__(self, observation: Float[Array, "*batch state"]) -> Float[Array, "*batch"]:
        """The value of every observation."""
        return self.network(observation)[..., 0]
