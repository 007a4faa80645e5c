"""Which effect of which variation acts on which environments, and in which steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from polygait.errors import UserError
from polygait.tasks.task import EnvIds, Variations
from polygait.variations import (
    Anatomy,
    Effect,
    Timing,
    Variation,
    parse_variation,
    without_amounts,
)

Kind = TypeVar("Kind")
NEVER = 2**62
"""A step that no episode reaches."""
Generators = Callable[[int, int], np.random.Generator]
"""A row's own random numbers for a purpose."""


class Lowered(NamedTuple):
    """One primitive effect of a variation, apart from its numbers."""

    place: int
    """Where the effect stands in its variation."""
    edit: int
    """Which edit it comes from."""
    effect: Effect
    amounts: tuple[float, ...]
    timing: Timing


@dataclass(frozen=True)
class Scheduled(Generic[Kind]):
    """One primitive effect on all environments that have it, each with numbers and times of its own.

    Arrays have a row per environment of the task; one without the effect never begins.
    """

    effect: Kind
    """Apart from its numbers."""
    place: int
    edit: int
    amounts: np.ndarray
    begins: np.ndarray
    lasts: np.ndarray
    period: np.ndarray
    latest: np.ndarray
    """The latest start that may be drawn; −1 where the start is given."""
    earliest: np.ndarray

    @property
    def key(self) -> tuple[int, int, Kind]:
        """What tells it from others."""
        return self.place, self.edit, self.effect

    @property
    def rows(self) -> np.ndarray:
        """The environments that have the effect."""
        return np.flatnonzero(self.earliest < NEVER)

    def due(self, step_count: np.ndarray) -> np.ndarray:
        """The rows on which the effect acts at these step counts."""
        return np.flatnonzero(self.acts(step_count))

    def acts(self, step_count: np.ndarray) -> np.ndarray:
        """Whether the effect acts, per row."""
        age = step_count - self.begins
        return (age >= 0) & (age % self.period < self.lasts)

    def age(self, step_count: np.ndarray) -> np.ndarray:
        """Steps since the effect began to act, per row."""
        return (step_count - self.begins) % self.period

    @property
    def is_random(self) -> bool:
        """Whether the effect begins at another step in every episode, anywhere."""
        return bool(((self.latest >= 0) & (self.earliest < NEVER)).any())

    def copy(self) -> Scheduled[Kind]:
        """The same with arrays of its own."""
        arrays = (self.amounts, self.begins, self.lasts, self.period, self.latest, self.earliest)
        return Scheduled(self.effect, self.place, self.edit, *(array.copy() for array in arrays))

    @classmethod
    def empty(cls, lowered: Lowered, num_envs: int) -> Scheduled[Any]:
        """An effect that no environment has yet."""
        never = np.full((5, num_envs), NEVER, dtype=np.int64)
        amounts = np.zeros((num_envs, len(lowered.amounts)))
        return Scheduled(lowered.effect, lowered.place, lowered.edit, amounts, *never)


class Schedule:
    """The effects of every environment; those alike but for their numbers go together.

    A step loops over effects, not over environments.
    """

    def __init__(self, num_envs: int, anatomy: Anatomy) -> None:
        self._num_envs = num_envs
        self._anatomy = anatomy
        self._groups: dict[tuple[int, int, Effect], Scheduled[Effect]] = {}

    def with_variations(self, rows: Iterable[int], variations: Sequence[Variation]) -> Schedule:
        """Another schedule in which some rows have other variations; every name is checked."""
        found: dict[Variation, list[Lowered]] = {}
        for one in variations:
            if one not in found:
                found[one] = lower(one, self._anatomy)
        other = Schedule(self._num_envs, self._anatomy)
        other._groups = {key: group.copy() for key, group in self._groups.items()}
        other.assign(rows, [found[one] for one in variations])
        other._groups = {key: group for key, group in other._groups.items() if group.rows.size}
        return other

    def assign(self, rows: Iterable[int], variations: Sequence[Sequence[Lowered]]) -> None:
        """Give rows other effects, in place."""
        rows = list(rows)
        for group in self._groups.values():
            group.begins[rows] = group.earliest[rows] = NEVER
        for row, effects in zip(rows, variations, strict=True):
            for one in effects:
                key = (one.place, one.edit, one.effect)
                group = self._groups.get(key)
                if group is None:
                    group = self._groups[key] = Scheduled.empty(one, self._num_envs)
                timing = one.timing
                group.amounts[row] = one.amounts
                group.begins[row] = group.earliest[row] = timing.onset
                group.lasts[row] = NEVER if timing.duration is None else timing.duration
                group.period[row] = NEVER if timing.period is None else timing.period
                group.latest[row] = -1 if timing.latest is None else timing.latest

    def draw_onsets(self, rows: np.ndarray, generator: Generators, limit: int) -> set[int]:
        """Decide when effects with a random start begin in these rows' episodes of at most `limit` steps.

        The rows in which this is another step than before.
        """
        changed = set()
        for group in self._groups.values():
            if not group.is_random:
                continue
            open_ones = rows[(group.latest[rows] >= 0) & (group.earliest[rows] < NEVER)]
            for row in open_ones.tolist():
                earliest = int(group.earliest[row])
                latest = max(min(int(group.latest[row]), limit - 1), earliest)
                # All effects of an edit begin together.
                begins = int(generator(row, group.edit).integers(earliest, latest, endpoint=True))
                if begins != group.begins[row]:
                    group.begins[row] = begins
                    changed.add(row)
        return changed

    @property
    def effects(self) -> list[Scheduled[Effect]]:
        """In the order of their variations: a bias after a frozen sensor is not the reverse."""
        return sorted(self._groups.values(), key=lambda group: group.place)


def lower(variation: Variation, anatomy: Anatomy) -> list[Lowered]:
    """The primitive effects of a variation on a robot."""
    found = []
    for index, edit in enumerate(variation):
        for effect in edit.effects(anatomy):
            found.append(Lowered(len(found), index, *without_amounts(effect), edit.timing))
    return found


def schedule(variations: Sequence[Variation], anatomy: Anatomy) -> list[Scheduled[Effect]]:
    """The effects of one variation per environment."""
    whole = Schedule(len(variations), anatomy).with_variations(range(len(variations)), variations)
    return whole.effects


def of_kind(
    effects: list[Scheduled[Effect]], kind: type[Kind] | tuple[type[Kind], ...]
) -> list[Scheduled[Kind]]:
    """The effects of one kind, or of several, in order."""
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
