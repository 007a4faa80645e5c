"""Running statistics of what a member sees and earns; plain arrays, so that they checkpoint exactly.

Statistics change once per rollout: a policy learns on the very inputs it acted on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64

CLIP = 10.0
"""Normalised observations are cut here, so that a rare state cannot saturate the networks."""
SMALLEST_VARIANCE = 1e-8
"""Below this a quantity counts as constant: its scale says nothing."""


class Moments(NamedTuple):
    """How many values were seen, their mean and their (population) variance, per member."""

    num_values: Float64[np.ndarray, " member"]
    mean: Float64[np.ndarray, "member ..."]
    variance: Float64[np.ndarray, "member ..."]


class RewardScale(NamedTuple):
    """The spread of discounted returns, and the returns under way in each environment."""

    moments: Moments
    discounted_return: Float64[np.ndarray, "member env"]


class Normalizer(NamedTuple):
    """Everything that is known about the scale of a cohort's observations and rewards."""

    observation: Moments
    reward: RewardScale


def initial_normalizer(num_members: int, envs_per_member: int, observation_size: int) -> Normalizer:
    """Nothing seen yet: observations and rewards pass unchanged."""
    return Normalizer(
        observation=initial_moments(num_members, observation_size),
        reward=RewardScale(initial_moments(num_members), np.zeros((num_members, envs_per_member))),
    )


def initial_moments(num_members: int, *features: int) -> Moments:
    """Moments of no values; mean 0 and variance 1 until the first update replaces them."""
    shape = (num_members, *features)
    return Moments(np.zeros(num_members), np.zeros(shape), np.ones(shape))


def merge_moments(moments: Moments, values: Float[np.ndarray, "time member env *feature"]) -> Moments:
    """Moments of all values so far (Chan et al. 1979), without large sums that would cancel.

    With n old and k new values and Δ = mean_new − mean: mean ← mean + Δ·k/(n + k) and
    variance ← (n·variance + k·variance_new)/(n + k) + Δ²·n·k/(n + k)².
    """
    values = values.astype(np.float64)
    new_mean = values.mean(axis=(0, 2))
    new_variance = values.var(axis=(0, 2))
    new_count = float(values.shape[0] * values.shape[2])
    total = moments.num_values + new_count
    share = (new_count / total).reshape(-1, *[1] * (new_mean.ndim - 1))
    shift = new_mean - moments.mean
    return Moments(
        num_values=total,
        mean=moments.mean + shift * share,
        variance=(1 - share) * moments.variance + share * new_variance + shift**2 * share * (1 - share),
    )


def at_least(moments: Moments, std: float) -> Moments:
    """The same, every value credited with a spread of `std` at least."""
    return moments._replace(variance=np.maximum(moments.variance, std**2))


def normalize(
    moments: Moments, observation: Float32[np.ndarray, "*time member env state"]
) -> Float32[np.ndarray, "*time member env state"]:
    """(s − mean)/std, cut to ±CLIP; the same float32 arithmetic when acting and when learning."""
    center, factor = center_and_factor(moments)
    normalized = observation - center[:, None]
    normalized *= factor[:, None]
    return np.clip(normalized, -CLIP, CLIP, out=normalized)


def center_and_factor(
    moments: Moments,
) -> tuple[Float32[np.ndarray, "*member state"], Float32[np.ndarray, "*member state"]]:
    """What to subtract from observations and what to multiply with; a constant feature becomes 0."""
    constant = moments.variance < SMALLEST_VARIANCE
    factor = np.where(constant, 1.0, 1.0 / np.sqrt(np.where(constant, 1.0, moments.variance)))
    return moments.mean.astype(np.float32), factor.astype(np.float32)


def update_reward_scale(
    scale: RewardScale,
    reward: Float[np.ndarray, "time member env"],
    ended: Bool[np.ndarray, "time member env"],
    discount: float,
) -> RewardScale:
    """Follow G_t = γ·G_{t−1} + r_t through the rollout, anew after each end, and learn its spread."""
    running = scale.discounted_return
    returns = np.empty(reward.shape)
    for time in range(len(reward)):
        returns[time] = discount * running + reward[time]
        running = np.where(ended[time], 0.0, returns[time])
    return RewardScale(merge_moments(scale.moments, returns), running)


def scale_reward(
    scale: RewardScale, reward: Float[np.ndarray, "time member env"]
) -> Float[np.ndarray, "time member env"]:
    """Rewards divided by std(G), not centred: that would change what is best.

    Where G has not varied, rewards stay as they are.
    """
    variance = scale.moments.variance
    std = np.sqrt(np.where(variance < SMALLEST_VARIANCE, 1.0, variance))
    return reward / std[:, None]
