"""Feet: their names in words, their colours, and when they are on the ground."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool

FOOT_COLOURS = ("#2b6cb0", "#e0a100", "#1a8f74", "#b565a7")
"""Blue, amber, green and mauve, told apart by colour-blind readers too; further feet begin anew."""


def foot_colours(feet: Iterable[str]) -> dict[str, str]:
    """Every foot's colour, in pictures and charts alike."""
    return {foot: FOOT_COLOURS[index % len(FOOT_COLOURS)] for index, foot in enumerate(feet)}


def foot_title(name: str) -> str:
    """A foot's name in words."""
    words = name.replace("_", " ")
    return words if "foot" in words or "leg" in words else f"{words} foot"


def stretches(down: Bool[np.ndarray, " time"]) -> list[tuple[int, int]]:
    """The steps from which and up to which a foot stays down, each time that it does."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], down, [False]])))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
