"""How much of an action a filtered state pair reveals: fit T(a | f(s), f(s′)), ask it about fresh data."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Shaped

from polygait.diversity.inverse_dynamics import (
    InverseDynamics,
    ModelConfig,
    Transitions,
    fit_model,
    initial_optimizer,
    normalized,
)
from polygait.learning.keys import named_key
from polygait.learning.normalizer import initial_moments, merge_moments
from polygait.learning.shuffling import order_seeds, sample_order
from polygait.tasks.state import StateFilter

PATIENCE = 8
"""Epochs without improvement after which a model has learned what it can."""


class RawTransitions(NamedTuple):
    """Whole states, what was done in them, and where it led, one row per step."""

    state: Float[np.ndarray, "sample state"]
    action: Float[np.ndarray, "sample action"]
    """As the robot received it, within [−1, 1]."""
    next_state: Float[np.ndarray, "sample state"]


class Inference(NamedTuple):
    """What a model knows about the actions of some experience."""

    variance: Float[np.ndarray, " action"]
    """Mean over transitions of the model's own variance."""
    error: Float[np.ndarray, " action"]
    """Mean squared distance of the action from the model's mean: the variance, if the model is honest."""
    log_likelihood: float
    """Mean log T(a | f(s), f(s′)) in nats, summed over action dimensions."""


def filtered(experience: RawTransitions, state_filter: StateFilter) -> Transitions:
    """Experience as a model behind a filter sees it."""
    states = (state_filter(state) for state in (experience.state, experience.next_state))
    return Transitions(*(jnp.asarray(array, jnp.float32) for array in (*states, experience.action)))


def fit(
    seen: RawTransitions,
    checked: RawTransitions,
    state_filter: StateFilter,
    config: ModelConfig,
    key: Key[Array, ""],
) -> InverseDynamics:
    """A model of the actions behind a filter, by maximum likelihood on what was seen.

    It learns for at most the configured epochs and stops when `checked`, which it does not learn from, has
    not become more likely for PATIENCE of them; the best model stays. So neither few data nor many make it
    sure of what it does not know.
    """
    model = InverseDynamics(
        named_key(key, "inverse dynamics"), state_filter.size, seen.action.shape[1], config
    )
    if config.normalize_inputs:
        states = state_filter(seen.state)[:, None, None]
        model = normalized(model, merge_moments(initial_moments(1, state_filter.size), states))
    optimizer = initial_optimizer(model, config)
    given, asked = filtered(seen, state_filter), filtered(checked, state_filter)
    best, most, best_epoch = model, -math.inf, 0
    for epoch in range(config.epochs):
        seed = order_seeds(key[None], "sample order", epoch)[0]
        order = jnp.asarray(sample_order(seed, len(seen.action), 1, config.minibatch_size))
        model, optimizer, _ = fit_model(model, optimizer, given, order, config)
        likelihood = infer(model, asked).log_likelihood
        if likelihood > most:
            best, most, best_epoch = model, likelihood, epoch
        elif epoch - best_epoch >= PATIENCE:
            break
    return best


def marginal(seen: RawTransitions, fresh: RawTransitions) -> Inference:
    """What can be said about the actions of `fresh` without any state: one Gaussian, fitted to `seen`."""
    mean, variance = seen.action.mean(axis=0), seen.action.var(axis=0)
    error = np.square(fresh.action - mean)
    surprise = 0.5 * (error / variance + np.log(2 * np.pi * variance))
    return Inference(variance, error.mean(axis=0), -float(surprise.sum(axis=1).mean()))


def infer(model: InverseDynamics, transitions: Transitions) -> Inference:
    """What a model says about transitions, against what was done."""
    variance, error, log_likelihood = map(np.asarray, _infer(model, transitions))
    return Inference(variance, error, float(log_likelihood))


@jax.jit
def _infer(
    model: InverseDynamics, transitions: Transitions
) -> tuple[Shaped[Array, " action"], Shaped[Array, " action"], Float[Array, ""]]:
    mean, log_std = model.mean_and_log_std(transitions)
    error = ((transitions.action - mean) ** 2).mean(axis=0)
    likelihood = -model.negative_log_likelihood(transitions).sum(axis=-1).mean()
    return jnp.exp(2 * log_std).mean(axis=0), error, likelihood
