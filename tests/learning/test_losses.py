"""The losses computed by hand."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from polygait.config import PPOConfig
from polygait.learning.losses import PolicySamples, policy_loss, value_loss
from polygait.learning.networks import Critic, Policy

CONFIG = PPOConfig(clip_ratio=0.25)
RATIOS = np.array([2.0, 1.1, 0.5, 0.5])
ADVANTAGES = np.array([3.0, 1.0, -1.0, 1.0])


def samples(policy: Policy) -> PolicySamples:
    """Four samples whose probability ratios are RATIOS."""
    observation = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)), jnp.float32)
    action = jnp.zeros((4, 2))
    old = policy.log_probability(observation, action) - jnp.log(jnp.asarray(RATIOS, jnp.float32))
    return PolicySamples(observation, action, old, jnp.asarray(ADVANTAGES, jnp.float32))


def test_clipped_surrogate_by_hand():
    policy = Policy(jax.random.key(0), (3, 2), CONFIG)
    loss, measures = policy_loss(policy, samples(policy), CONFIG)
    advantage = (ADVANTAGES - 1) / (np.sqrt(2) + 1e-5)
    # Gains count up to 1.25; a loss at ratio 0.5 counts as at 0.75, the lower of the two.
    used = np.array([1.25, 1.1, 0.75, 0.5])
    assert loss == pytest.approx(-np.mean(used * advantage), rel=1e-5)
    assert measures.loss == loss
    assert measures.clip_fraction == 0.75
    assert measures.approximate_kl == pytest.approx(np.mean(RATIOS - 1 - np.log(RATIOS)), rel=1e-4)


def test_where_the_clip_acts_the_gradient_is_zero():
    policy = Policy(jax.random.key(0), (3, 2), CONFIG)
    first_up = samples(policy)._replace(advantage=jnp.array([1.0, 0.0, 0.0, 0.0]))
    gradient = jax.grad(lambda old: policy_loss(policy, first_up._replace(log_probability=old), CONFIG)[0])
    slopes = np.asarray(gradient(first_up.log_probability))
    assert slopes[0] == 0
    assert slopes[1] != 0


def test_entropy_is_rewarded():
    config = replace(CONFIG, learn_std=True, entropy_coefficient=0.3)
    policy = Policy(jax.random.key(0), (3, 2), config)
    loss = policy_loss(policy, samples(policy), config)[0]
    without = policy_loss(policy, samples(policy), replace(config, entropy_coefficient=0.0))[0]
    assert loss == pytest.approx(float(without - 0.3 * policy.entropy()), rel=1e-5)


def test_value_loss_by_hand():
    critic = Critic(jax.random.key(0), 3, CONFIG)
    observation = jnp.zeros((2, 3))
    loss, error = value_loss(
        critic, observation, jnp.array([1.0, 3.0]), replace(CONFIG, value_coefficient=0.5)
    )
    assert error == pytest.approx(5.0)
    assert loss == pytest.approx(2.5)
