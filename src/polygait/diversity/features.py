"""What a member does on average with parts of its state: the features in which it shall differ, or not.

With x the freed numbers of a state, measured in the first member's mean and standard deviation, a state has
the features φ = (x, x² − 1): where a part is held, and how much it moves; or φ = x, its posture alone. A
member's ψ is their mean over its newest rollouts. It is paid for the side on which it stands of the nearest
earlier member,

    φ(s_{t+1}) · (ψ − ψ_i) / |ψ − ψ_i|        with i the earlier member nearest to it

so only freed parts can earn anything. What the filter keeps can be regulated, by what it costs to hold it
otherwise than the first member does,

    κ = φ(s_{t+1}) · ψ / max(|ψ|, 1)

with φ = x of the kept numbers: little where the member is already like the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from polygait.diversity.method import Tensors
from polygait.diversity.strength import running_mean

PREFIX = "features."
"""Before the names of the arrays that a member leaves."""
KEPT = f"{PREFIX}kept."
"""Before the names of those about the parts that the filter keeps."""
_LIMIT = 3.0
"""Further from the first member's mean than this many standard deviations counts as this far."""
_SMALLEST = 1e-6


class Features(NamedTuple):
    """The mean features of the member in training and of those before it, in some numbers of the state."""

    center: Float[np.ndarray, " number"]
    """Of the first member's states; in its own training those of its newest rollouts."""
    variance: Float[np.ndarray, " number"]
    mean: Float[np.ndarray, " feature"]
    """ψ, NaN before the first rollout; the first member's is 0 by its own measure. It has one feature for
    each number where posture alone counts, two where movement does too."""
    earlier: Float[np.ndarray, "earlier feature"]


def initial_features(
    num_numbers: int, earlier: Sequence[Tensors], moving: bool = True, prefix: str = PREFIX
) -> Features:
    """Nothing is known of the new member; the first one left the units. `moving`: movement counts as well."""
    size = 2 * num_numbers if moving else num_numbers
    if not earlier:
        unknown = np.full(num_numbers, np.nan)
        return Features(unknown, unknown.copy(), np.zeros(size), np.zeros((0, size)))
    center, variance = (np.asarray(earlier[0][f"{prefix}{name}"]) for name in ("center", "variance"))
    means = np.stack([np.asarray(tensors[f"{prefix}mean"]) for tensors in earlier])
    return Features(center, variance, np.full(size, np.nan), means)


def updated_features(features: Features, states: Float[np.ndarray, "sample number"]) -> Features:
    """The running means after a rollout."""
    if len(features.earlier):
        return features._replace(mean=running_mean(features.mean, _features(features, states).mean(axis=0)))
    center, variance = states.mean(axis=0), states.var(axis=0)
    return features._replace(
        center=running_mean(features.center, center), variance=running_mean(features.variance, variance)
    )


def feature_reward(
    features: Features, freed: Float[np.ndarray, "sample freed"]
) -> Float[np.ndarray, " sample"]:
    """φ towards the side on which the member stands of the nearest earlier one; 0 for the first member."""
    if not len(features.earlier):
        return np.zeros(len(freed))
    value = _features(features, freed)
    away = _mean_so_far(features, value) - features.earlier
    distance = np.linalg.norm(away, axis=1)
    nearest = int(distance.argmin())
    return value @ (away[nearest] / max(distance[nearest], _SMALLEST))


def cost_of_change(
    features: Features, kept: Float[np.ndarray, "sample kept"]
) -> Float[np.ndarray, " sample"]:
    """κ less its mean: what kept parts cost that are not held as the first member holds them.

    Its standard deviation is at most 1, however many parts there are.
    """
    if not len(features.earlier):
        return np.zeros(len(kept))
    value = _features(features, kept)
    mean = _mean_so_far(features, value)
    cost = value @ (mean / max(float(np.linalg.norm(mean)), 1.0))
    return (cost - cost.mean()) / max(float(cost.std()), 1.0)


def distance_to_nearest(features: Features) -> float:
    """|ψ − ψ_i|/√n for the nearest earlier member and n features: of one feature, as it were.

    NaN where there is no earlier member, or nothing is known yet; 0 where there is no feature.
    """
    if not len(features.earlier):
        return math.nan
    distance = np.linalg.norm(features.mean - features.earlier, axis=1).min()
    return float(distance / math.sqrt(max(features.mean.size, 1)))


def exported_features(features: Features, prefix: str = PREFIX) -> dict[str, np.ndarray]:
    """What a finished member leaves to those after it."""
    left = {"center": features.center, "variance": features.variance, "mean": features.mean}
    return {f"{prefix}{name}": array for name, array in left.items()}


def _mean_so_far(features: Features, value: np.ndarray) -> Float[np.ndarray, " feature"]:
    """ψ; before anything is known, what this rollout itself says."""
    return value.mean(axis=0) if np.isnan(features.mean).any() else features.mean


def _features(features: Features, states: np.ndarray) -> Float[np.ndarray, "sample feature"]:
    scaled = (states - features.center) / np.sqrt(np.maximum(features.variance, _SMALLEST))
    scaled = np.clip(scaled, -_LIMIT, _LIMIT)
    moving = features.mean.size > features.center.size
    return np.concatenate([scaled, scaled**2 - 1], axis=1) if moving else scaled
