"""Rollouts made by hand, and DiR's formulas written once more in plain NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from polygait.config import PPOConfig
from polygait.learning import NumpyPolicy, Policy, member_keys
from polygait.learning.rollout import FinishedEpisodes, Position, Rollout
from polygait.tasks.state import StateLayout

LAYOUT = StateLayout(("torso.height", "torso.pitch", "leg.hip", "leg.knee"))


def keys(member: int = 0, seed: int = 0):
    """The key of one member, as a cohort of its own has it."""
    return member_keys(jax.random.key(seed), member, 1)


def rollout_of(observation: np.ndarray, action: np.ndarray, next_observation: np.ndarray) -> Rollout:
    """One member's rollout; arrays have the axes (time, env, feature)."""
    arrays = [np.asarray(one)[:, None] for one in (observation, action, next_observation)]
    return cohort_rollout(*arrays, means=np.zeros((1, arrays[1].shape[-1])))


def cohort_rollout(
    observation: np.ndarray, action: np.ndarray, next_observation: np.ndarray, means: np.ndarray
) -> Rollout:
    """Several members' rollout; arrays have the axes (time, member, env, feature).

    Each member's mean action is the same everywhere: its row of `means`.
    """
    observation, action, next_observation = (
        np.asarray(one, dtype=np.float32) for one in (observation, action, next_observation)
    )
    shape = action.shape[:3]
    nobody = Position(observation[-1], np.zeros(shape[1:]), np.zeros(shape[1:], np.int64), np.array(0))
    return Rollout(
        observation=observation,
        action=action,
        reward=np.ones(shape),
        terminated=np.zeros(shape, bool),
        truncated=np.zeros(shape, bool),
        next_observation=next_observation,
        episodes=FinishedEpisodes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)),
        position=nobody,
        policy=steady_policy(means, observation.shape[-1], shape[2]),
    )


def steady_policy(means: np.ndarray, state: int, envs: int) -> NumpyPolicy:
    """Members that do the same in every state."""
    members, action = means.shape
    shapes = jax.eval_shape(lambda: Policy(jax.random.key(0), (state, action), PPOConfig(policy_hidden=())))
    zeros = jax.tree.map(lambda leaf: jnp.zeros((members, *leaf.shape)), shapes)
    biases = (jnp.asarray(np.arctanh(means), jnp.float32),)
    return NumpyPolicy(eqx.tree_at(lambda one: one.network.biases, zeros, biases), None, envs)


def random_rollout(seed: int, time: int = 6, envs: int = 4, state: int = 4, action: int = 3) -> Rollout:
    """States and actions that mean nothing; some actions lie beyond the action box."""
    chance = np.random.default_rng(seed)
    shape = (time, envs, state)
    observation = chance.normal(size=shape)
    actions = chance.normal(scale=1.2, size=(time, envs, action))
    return rollout_of(observation, actions, observation + chance.normal(size=shape))


def moments_by_hand(tensors: Mapping[str, np.ndarray], state: np.ndarray, next_state: np.ndarray):
    """Mean and standard deviation of a member's model, from the arrays it left."""
    kept = tensors["center"].shape[0]
    values = np.concatenate(
        [(one.astype(np.float64) - tensors["center"]) * tensors["factor"] for one in (state, next_state)],
        axis=-1,
    )
    assert values.shape[-1] == 2 * kept
    layers = sum(name.startswith("network.weights") for name in tensors)
    for layer in range(layers):
        values = values @ tensors[f"network.weights.{layer}"].astype(np.float64)
        values = values + tensors[f"network.biases.{layer}"]
        values = np.maximum(values, 0) if layer < layers - 1 else values
    mean, log_std = np.split(values, 2, axis=-1)
    log_std = 0.5 - np.log1p(np.exp(0.5 - log_std))
    log_std = -10 + np.log1p(np.exp(log_std + 10))
    return np.tanh(mean), np.exp(log_std)


def surprise_by_hand(
    tensors: Mapping[str, np.ndarray], transition: tuple[np.ndarray, np.ndarray, np.ndarray], floor: float
) -> np.ndarray:
    """−log T(a | f(s), f(s′)), summed over action dimensions."""
    state, next_state, action = transition
    mean, std = moments_by_hand(tensors, state, next_state)
    std = np.maximum(std, floor)
    return -norm.logpdf(action, mean, std).sum(axis=-1)
