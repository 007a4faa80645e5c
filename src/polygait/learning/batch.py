"""Between rollout and update: the normalised experience that a cohort learns from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32

from polygait.config import PPOConfig
from polygait.learning.normalizer import (
    Normalizer,
    at_least,
    merge_moments,
    normalize,
    scale_reward,
    update_reward_scale,
)
from polygait.learning.rollout import Rollout


class Batch(NamedTuple):
    """What the update reads: a rollout as the networks see it, with the reward they should follow."""

    observation: Float32[np.ndarray, "time member env state"]
    next_observation: Float32[np.ndarray, "time member env state"]
    action: Float32[np.ndarray, "time member env action"]
    reward: Float32[np.ndarray, "time member env"]
    terminated: Bool[np.ndarray, "time member env"]
    truncated: Bool[np.ndarray, "time member env"]


class PreparedBatch(NamedTuple):
    """A batch, and the statistics to act with in the next rollout."""

    batch: Batch
    normalizer: Normalizer


def prepare_batch(
    rollout: Rollout,
    reward: Float[np.ndarray, "time member env"],
    normalizer: Normalizer,
    config: PPOConfig,
    discount: float,
) -> PreparedBatch:
    """Normalise a rollout and learn from it how to normalise.

    `reward` is the task's reward with any bonus already in it. Observations are normalised with the
    statistics that the policy acted with, which then take in this rollout; rewards are scaled with
    statistics that already know this rollout, since nothing has used them yet. `discount` is today's γ.
    """
    observation, next_observation = rollout.observation, rollout.next_observation
    moments, scale = normalizer
    if config.normalize_observations:
        observation = normalize(normalizer.observation, rollout.observation)
        next_observation = normalize(normalizer.observation, rollout.next_observation)
        moments = merge_moments(normalizer.observation, rollout.observation)
        moments = at_least(moments, config.min_observation_std)
    if config.scale_rewards:
        ended = rollout.terminated | rollout.truncated
        scale = update_reward_scale(normalizer.reward, reward, ended, discount)
        reward = scale_reward(scale, reward)
    batch = Batch(
        observation=observation,
        next_observation=next_observation,
        action=rollout.action,
        reward=reward.astype(np.float32),
        terminated=rollout.terminated,
        truncated=rollout.truncated,
    )
    return PreparedBatch(batch, Normalizer(moments, scale))
