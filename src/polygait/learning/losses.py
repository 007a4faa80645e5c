"""What PPO makes small: the clipped surrogate of a policy and the squared error of a critic."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from polygait.config import PPOConfig
from polygait.learning.networks import Critic, Policy

ADVANTAGE_EPSILON = 1e-5
"""Added to the standard deviation of a minibatch's advantages."""


class PolicySamples(NamedTuple):
    """What the clipped surrogate reads."""

    observation: Float[Array, "sample state"]
    action: Float[Array, "sample action"]
    log_probability: Float[Array, " sample"]
    """log π(a|s) of the policy that acted."""
    advantage: Float[Array, " sample"]


class PolicyMeasures(NamedTuple):
    """What a step of the policy tells about itself."""

    loss: Float[Array, "*step"]
    approximate_kl: Float[Array, "*step"]
    clip_fraction: Float[Array, "*step"]


def policy_loss(
    policy: Policy, samples: PolicySamples, config: PPOConfig
) -> tuple[Float[Array, ""], PolicyMeasures]:
    """−E[min(ρ·A, clip(ρ, 1 − ε, 1 + ε)·A)] − c·H(π), with ρ = π(a|s)/π_old(a|s) (PPO, Eq. 7 and 9).

    The advantages A have mean 0 and standard deviation 1 within the minibatch.
    """
    advantage = samples.advantage - samples.advantage.mean()
    advantage = advantage / (samples.advantage.std() + ADVANTAGE_EPSILON)
    log_ratio = policy.log_probability(samples.observation, samples.action) - samples.log_probability
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - config.clip_ratio, 1 + config.clip_ratio)
    surrogate = jnp.minimum(ratio * advantage, clipped * advantage).mean()
    loss = -surrogate - config.entropy_coefficient * policy.entropy()
    measures = PolicyMeasures(
        loss=loss,
        approximate_kl=jnp.mean(ratio - 1 - log_ratio),
        clip_fraction=jnp.mean(jnp.abs(ratio - 1) > config.clip_ratio),
    )
    return loss, measures


def value_loss(
    critic: Critic,
    observation: Float[Array, "sample state"],
    target: Float[Array, " sample"],
    config: PPOConfig,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """c·E[(V(s) − target)²], and the same without the coefficient c."""
    error = jnp.mean((critic(observation) - target) ** 2)
    return config.value_coefficient * error, error
