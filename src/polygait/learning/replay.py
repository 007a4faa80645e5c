"""What an agent remembers: transitions in a ring, drawn evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, UInt32

from polygait.errors import UserError


class Transition(NamedTuple):
    """Steps of a robot, one row each."""

    observation: Float[Array, "*batch state"]
    action: Float[Array, "*batch action"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    """Whether the episode ended in failure; a time limit is no failure, and what follows it still counts."""
    next_observation: Float[Array, "*batch state"]


class Replay:
    """The newest `capacity` transitions, each as one row of numbers: one gather draws a minibatch.

    Memory is taken as it fills. The ring and its place, `snapshot`, are all there is to save.
    """

    def __init__(self, capacity: int, sizes: tuple[int, int]) -> None:
        """An empty ring for `sizes` = (observation size, action size)."""
        self.sizes = sizes
        self._rows = np.zeros((capacity, _width(sizes)), np.float32)
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, len(self._rows))

    def add(self, columns: Sequence[np.ndarray]) -> None:
        """Remember some steps, in the order of Transition, and forget the oldest beyond the capacity."""
        count = len(columns[0])
        rows = np.concatenate([column.reshape(count, -1).astype(np.float32) for column in columns], axis=1)
        self._rows[(self._added + np.arange(count)) % len(self._rows)] = rows
        self._added += count

    def draw(
        self, seed: UInt32[np.ndarray, " word"], shape: tuple[int, int]
    ) -> Float32[np.ndarray, "update sample column"]:
        """Minibatches of rows, each drawn evenly from all; `shape` = (updates, minibatch size)."""
        return self._rows[np.random.default_rng(seed).integers(len(self), size=shape)]

    def snapshot(self) -> dict[str, np.ndarray]:
        """The filled part of the ring and its place; a view, not a copy."""
        return {"rows": self._rows[: len(self)], "added": np.array(self._added)}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of a ring of the same size."""
        rows, added = snapshot["rows"], int(snapshot["added"])
        expected = (min(added, len(self._rows)), self._rows.shape[1])
        if rows.shape != expected:
            raise UserError(
                f"The remembered transitions do not fit: they have shape {rows.shape}, expected {expected}.",
                "Resume with the settings the run was made with.",
            )
        self._rows[: len(rows)] = rows
        self._added = added


def transitions(rows: Float[Array, "*batch column"], sizes: tuple[int, int]) -> Transition:
    """Rows of a Replay as what they mean; `sizes` = (observation size, action size)."""
    state, action = sizes
    edges = np.cumsum([state, action, 1, 1])
    observation, taken, reward, terminated, next_observation = jnp.split(rows, edges, axis=-1)
    return Transition(observation, taken, reward[..., 0], terminated[..., 0] > 0, next_observation)


def _width(sizes: tuple[int, int]) -> int:
    state, action = sizes
    return 2 * state + action + 2
