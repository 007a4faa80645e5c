"""Observations and actions of any environment, of one or of many at once, as rows of numbers with names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from polygait.errors import UserError
from polygait.tasks.gym_layout import given_layout
from polygait.tasks.state import StateLayout


class Observations:
    """The numbers of all Boxes in an observation, also in dictionaries; whatever else is in it stays."""

    def __init__(self, space: gymnasium.Space, layout: Any = None) -> None:
        self._boxes = list(_boxes(space))
        sizes = [int(np.prod(box.shape)) for _, box in self._boxes]
        self.layout = _layout(self._boxes, sizes) if layout is None else given_layout(layout)
        if self.layout.size != sum(sizes):
            raise UserError(
                f"The layout names {self.layout.size} numbers, the observation has {sum(sizes)}.",
                "Name each once.",
            )

    def flat(self, observation: Any, count: int = 1) -> np.ndarray:
        """A row of numbers for each of `count` environments."""
        parts = [
            np.asarray(_inside(observation, path), dtype=np.float64).reshape(count, -1)
            for path, _ in self._boxes
        ]
        return np.concatenate(parts, axis=1)

    def whole(self, observation: Any, before: np.ndarray, after: np.ndarray) -> Any:
        """The observation once its rows of numbers have become others."""
        begins = 0
        for path, box in self._boxes:
            part = slice(begins, begins + int(np.prod(box.shape)))
            begins = part.stop
            new = _with_changes(_inside(observation, path), before[:, part], after[:, part], box.dtype)
            observation = _with(observation, path, new)
        return observation


class Actions:
    """Actions as rows of numbers in units of half their range, so that a play means the same everywhere."""

    def __init__(self, space: gymnasium.Space) -> None:
        self._space = space
        self.size = int(np.prod(space.shape)) if isinstance(space, Box) else 0
        half = (space.high - space.low).ravel() / 2.0 if isinstance(space, Box) else np.ones(0)
        self._half = np.where(np.isfinite(half) & (half > 0), half, 1.0).astype(np.float64)

    def flat(self, action: Any, count: int = 1) -> np.ndarray:
        """A row of numbers for each of `count` environments."""
        return np.asarray(action, dtype=np.float64).reshape(count, -1) / self._half

    def whole(self, action: Any, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """The action once its rows of numbers have become others."""
        return _with_changes(action, before, after, self._space.dtype, self._half)


def _with_changes(given: Any, before: np.ndarray, after: np.ndarray, dtype: Any, unit: Any = 1.0) -> Any:
    """The given numbers, to the last bit but where they have become others; whole ones stay within bounds."""
    given = np.asarray(given)
    # An environment may be given, and may show, other precision than its space says; but [1] means 1.0.
    if np.issubdtype(given.dtype, np.floating) and np.issubdtype(dtype, np.floating):
        dtype = given.dtype
    new = after * unit
    if np.issubdtype(dtype, np.integer):
        new = np.clip(np.rint(new), np.iinfo(dtype).min, np.iinfo(dtype).max)
    result = given.astype(dtype)
    changed = (before != after).reshape(given.shape)
    result[changed] = new.reshape(given.shape)[changed]
    return result


def _boxes(space: gymnasium.Space, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Box]]:
    """All Boxes of a space, each with the keys that lead to it."""
    if isinstance(space, Box):
        yield path, space
    elif isinstance(space, Dict):
        for key, part in space.items():
            yield from _boxes(part, (*path, key))


def _layout(boxes: list[tuple[tuple[str, ...], Box]], sizes: list[int]) -> StateLayout:
    """Numbers of a Box alone are state.0, state.1, …; those in dictionaries go by keys: arm.camera.0."""
    parts = [".".join(_word(key) for key in path) or "state" for path, _ in boxes]
    return StateLayout(
        tuple(f"{part}.{index}" for part, size in zip(parts, sizes, strict=True) for index in range(size))
    )


def _word(key: object) -> str:
    """A key as one word of a name that the language of variations can write."""
    return re.sub(r"[^\w-]", "_", str(key)) or "_"


def _inside(observation: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        observation = observation[key]
    return observation


def _with(observation: Any, path: tuple[str, ...], new: Any) -> Any:
    """The observation with another value at the end of a path; the given one stays as it is."""
    if not path:
        return new
    return {**observation, path[0]: _with(observation[path[0]], path[1:], new)}
