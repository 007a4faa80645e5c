"""What a member does on average with the parts that the filter frees: the features in which it shall differ.

With x the freed numbers of a state, measured in the first member's mean and standard deviation, a state has
the features φ = (x, x² − 1): where a part is held, and how much it moves. A member's ψ is their mean over its
newest rollouts. It is paid for the side on which it stands of the nearest earlier member,

    φ(s_{t+1}) · (ψ − ψ_i) / |ψ − ψ_i|        with i the earlier member nearest to it

so only freed parts can earn anything: what the filter keeps has no feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from polygait.diversity.method import Tensors

PREFIX = "features."
"""Before the names of the arrays that a member leaves."""
_SHARE = 0.1
"""Weight of the newest rollout in a member's running mean."""
_LIMIT = 3.0
"""Further from the first member's mean than this many standard deviations counts as this far."""
_SMALLEST = 1e-6


class Features(NamedTuple):
    """The mean features of the member in training and of those before it."""

    center: Float[np.ndarray, " freed"]
    """Of the first member's states; in its own training those of the newest rollouts."""
    variance: Float[np.ndarray, " freed"]
    mean: Float[np.ndarray, " feature"]
    """ψ; NaN before the first rollout."""
    aim: Float[np.ndarray, " feature"]
    earlier: Float[np.ndarray, "earlier feature"]


def initial_features(num_freed: int, earlier: Sequence[Tensors], seed: int = 0) -> Features:
    """Nothing is known of the new member; the first one left the units."""
    unknown = np.full(2 * num_freed, np.nan)
    aim = _aim(2 * num_freed, len(earlier), seed)
    if not earlier:
        nothing = np.full(num_freed, np.nan)
        return Features(nothing, nothing.copy(), unknown, aim, np.zeros((0, 2 * num_freed)))
    return Features(
        center=earlier[0][f"{PREFIX}center"],
        variance=earlier[0][f"{PREFIX}variance"],
        mean=unknown,
        aim=aim,
        earlier=np.stack([tensors[f"{PREFIX}mean"] for tensors in earlier]),
    )


def _aim(size: int, index: int, seed: int) -> np.ndarray:
    """Random directions, orthogonal in turns of `size` members, each followed by its opposite."""
    chance = np.random.default_rng([seed, 77])
    basis, _ = np.linalg.qr(chance.normal(size=(size, size)))
    number = max(index - 1, 0)
    return basis[number // 2 % size] * (1 - 2 * (number % 2))


def updated_features(features: Features, freed: Float[np.ndarray, "sample freed"]) -> Features:
    """The running means after a rollout."""
    if not len(features.earlier):
        center, variance = _running(features.center, freed.mean(0)), _running(features.variance, freed.var(0))
        return features._replace(center=center, variance=variance, mean=np.zeros(2 * freed.shape[1]))
    return features._replace(mean=_running(features.mean, _features(features, freed).mean(0)))


def feature_reward(
    features: Features, freed: Float[np.ndarray, "sample freed"], aims: bool = False
) -> Float[np.ndarray, " sample"]:
    """φ towards the side on which the member stands of the nearest earlier one; 0 for the first member."""
    if not len(features.earlier):
        return np.zeros(len(freed))
    value = _features(features, freed)
    if aims:
        return value @ features.aim
    mean = value.mean(0) if np.isnan(features.mean).any() else features.mean
    away = mean - features.earlier
    distance = np.linalg.norm(away, axis=1)
    nearest = int(distance.argmin())
    return value @ (away[nearest] / max(distance[nearest], _SMALLEST))


def distance_to_nearest(features: Features) -> float:
    """|ψ − ψ_i| for the nearest earlier member; infinite for the first."""
    if not len(features.earlier):
        return np.inf
    return float(np.linalg.norm(features.mean - features.earlier, axis=1).min())


def exported_features(features: Features) -> dict[str, np.ndarray]:
    """What a finished member leaves to those after it."""
    kept = {"center": features.center, "variance": features.variance, "mean": features.mean}
    return {f"{PREFIX}{name}": array for name, array in kept.items()}


def _features(features: Features, freed: np.ndarray) -> Float[np.ndarray, "sample feature"]:
    scaled = (freed - features.center) / np.sqrt(np.maximum(features.variance, _SMALLEST))
    scaled = np.clip(scaled, -_LIMIT, _LIMIT)
    return np.concatenate([scaled, scaled**2 - 1], axis=1)


def _running(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(old), new, (1 - _SHARE) * old + _SHARE * new)
