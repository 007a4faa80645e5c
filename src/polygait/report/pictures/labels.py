"""Labels beside a picture: two columns, in the order of what they point at, none on another."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

LINE = 24.0
"""Height of one label with the space around it."""


class Anchor(NamedTuple):
    """What a label points at, in pixels of the picture."""

    text: str
    kind: str
    x: float
    y: float


class Label(NamedTuple):
    """Where a label stands: its middle line, on the left or on the right."""

    anchor: Anchor
    left: bool
    y: float


def needed_height(count: int) -> float:
    """How high a picture must be for so many labels."""
    return ((count + 1) // 2) * LINE


def place_labels(anchors: Sequence[Anchor], top: float, bottom: float) -> list[Label]:
    """Half of the labels left and half right, each as near to its anchor's height as its neighbours let it.

    The room must be at least needed_height().
    """
    across = sorted(anchors, key=lambda one: one.x)
    half = (len(across) + 1) // 2
    labels = []
    for left, side in ((True, across[:half]), (False, across[half:])):
        downwards = sorted(side, key=lambda one: one.y)
        heights = _spread([one.y for one in downwards], top, bottom)
        labels += [Label(one, left, y) for one, y in zip(downwards, heights, strict=True)]
    return labels


def _spread(wished: Sequence[float], top: float, bottom: float) -> list[float]:
    """Rising heights at least a line apart, with the least squared distance from those wished for.

    Without the lines themselves this is isotonic regression: neighbours in the wrong order share their mean.
    """
    groups: list[list[float]] = []
    for place, wish in enumerate(wished):
        groups.append([wish - place * LINE])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    levels = [fmean(group) for group in groups for _ in group]
    first, last = top + LINE / 2, bottom - LINE / 2 - (len(levels) - 1) * LINE
    return [min(max(level, first), last) + place * LINE for place, level in enumerate(levels)]
