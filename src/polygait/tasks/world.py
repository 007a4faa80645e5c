"""Changed models: per-environment values of MuJoCo's model fields, always computed from the nominal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import mujoco
import numpy as np

from polygait.tasks.schedule import Scheduled, of_kind
from polygait.variations import Effect, ModelChange


@runtime_checkable
class Models(Protocol):
    """Many models with values of their own: a MuJoCo Batch, or what another simulator puts in its place."""

    @property
    def nsim(self) -> int: ...
    @property
    def model(self) -> Any:
        """The fields all have in common."""
        ...

    def expand(self, name: str) -> np.ndarray:
        """One field with a row per simulation, to be written."""
        ...

    def set_const(self, ids: np.ndarray) -> None:
        """Compute anew what follows from the fields."""
        ...


class World:
    """Keeps every row's model equal to its nominal one with the effects that act on it now.

    A row's nominal model is the robot's, or the one drawn for the row's episode.
    """

    def __init__(self, batch: Models) -> None:
        self._batch = batch
        self._values: dict[str, np.ndarray] = {}
        self._nominal: dict[str, np.ndarray] = {}
        self._effects: list[Scheduled[ModelChange]] = []
        self._active = np.zeros((0, batch.nsim), dtype=bool)
        self.changes_during_episodes = False

    def install(self, effects: list[Scheduled[Effect]], step_count: np.ndarray, changed: np.ndarray) -> None:
        """Replace all effects; rows that changed are written anew where anything acts or has acted."""
        self.refresh(step_count)  # what is due by now must be written, or it would pass for written below
        changes = of_kind(effects, ModelChange)
        touched = [np.intersect1d(change.rows, changed) for change in self._effects + changes]
        self._effects = changes
        self.changes_during_episodes = any(change.onset > 0 for change in changes)
        for change in changes:
            self._expand(change.effect.field)
        self._active = self._due(step_count)
        self._write(np.unique(np.concatenate(touched)) if touched else np.zeros(0, dtype=np.intp))

    def draw(self, row: int, fields: Mapping[str, np.ndarray]) -> None:
        """Give a row another nominal model; it takes effect when the row is next refreshed."""
        for field, values in fields.items():
            self._expand(field)
            self._nominal[field][row] = values

    def refresh(self, step_count: np.ndarray, drawn: np.ndarray | None = None) -> None:
        """Switch effects on and off as episodes pass their onsets or begin anew, or have `drawn` models."""
        due = self._due(step_count)
        changed = (due != self._active).any(axis=0)
        if drawn is not None:
            changed[drawn] = True
        self._active = due
        self._write(np.flatnonzero(changed))

    def _due(self, step_count: np.ndarray) -> np.ndarray:
        due = np.zeros((len(self._effects), self._batch.nsim), dtype=bool)
        for index, one in enumerate(self._effects):
            due[index, one.due(step_count)] = True
        return due

    def _expand(self, field: str) -> None:
        if field not in self._values:
            model = self._batch.model
            owner, name = (model.opt, field[4:]) if field.startswith("opt.") else (model, field)
            self._values[field] = self._batch.expand(field)
            nominal = np.asarray(getattr(owner, name))
            self._nominal[field] = np.repeat(nominal[None], self._batch.nsim, axis=0)

    def _write(self, rows: np.ndarray) -> None:
        """Nominal values first, then every active effect: nothing can compound."""
        if not rows.size:
            return
        for field, values in self._values.items():
            values[rows] = self._nominal[field][rows]
        for index, one in enumerate(self._effects):
            self._apply(one.effect, rows[self._active[index, rows]])
        if any(
            field in mujoco.MjModel._setconst_inputs or field.startswith("opt.") for field in self._values
        ):
            self._batch.set_const(np.sort(rows))

    def _apply(self, change: ModelChange, rows: np.ndarray) -> None:
        values = self._values[change.field]
        block = (rows[:, None], np.array(change.rows)[None])
        if change.column is not None:
            block = (*block, change.column)
        values[block] = change.factor * values[block] + change.constant
