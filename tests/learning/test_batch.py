"""A batch is the rollout as the networks saw it."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from tests.learning import probes

from polygait import learning
from polygait.learning.learner import Sizes
from polygait.learning.learners.ppo import PPO
from polygait.learning.normalizer import initial_moments, merge_moments, normalize

CONFIG = replace(probes.PROBE_CONFIG, normalize_observations=True, scale_rewards=True)


def test_learning_sees_what_acting_saw():
    keys = learning.member_keys(jax.random.key(0), 0, 1)
    learner = PPO(CONFIG, Sizes(1, 1), 4)
    state = learner.init(keys)
    task = probes.DelayedReward(4)
    silence = np.zeros((6, 1, 4, 1), np.float32)
    first = learning.collect(task, learner.policy(state, 0), silence, learning.start_position(task, 1))
    before = learning.prepare_batch(first, first.reward, state.normalizer, CONFIG, CONFIG.discount).normalizer
    acting = learner.policy(state._replace(normalizer=before), 1)
    rollout = learning.collect(task, acting, silence, first.position)
    batch, after = learning.prepare_batch(rollout, rollout.reward, before, CONFIG, CONFIG.discount)

    mean = probes.member(state.networks.policy).mean(jnp.asarray(batch.observation[:, 0]))
    np.testing.assert_allclose(mean, rollout.action[:, 0], atol=1e-6)
    shown_next = normalize(before.observation, rollout.next_observation)
    np.testing.assert_array_equal(batch.next_observation, shown_next)
    merged = merge_moments(before.observation, rollout.observation)
    np.testing.assert_array_equal(after.observation.mean, merged.mean)
    np.testing.assert_allclose(batch.reward, rollout.reward / np.sqrt(after.reward.moments.variance[0]))


def test_without_normalisation_everything_is_raw():
    config = replace(CONFIG, normalize_observations=False, scale_rewards=False)
    task = probes.DelayedReward(4)
    trained = probes.train(task, config, 1)
    batch, normalizer = learning.prepare_batch(
        trained.rollout, trained.rollout.reward, trained.normalizer, config, config.discount
    )
    np.testing.assert_array_equal(batch.observation, trained.rollout.observation)
    np.testing.assert_array_equal(batch.reward, trained.rollout.reward)
    np.testing.assert_array_equal(normalizer.observation.mean, initial_moments(1, 1).mean)
