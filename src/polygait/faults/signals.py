"""Observations and actions of any environment as rows of numbers with names."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, flatdim, flatten, unflatten

from polygait.errors import UserError
from polygait.tasks.state import StateLayout


class Observations:
    """How to take an observation apart and put it together again; one without real numbers has no parts."""

    def __init__(self, space: gymnasium.Space, layout: StateLayout | None) -> None:
        self._space = space
        self._is_plain = isinstance(space, Box)
        self.layout = layout or _layout(space)
        size = flatdim(space) if self.layout.size else 0
        if self.layout.size != size:
            raise UserError(
                f"The layout names {self.layout.size} numbers, the observation has {size}.", "Name each once."
            )

    def flat(self, observation: Any) -> np.ndarray:
        """One row of numbers."""
        if self._is_plain:
            return np.array(observation, dtype=np.float64).reshape(1, -1)
        return np.array(flatten(self._space, observation), dtype=np.float64)[None]

    def whole(self, row: np.ndarray) -> Any:
        """The observation that a row of numbers stands for."""
        if self._is_plain:
            return row[0].reshape(self._space.shape or ()).astype(self._space.dtype)
        return unflatten(self._space, row[0])


class Actions:
    """Actions as rows of numbers in units of half their range, so that a play means the same everywhere."""

    def __init__(self, space: gymnasium.Space) -> None:
        self._space = space
        self.size = int(np.prod(space.shape)) if isinstance(space, Box) and space.shape else 0
        half = (space.high - space.low).ravel() / 2.0 if isinstance(space, Box) else np.ones(0)
        self._half = np.where(np.isfinite(half) & (half > 0), half, 1.0).astype(np.float64)
        self._is_unit = bool((self._half == 1.0).all())

    def flat(self, action: Any) -> np.ndarray:
        """One row of numbers."""
        row = np.array(action, dtype=np.float64).reshape(1, -1)
        return row if self._is_unit else row / self._half

    def whole(self, row: np.ndarray, like: Any) -> Any:
        """The action that a row of numbers stands for, as precise as the one that was given."""
        values = row[0] if self._is_unit else row[0] * self._half
        return values.reshape(self._space.shape or ()).astype(np.asarray(like).dtype)


def _layout(space: gymnasium.Space) -> StateLayout:
    if isinstance(space, Box):
        return StateLayout.numbered(int(np.prod(space.shape)))
    if isinstance(space, Dict) and all(isinstance(part, Box) for part in space.values()):
        return StateLayout.of({name: tuple(map(str, range(flatdim(part)))) for name, part in space.items()})
    return StateLayout.numbered(0)
