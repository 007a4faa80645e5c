"""T_φ(a | f(s), f(s′)): which action a member took, read from a filtered state and its successor."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key

from polygait.config.learners import WIDTHS, possible_widths
from polygait.learning.networks import Mlp
from polygait.learning.normalizer import Moments, center_and_factor
from polygait.learning.padding import Order, over_minibatches

LOG_STD_RANGE = (-10.0, 0.5)
"""Softly, the logarithm of the standard deviation stays within these bounds."""


@dataclass(frozen=True)
class ModelConfig:
    """How an inverse-dynamics model is built and fitted."""

    hidden: tuple[int, ...] = (128, 128)
    """Widths of the inverse-dynamics model's hidden layers."""
    learning_rate: float = 3e-4
    """Step size of its Adam."""
    weight_decay: float = 0.0
    """Factor of the weights added to their gradient."""
    max_gradient_norm: float = 0.0
    """Longest gradient, before the weights are added to it; longer ones are shortened to it, and 0 leaves all
    of them alone."""
    epochs: int = 4
    """How many times each transition of a rollout is used."""
    minibatch_size: int = 256
    """Transitions in one gradient step."""
    normalize_inputs: bool = True
    """Show the model filtered states with running mean 0 and variance 1."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = [
            f"dir.{name} must be finite and above 0, got {getattr(self, name)}."
            for name in ("learning_rate", "epochs", "minibatch_size")
            if not 0 < getattr(self, name) < math.inf
        ]
        found += [
            f"dir.{name} must be finite and not negative, got {getattr(self, name)}."
            for name in ("weight_decay", "max_gradient_norm")
            if not 0 <= getattr(self, name) < math.inf
        ]
        if not possible_widths(self.hidden):
            found.append(f"dir.hidden must {WIDTHS}, got {self.hidden}.")
        return found

    def widths(self, kept_size: int, action_size: int) -> tuple[int, ...]:
        """The layers of a model behind a filter that keeps so many numbers."""
        return (2 * kept_size, *self.hidden, 2 * action_size)


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

    def __init__(self, key: Key[Array, ""], kept_size: int, action_size: int, config: ModelConfig) -> None:
        """A fresh model for a filter that keeps `kept_size` numbers."""
        self.network = Mlp(key, config.widths(kept_size, action_size), "relu")
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


def normalized(model: InverseDynamics, moments: Moments) -> InverseDynamics:
    """The model with the statistics of its (one) member's filtered states."""
    center, factor = center_and_factor(moments)
    return _with_statistics(model, (jnp.asarray(center[0]), jnp.asarray(factor[0])))


def initial_optimizer(model: InverseDynamics, config: ModelConfig) -> optax.OptState:
    """What fit_model's Adam knows before its first step."""
    return model_optimizer(config).init(_trained(model))


@functools.partial(jax.jit, static_argnames="config")
def fit_model(
    model: InverseDynamics,
    optimizer: optax.OptState,
    transitions: Transitions,
    order: Order,
    config: ModelConfig,
) -> tuple[InverseDynamics, optax.OptState, Float[Array, ""]]:
    """Maximum likelihood over all epochs: L(φ_k) = E[log T_φk], averaged over action dimensions."""
    statistics = (model.center, model.factor)
    descend = model_optimizer(config)

    def loss(network: InverseDynamics, minibatch: Transitions) -> Float[Array, ""]:
        return _with_statistics(network, statistics).negative_log_likelihood(minibatch).mean()

    def step(carry: tuple, ids: Int[Array, " minibatch"]) -> tuple[tuple, Float[Array, ""]]:
        network, state = carry
        minibatch = jax.tree.map(lambda array: array[ids], transitions)
        value, gradient = jax.value_and_grad(loss)(network, minibatch)
        change, state = descend.update(gradient, state, network)
        return (eqx.apply_updates(network, change), state), value

    (network, optimizer), loss_of_all = over_minibatches(step, (_trained(model), optimizer), order)
    return _with_statistics(network, statistics), optimizer, loss_of_all


def model_optimizer(config: ModelConfig) -> optax.GradientTransformation:
    """Adam; weight decay enters the gradient after any clip, as in the authors' optimiser."""
    clip = [optax.clip_by_global_norm(config.max_gradient_norm)] if config.max_gradient_norm else []
    return optax.chain(
        *clip, optax.add_decayed_weights(config.weight_decay), optax.adam(config.learning_rate)
    )


def _trained(model: InverseDynamics) -> Any:
    """The part of a model that gradients move: its network."""
    return _with_statistics(model, (None, None))


def _with_statistics(model: InverseDynamics, statistics: tuple[Any, Any]) -> InverseDynamics:
    return eqx.tree_at(
        lambda inverse: (inverse.center, inverse.factor), model, statistics, is_leaf=lambda leaf: leaf is None
    )
