"""Changed models: per-environment values of MuJoCo's model fields, always computed from the nominal."""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch

from polygait.tasks.schedule import Scheduled
from polygait.variations import ScaleField, SetField


class World:
    """Keeps every row's model equal to the nominal one with the effects that act on it now."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._values: dict[str, np.ndarray] = {}
        self._nominal: dict[str, np.ndarray] = {}
        self._effects: list[Scheduled] = []
        self._active = np.zeros((0, batch.nsim), dtype=bool)
        self.changes_during_episodes = False

    def install(self, effects: list[Scheduled], step_count: np.ndarray) -> None:
        """Replace all effects; rows whose effects differ are written anew."""
        effects = [one for one in effects if isinstance(one.effect, (ScaleField, SetField))]
        touched = np.unique(
            np.concatenate([one.rows for one in self._effects + effects] + [np.zeros(0, int)])
        )
        self._effects = effects
        self.changes_during_episodes = any(one.onset > 0 for one in effects)
        for one in effects:
            self._expand(one.effect.field)  # type: ignore[union-attr]
        self._active = self._due(step_count)
        self._write(touched)

    def refresh(self, step_count: np.ndarray) -> None:
        """Switch effects on and off as episodes pass their onsets or begin anew."""
        due = self._due(step_count)
        changed = np.flatnonzero((due != self._active).any(axis=0))
        self._active = due
        self._write(changed)

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
            self._nominal[field] = np.array(getattr(owner, name))

    def _write(self, rows: np.ndarray) -> None:
        """Nominal values first, then every active effect: nothing can compound."""
        if not rows.size:
            return
        for field, values in self._values.items():
            values[rows] = self._nominal[field]
        for index, one in enumerate(self._effects):
            self._apply(one.effect, rows[self._active[index, rows]])  # type: ignore[arg-type]
        if any(
            field in mujoco.MjModel._setconst_inputs or field.startswith("opt.") for field in self._values
        ):
            self._batch.set_const(np.sort(rows))

    def _apply(self, effect: ScaleField | SetField, rows: np.ndarray) -> None:
        values = self._values[effect.field]
        block = np.ix_(rows, effect.rows)
        if isinstance(effect, SetField):
            values[block] = effect.value
        elif effect.column is None:
            values[block] *= effect.factor
        else:
            values[(*block, effect.column)] *= effect.factor
