"""What an inertial measurement unit tells of a body that moves freely, for many robots at once."""

from __future__ import annotations

import numpy as np

GRAVITY = ("x", "y", "z")
HEADING = ("x", "y")


def gravity_direction(quaternion: np.ndarray) -> np.ndarray:
    """(robot, 3) Where down is, as seen from the body: (0, 0, −1) when it stands upright."""
    w, x, y, z = quaternion.T
    return np.stack([2 * (w * y - x * z), -2 * (y * z + w * x), 2 * (x * x + y * y) - 1], axis=1)


def heading(quaternion: np.ndarray) -> np.ndarray:
    """(robot, 2) Where the body's x axis points on the ground: (1, 0) is the world's x."""
    w, x, y, z = quaternion.T
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z)], axis=1)


def to_body(quaternion: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors (robot, 3) of the world as seen from the body."""
    scalar, axis = quaternion[:, :1], -quaternion[:, 1:]
    twice = 2 * np.cross(axis, vectors)
    return vectors + scalar * twice + np.cross(axis, twice)
