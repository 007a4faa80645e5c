"""Labels beside a picture: two columns, in the order of what they point at, none on another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

LINE = 24.0
"""Height of one label with the space around it."""
NOTE_LINE = 15.0
"""How much higher a label with a note is."""


class Anchor(NamedTuple):
    """What a label points at, in pixels of the picture."""

    text: str
    kind: str
    x: float
    y: float
    note: str = ""
    """A second line."""

    @property
    def height(self) -> float:
        """Of its label, with the space around it."""
        return label_height(self.note)


class Label(NamedTuple):
    """Where a label stands: its middle line, on the left or on the right."""

    anchor: Anchor
    left: bool
    y: float


def label_height(note: str) -> float:
    """Of a label with this note, or with none."""
    return LINE + NOTE_LINE if note else LINE


def needed_height(heights: Sequence[float]) -> float:
    """How high a picture must be for labels of these heights, whichever of them share a side."""
    return math.fsum(sorted(heights, reverse=True)[: (len(heights) + 1) // 2])


def place_labels(anchors: Sequence[Anchor], top: float, bottom: float) -> list[Label]:
    """Half of the labels left and half right, each as near to its anchor's height as its neighbours let it.

    The room must be at least needed_height().
    """
    across = sorted(anchors, key=lambda anchor: anchor.x)
    half = (len(across) + 1) // 2
    labels = []
    for left, side in ((True, across[:half]), (False, across[half:])):
        downwards = sorted(side, key=lambda anchor: anchor.y)
        heights = _spread(downwards, top, bottom)
        labels += [Label(anchor, left, y) for anchor, y in zip(downwards, heights, strict=True)]
    return labels


def _spread(anchors: Sequence[Anchor], top: float, bottom: float) -> list[float]:
    """The labels' middles, none on another, with the least squared distance from the anchors.

    Without the labels' heights this is isotonic regression: neighbours in the wrong order share their mean.
    """
    steps = [(above.height + below.height) / 2 for above, below in itertools.pairwise(anchors)]
    offsets = list(itertools.accumulate(steps, initial=0.0))[: len(anchors)]
    groups: list[list[float]] = []
    for anchor, offset in zip(anchors, offsets, strict=True):
        groups.append([anchor.y - offset])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    levels = [fmean(group) for group in groups for _ in group]
    if not levels:
        return []
    first, last = top + anchors[0].height / 2, bottom - anchors[-1].height / 2 - offsets[-1]
    return [min(max(level, first), last) + offset for level, offset in zip(levels, offsets, strict=True)]
