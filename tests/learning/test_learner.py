"""PPO as a Learner: nothing but its parts, and policies that act the same wherever they go."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learning import probes

from polygait import learning
from polygait.config import PPOConfig
from polygait.learning.acting import ALONE, TRAINING_TILE
from polygait.learning.learner import Sizes
from polygait.learning.learners.ppo import PPO, PPOState
from polygait.learning.normalizer import normalize
from polygait.learning.ppo import initial_networks
from polygait.learning.stacking import member_of

pytestmark = pytest.mark.usefixtures("quick_compilation")

ENVS, MEMBERS = 4, 2
CONFIG = PPOConfig(rollout_steps=48, minibatch_size=16, epochs=2, policy_hidden=(8,))
KEYS = learning.member_keys(jax.random.key(0), 0, MEMBERS)
LEARNER = PPO(CONFIG, Sizes(1, 1), ENVS)


def collected(state: PPOState, iteration: int = 0) -> learning.Rollout:
    task = probes.DelayedReward(MEMBERS * ENVS)
    noise = learning.rollout_noise(KEYS, iteration, (CONFIG.steps_per_iteration // ENVS, ENVS, 1))
    position = learning.start_position(task, MEMBERS)
    return learning.collect(task, LEARNER.policy(state, iteration), noise, position)


@pytest.fixture(scope="module")
def learned(quick_compilation):
    """A state whose normaliser has seen something."""
    state = LEARNER.init(KEYS)
    rollout = collected(state)
    return LEARNER.update(state, rollout, rollout.reward, KEYS, 0).state


def assert_equal(found, expected) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_fresh_members_are_those_of_their_keys():
    state = LEARNER.init(KEYS)
    assert_equal(state.networks, initial_networks(KEYS, (1, 1), CONFIG))
    assert_equal(state.normalizer, learning.initial_normalizer(MEMBERS, ENVS, 1))


def test_an_update_is_a_batch_prepared_and_learned_from(learned):
    rollout = collected(learned, 1)
    reward = rollout.reward + np.random.default_rng(0).normal(size=rollout.reward.shape)  # with a bonus
    found = LEARNER.update(learned, rollout, reward, KEYS, 1)
    batch, normalizer = learning.prepare_batch(rollout, reward, learned.normalizer, CONFIG, CONFIG.discount)
    networks, statistics = learning.ppo_update(learned.networks, batch, KEYS, 1, CONFIG)
    assert_equal(found.state, PPOState(networks, normalizer))
    assert_equal(dict(found.statistics), statistics._asdict())
    without = LEARNER.update(learned, rollout, rollout.reward, KEYS, 1).state
    assert not np.array_equal(without.networks.policy.network.weights[0], networks.policy.network.weights[0])


@pytest.mark.parametrize("normalized", [True, False])
def test_what_is_exported_acts_like_what_learns(learned, normalized):
    config = replace(CONFIG, normalize_observations=normalized)
    learner = PPO(config, LEARNER.sizes, ENVS)
    exported = learner.export(learned)
    seen = np.random.default_rng(1).normal(0.5, 2, (MEMBERS, 5, 1)).astype(np.float32)
    shown = normalize(learned.normalizer.observation, seen) if normalized else seen
    expected = jax.vmap(lambda one, rows: one.mean(rows))(learned.networks.policy, jnp.asarray(shown))
    for tile in (TRAINING_TILE, ALONE):
        actor = learner.actor(exported, 5, tile)
        np.testing.assert_allclose(actor.mean(seen), expected, atol=2e-6)
        noise, out = np.ones_like(seen), np.empty_like(seen)
        actor.act(seen, noise, out)
        np.testing.assert_allclose(out, np.asarray(expected) + CONFIG.action_std, atol=2e-6)


def test_the_next_rollout_is_acted_by_what_is_exported(learned):
    rows = np.random.default_rng(2).normal(size=(MEMBERS, ENVS, 1)).astype(np.float32)
    acting = LEARNER.actor(LEARNER.export(learned), ENVS, TRAINING_TILE)
    np.testing.assert_array_equal(LEARNER.policy(learned, 3).mean(rows), acting.mean(rows))


def test_one_member_has_the_shape_that_files_are_read_with(learned):
    shape = LEARNER.policy_shape()
    member = member_of(LEARNER.export(learned), 0)
    assert jax.tree.structure(shape) == jax.tree.structure(member)
    for ours, theirs in zip(jax.tree.leaves(shape), jax.tree.leaves(member), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)


def test_all_is_in_the_state(learned):
    """A fresh learner goes on from it to the same bits: there is nothing else to save."""
    assert LEARNER.snapshot() == {}
    rollout = collected(learned, 1)
    fresh = PPO(CONFIG, Sizes(1, 1), ENVS)
    assert_equal(
        fresh.update(learned, rollout, rollout.reward, KEYS, 1).state,
        LEARNER.update(learned, rollout, rollout.reward, KEYS, 1).state,
    )
    assert_equal(LEARNER.critic(learned), learned.networks.critic)
