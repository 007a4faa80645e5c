"""Networks against arithmetic done by hand."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from polygait.config import PPOConfig
from polygait.learning.networks import Critic, Mlp, Policy

KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("activation", "function"), [("tanh", np.tanh), ("relu", lambda x: np.maximum(x, 0))]
)
def test_a_perceptron_is_layers_and_activations(activation, function):
    network = Mlp(KEY, (3, 5, 2), activation)
    inputs = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    first, last = map(np.asarray, network.weights)
    expected = function(inputs @ first) @ last
    np.testing.assert_allclose(network(jnp.asarray(inputs)), expected, rtol=1e-5, atol=1e-6)


def test_weights_start_orthogonal_and_biases_at_zero():
    network = Mlp(KEY, (8, 8, 3))
    first, last = map(np.asarray, network.weights)
    np.testing.assert_allclose(first.T @ first, np.eye(8), atol=1e-5)
    np.testing.assert_allclose(last.T @ last, np.eye(3), atol=1e-5)
    assert all(not np.any(bias) for bias in network.biases)


def test_first_weights_have_the_gains_asked_for():
    config = PPOConfig(
        hidden_init_scale=1.5, policy_init_scale=0.01, policy_hidden=(8, 8), critic_hidden=(8,)
    )
    *hidden, last = map(np.asarray, Policy(KEY, (8, 3), config).network.weights)
    for weight in hidden:
        np.testing.assert_allclose(weight.T @ weight, 1.5**2 * np.eye(8), atol=1e-5)
    np.testing.assert_allclose(last.T @ last, 0.01**2 * np.eye(3), atol=1e-8)
    first, value = map(np.asarray, Critic(KEY, 8, config).network.weights)
    np.testing.assert_allclose(first.T @ first, 1.5**2 * np.eye(8), atol=1e-5)
    np.testing.assert_allclose(value.T @ value, np.eye(1), atol=1e-5)


def test_log_probability_and_entropy_by_hand():
    policy = Policy(KEY, (3, 2), PPOConfig(action_std=0.5))
    observation = jnp.zeros((1, 3))
    np.testing.assert_allclose(policy.mean(observation), np.zeros((1, 2)))
    action = jnp.array([[0.5, -1.5]])
    # One and three standard deviations away; −1.5 lies outside the action box and still counts.
    by_hand = -(1 + 9) / 2 - 2 * math.log(0.5) - math.log(2 * math.pi)
    np.testing.assert_allclose(policy.log_probability(observation, action), [by_hand], rtol=1e-6)
    np.testing.assert_allclose(policy.entropy(), 2 * 0.5 * math.log(2 * math.pi * math.e * 0.25), rtol=1e-6)


def test_a_fixed_std_has_no_gradient():
    policy = Policy(KEY, (3, 2), PPOConfig())
    gradient = jax.grad(lambda policy: policy.entropy())(policy)
    assert not np.any(gradient.std_parameter)


def test_a_learned_std_starts_where_told_and_stays_in_bounds():
    config = PPOConfig(learn_std=True, action_std=0.3, std_bounds=(0.1, 0.9))
    policy = Policy(KEY, (3, 2), config)
    np.testing.assert_allclose(policy.std(), [0.3, 0.3], rtol=1e-5)
    for parameter, bound in ((-1e9, 0.1), (1e9, 0.9)):
        extreme = eqx.tree_at(lambda policy: policy.std_parameter, policy, jnp.full(2, parameter))
        np.testing.assert_allclose(extreme.std(), [bound, bound], rtol=1e-5)


def test_a_critic_gives_one_number_per_observation():
    assert Critic(KEY, 3, PPOConfig())(jnp.zeros((4, 5, 3))).shape == (4, 5)
