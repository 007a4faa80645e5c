"""Which effect of which variation acts on which environments, and from which step on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from polygait.errors import UserError
from polygait.tasks.task import EnvIds, Variations
from polygait.variations import Anatomy, Effect, Variation, parse_variation

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Scheduled(Generic[Kind]):
    """One primitive effect, the environments it acts on, and its first step in an episode."""

    effect: Kind
    place: int
    """Where the effect stands in its variation."""
    onset: int
    rows: np.ndarray

    def due(self, step_count: np.ndarray) -> np.ndarray:
        """The rows on which the effect acts at these step counts."""
        return self.rows if self.onset == 0 else self.rows[step_count[self.rows] >= self.onset]


def schedule(variations: Sequence[Variation], anatomy: Anatomy) -> list[Scheduled[Effect]]:
    """Group equal effects over environments, so that a step loops over effects and not over rows."""
    effects_of: dict[Variation, list[tuple[int, Effect, int]]] = {}
    rows_of: dict[tuple[int, Effect, int], list[int]] = {}
    for row, variation in enumerate(variations):
        if variation not in effects_of:
            lowered = [(effect, edit.onset) for edit in variation for effect in edit.effects(anatomy)]
            effects_of[variation] = [(place, *pair) for place, pair in enumerate(lowered)]
        for key in effects_of[variation]:
            rows_of.setdefault(key, []).append(row)
    # The order of edits within a variation is kept: a bias after a frozen sensor is not the reverse.
    return [
        Scheduled(effect, place, onset, np.array(rows))
        for (place, effect, onset), rows in sorted(rows_of.items(), key=lambda item: item[0][0])
    ]


def of_kind(effects: list[Scheduled[Effect]], kind: type[Kind]) -> list[Scheduled[Kind]]:
    """The effects of one kind, in order."""
    chosen: list[Any] = [item for item in effects if isinstance(item.effect, kind)]
    return chosen


def variations_per_row(given: Variations, conditions: Mapping[str, str], count: int) -> list[Variation]:
    """One variation per environment from one for all, or from a list of as many."""
    if given is None or isinstance(given, (str, Variation)) or not isinstance(given, Sequence):
        return [parse_variation(given, conditions)] * count
    if len(given) != count:
        raise UserError(
            f"Expected one variation, or a list of {count} (one per environment), got {len(given)}.",
            "Give None for environments that stay nominal.",
        )
    return [parse_variation(text, conditions) for text in given]


def row_ids(env_ids: EnvIds, num_envs: int) -> np.ndarray:
    """Checked environment ids: all for None, from integers as they are given, or from a boolean mask."""
    if env_ids is None:
        return np.arange(num_envs)
    ids = np.asarray(env_ids)
    if ids.dtype == bool and ids.shape == (num_envs,):
        return np.flatnonzero(ids)
    if ids.size == 0:
        return np.zeros(0, dtype=np.intp)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise UserError(
            f"Environment ids must be a list of whole numbers or a mask of {num_envs} booleans, "
            f"got an array of {ids.dtype} with shape {ids.shape}.",
            f"Give for example env_ids=[{num_envs - 1}].",
        )
    if ids.min() < 0 or ids.max() >= num_envs or len(set(ids.tolist())) != len(ids):
        raise UserError(
            f"Environment ids must be different numbers in 0…{num_envs - 1}, got {ids.tolist()}.",
            "Name each environment once, or leave env_ids out for all.",
        )
    return ids.astype(np.intp)
