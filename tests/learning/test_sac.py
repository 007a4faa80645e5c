"""Soft Actor-Critic: its losses by hand, its bits, and its options."""

from dataclasses import fields, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from polygait.config import SACConfig
from polygait.errors import UserError
from polygait.learning.replay import Transition
from polygait.learning.sac import (
    SACActor,
    TwinCritic,
    actor_loss,
    critic_loss,
    critic_target,
    initial_networks,
    sac_update,
)
from polygait.learning.squashed import SquashedPolicy

pytestmark = pytest.mark.usefixtures("quick_compilation")

SIZES = (2, 1)
KEY = jax.random.key(0)
TINY = SACConfig(
    learning_rate=1e-2,
    minibatch_size=8,
    policy_hidden=(4,),
    critic_hidden=(4,),
    block_steps=8,
    lag=4,
    replay_size=64,
    warmup_steps=0,
)


def critics(*weights: tuple[float, float, float]) -> TwinCritic:
    """Two critics Q = w·(s₁, s₂, a), without hidden layers."""
    fresh = TwinCritic(KEY, SIZES, ())
    columns = tuple(jnp.array(one)[:, None] for one in weights)
    silent = jax.tree.map(jnp.zeros_like, fresh)
    return eqx.tree_at(lambda one: tuple(network.weights[0] for network in one.networks), silent, columns)


def actor(mean: float, temperature: float) -> SACActor:
    """An actor with σ = 1 that does the same in every state."""
    silent = jax.tree.map(jnp.zeros_like, SquashedPolicy(KEY, SIZES, ()))
    policy = eqx.tree_at(lambda one: one.network.biases[0], silent, jnp.array([mean, 0.0]))
    return SACActor(policy, jnp.log(jnp.float32(temperature)))


STEPS = Transition(
    observation=jnp.array([[1.0, 0.0], [0.0, 2.0]]),
    action=jnp.array([[0.5], [-0.5]]),
    reward=jnp.array([1.0, 3.0]),
    terminated=jnp.array([False, True]),
    next_observation=jnp.array([[0.5, 0.5], [9.0, 9.0]]),
)


def log_density(before: float, mean: float) -> float:
    """Of tanh(before) for a Gaussian of variance 1."""
    return -0.5 * (before - mean) ** 2 - 0.5 * np.log(2 * np.pi) - np.log(1 - np.tanh(before) ** 2)


def test_the_target_takes_the_smaller_target_critic_and_pays_for_entropy():
    target = critics((1.0, 1.0, 2.0), (3.0, 0.0, -1.0))
    noise = jnp.array([[0.3], [0.0]])
    found = critic_target(target, actor(0.2, 0.5), STEPS, noise, SACConfig(discount=0.9))
    action = np.tanh(0.5)
    values = 0.5 + 0.5 + 2 * action, 1.5 - action
    expected = 1.0 + 0.9 * (min(values) - 0.5 * log_density(0.5, 0.2))
    np.testing.assert_allclose(found, [expected, 3.0], rtol=1e-5)  # the second row ended in failure


def test_both_critics_are_drawn_to_the_target():
    loss, value = critic_loss(critics((1.0, 0.0, 0.0), (0.0, 1.0, 2.0)), STEPS, jnp.array([2.0, 0.0]))
    first, second = np.array([1.0, 0.0]), np.array([1.0, 2.0 - 1.0])
    target = np.array([2.0, 0.0])
    assert float(loss) == pytest.approx(0.5 * np.mean((first - target) ** 2 + (second - target) ** 2))
    assert float(value) == pytest.approx(0.5)


def test_the_policy_climbs_the_smaller_critic_and_keeps_its_entropy():
    both = critics((0.0, 0.0, 1.0), (0.0, 0.0, 3.0))  # the first is smaller where the action is positive
    noise = jnp.array([[0.4], [0.1]])
    found, entropy = actor_loss(actor(1.0, 0.5), both, STEPS.observation, noise, -1.0)
    densities = np.array([log_density(1.4, 1.0), log_density(1.1, 1.0)])
    values = np.tanh([1.4, 1.1])
    expected = np.mean(0.5 * densities - values) + np.log(0.5) * (-densities.mean() + 1.0)
    assert float(found) == pytest.approx(expected, rel=1e-5)
    assert float(entropy) == pytest.approx(-densities.mean(), rel=1e-5)


@pytest.mark.parametrize(("target_entropy", "sign"), [(5.0, -1), (-5.0, 1)])
def test_the_temperature_rises_where_entropy_is_missing(target_entropy, sign):
    one, both = actor(0.0, 1.0), critics((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    noise = jnp.array([[0.4], [0.1]])
    gradient = jax.grad(lambda a: actor_loss(a, both, STEPS.observation, noise, target_entropy)[0])(one)
    assert np.sign(gradient.log_temperature) == sign


def rows(updates: int, minibatch: int, seed: int = 0) -> np.ndarray:
    chance = np.random.default_rng(seed)
    drawn = chance.normal(size=(updates, minibatch, 2 * SIZES[0] + SIZES[1] + 2)).astype(np.float32)
    drawn[..., 4] = chance.random(drawn.shape[:2]) < 0.2
    return drawn


def leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_an_update_follows_from_its_arguments():
    networks = initial_networks(KEY, SIZES, TINY)
    once, again, later = (sac_update(networks, rows(6, 8), KEY, iteration, TINY) for iteration in (3, 3, 4))
    for ours, theirs in zip(leaves(once), leaves(again), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert any(not np.array_equal(a, b) for a, b in zip(leaves(once[0]), leaves(later[0]), strict=True))


def test_the_lag_decides_whose_weights_the_other_half_sees():
    """With a lag of all updates the critics learn under the first policy; then also one by one."""
    networks = initial_networks(KEY, SIZES, TINY)
    given = rows(4, 8)
    whole = sac_update(networks, given, KEY, 0, TINY)[0]
    frozen = replace(TINY, lag=1)
    stepwise = sac_update(networks, given, KEY, 0, frozen)[0]
    assert not np.allclose(
        whole.critics.online.networks[0].weights[0], stepwise.critics.online.networks[0].weights[0]
    )


def test_target_networks_follow_at_their_rate():
    networks = initial_networks(KEY, SIZES, TINY)
    config = replace(TINY, target_rate=0.25)
    after = sac_update(networks, rows(1, 8), KEY, 0, config)[0].critics
    for old, new, target in zip(
        leaves(networks.critics.target), leaves(after.online), leaves(after.target), strict=True
    ):
        np.testing.assert_allclose(target, 0.75 * old + 0.25 * new, atol=1e-6)


def test_impossible_options_are_named_at_once():
    config = SACConfig(discount=1.5, target_rate=0.0, updates_per_step=0.01, lag=0)
    with pytest.raises(UserError) as caught:
        initial_networks(KEY, SIZES, config)
    for word in ("discount", "target_rate", "updates_per_step", "lag"):
        assert f"sac.{word}" in caught.value.problem
    assert not SACConfig().problems()
    assert {field.name for field in fields(SACConfig)} >= {"target_entropy"}
