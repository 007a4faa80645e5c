"""A batch is the rollout as the networks saw it."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from tests.learning import probes

from polygait import learning
from polygait.learning.normalizer import initial_moments, merge_moments, normalize

CONFIG = replace(probes.PROBE_CONFIG, normalize_observations=True, scale_rewards=True)


def test_learning_sees_what_acting_saw():
    keys = learning.member_keys(jax.random.key(0), 0, 1)
    learner = learning.initial_learner(keys, (1, 1), CONFIG)
    task = probes.DelayedReward(4)
    normalizer = learning.initial_normalizer(1, 4, 1)
    position = learning.start_position(task, 1)
    silence = np.zeros((6, 1, 4, 1), np.float32)
    for _ in range(2):
        acting = learning.acting_policy(learner.policy, normalizer, 4, CONFIG)
        rollout = learning.collect(task, acting, silence, position)
        position = rollout.position
        before = normalizer
        batch, normalizer = learning.prepare_batch(rollout, rollout.reward, normalizer, CONFIG)
        mean = probes.member(learner.policy).mean(jnp.asarray(batch.observation[:, 0]))
        np.testing.assert_allclose(mean, rollout.action[:, 0], atol=1e-6)
    np.testing.assert_array_equal(batch.observation, normalize(before.observation, rollout.observation))
    np.testing.assert_array_equal(
        batch.next_observation, normalize(before.observation, rollout.next_observation)
    )
    np.testing.assert_array_equal(
        normalizer.observation.mean, merge_moments(before.observation, rollout.observation).mean
    )
    np.testing.assert_allclose(batch.reward, rollout.reward / np.sqrt(normalizer.reward.moments.variance[0]))


def test_without_normalisation_everything_is_raw():
    config = replace(CONFIG, normalize_observations=False, scale_rewards=False)
    task = probes.DelayedReward(4)
    trained = probes.train(task, config, 1)
    batch, normalizer = learning.prepare_batch(
        trained.rollout, trained.rollout.reward, trained.normalizer, config
    )
    np.testing.assert_array_equal(batch.observation, trained.rollout.observation)
    np.testing.assert_array_equal(batch.reward, trained.rollout.reward)
    np.testing.assert_array_equal(normalizer.observation.mean, initial_moments(1, 1).mean)
