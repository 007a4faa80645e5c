"""Marks that would hide each other are moved apart, each as little as it takes."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_ROUNDS = 100
_CLOSE_ENOUGH = 0.5  # pixels
_TURN = np.pi * (3 - np.sqrt(5))  # the golden angle: marks at one place leave it in different directions


def moved_apart(
    places: Float[np.ndarray, "mark 2"], distance: float, room: tuple[float, float]
) -> Float[np.ndarray, "mark 2"]:
    """Places at least a distance apart, inside a room from (0, 0) on, as far as they fit into it.

    Whoever is too near to another is pushed away from it, both by half of what is missing, again and again.
    """
    moved = places.astype(np.float64)
    pairs = np.add.outer(np.arange(len(moved)), np.arange(len(moved))) * _TURN
    away = np.triu(np.ones_like(pairs), 1) - np.tril(np.ones_like(pairs), -1)
    parting = np.stack([np.cos(pairs), np.sin(pairs)], axis=-1) * away[..., None]
    for _ in range(_ROUNDS):
        gaps = moved[:, None] - moved[None]
        lengths = np.linalg.norm(gaps, axis=-1)
        missing = np.where(away, distance - lengths, 0.0)
        if missing.max(initial=0.0) < _CLOSE_ENOUGH:
            break
        directions = np.where(lengths[..., None] < 1e-6, parting, gaps / np.maximum(lengths, 1e-6)[..., None])
        push = 0.5 * np.maximum(missing, 0.0)[..., None] * directions
        moved = np.clip(moved + push.sum(axis=1), 0.0, room)
    return moved
