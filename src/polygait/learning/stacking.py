"""Members as one tree with a leading member axis, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import jax
import numpy as np

Tree = TypeVar("Tree")


def stacked(members: Sequence[Tree]) -> Tree:
    """One tree of NumPy arrays with a leading member axis."""
    return jax.tree.map(lambda *arrays: np.stack(arrays), *members)


def member_of(tree: Tree, member: int | np.ndarray) -> Tree:
    """One member's part of a stacked tree, or that of several, still stacked."""
    return jax.tree.map(lambda array: array[member], tree)
