"""Changed models: per-environment values of MuJoCo's model fields, always computed from the nominal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import mujoco
import numpy as np

from polygait.tasks.schedule import NEVER, Scheduled, of_kind
from polygait.variations import PHYSICS, Effect, Force, GravityTilt, JointHold, ModelChange, PhysicsEffect

_ANGLES = "held_angles"


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

    A row's nominal model is the robot's, or the one drawn for the row's episode. Forces from outside are part
    of the state; they are written here as well.
    """

    def __init__(self, batch: Models) -> None:
        self._batch = batch
        self._num_envs = batch.nsim
        self._values: dict[str, np.ndarray] = {}
        self._nominal: dict[str, np.ndarray] = {}
        self._forces: dict[str, np.ndarray] = {}
        self._effects: list[Scheduled[PhysicsEffect]] = []
        self._inputs: list[str] = []
        """The fields among `_values` from which MuJoCo computes others."""
        self._times = _Times([], self._num_envs)
        self._active = np.zeros((0, self._num_envs), dtype=bool)
        self._step_count = np.zeros(self._num_envs, dtype=np.int64)
        self._angles: np.ndarray | None = None
        self.changes_during_episodes = False

    def install(self, effects: list[Scheduled[Effect]], step_count: np.ndarray, changed: np.ndarray) -> None:
        """Replace all effects; rows that changed are written anew where anything acts or has acted."""
        before = {one.key: row for one, row in zip(self._effects, self._active, strict=True)}
        acted = self._active.any(axis=0)
        self._effects = of_kind(effects, PHYSICS)
        self._times = _Times(self._effects, self._num_envs)
        self.changes_during_episodes = self._times.change or any(
            isinstance(one.effect, Force | JointHold) for one in self._effects
        )
        for one in self._effects:
            self._expand_for(one.effect)
        due = self._times.due(step_count)
        active = np.zeros_like(due)
        for index, one in enumerate(self._effects):
            if one.key in before:
                active[index] = before[one.key]
        active[:, changed] = False
        self._active = active
        self._step_count = step_count.copy()
        touched = np.zeros(self._num_envs, dtype=bool)
        touched[changed] = True
        new = active.copy()
        new[:, changed] = due[:, changed]
        self._switch(new, touched & (acted | new.any(axis=0)))

    def draw(self, row: int, fields: Mapping[str, np.ndarray]) -> None:
        """Give a row another nominal model; it takes effect when the row is next refreshed."""
        for field, values in fields.items():
            self._expand(field)
            self._nominal[field][row] = values

    def refresh(
        self, step_count: np.ndarray, drawn: np.ndarray | None = None, begun: np.ndarray | None = None
    ) -> None:
        """Switch effects on and off as episodes go on, have `begun` anew or have `drawn` models."""
        due = self._times.due(step_count)
        changed = (due != self._active).any(axis=0)
        if drawn is not None:
            changed[drawn] = True
        if begun is not None and self._angles is not None:
            for index, one in enumerate(self._effects):
                if isinstance(one.effect, JointHold):
                    changed[begun] |= due[index, begun]
                    self._active[index, begun] = False  # held from the new episode's angles on
        if self._times.fade:
            changed |= (due & (self._times.loss > 0)).any(axis=0)
        self._step_count = step_count.copy()
        self._switch(due, changed)

    def snapshot(self) -> dict[str, np.ndarray]:
        """What effects remember of an episode."""
        return {} if self._angles is None else {_ANGLES: self._angles.copy()}

    def restore(self, snapshot: Mapping[str, np.ndarray], step_count: np.ndarray) -> None:
        """Bring back that memory, and every row as it is at these step counts."""
        due = self._times.due(step_count)
        changed = np.asarray(np.concatenate([due, self._active]).any(axis=0))
        self._step_count = step_count.copy()
        if self._angles is not None:
            self._angles[:] = snapshot[_ANGLES]
        # Angles are those of the snapshot, but for joints that this very step would have begun to hold.
        self._active = due & ~self._times.begins(step_count)
        self._switch(due, changed)

    def _switch(self, due: np.ndarray, changed: np.ndarray) -> None:
        """Let the effects act that are due, and write the rows that changed."""
        if self._angles is not None:
            self._hold(due & ~self._active)
        self._active = due
        self._write(np.flatnonzero(changed))
        if self._forces:
            self._push()

    def _hold(self, begins: np.ndarray) -> None:
        """Remember the angles of joints that are held from now on."""
        angles = self._angles
        for index, one in enumerate(self._effects):
            if angles is not None and isinstance(one.effect, JointHold) and begins[index].any():
                rows, joints = np.flatnonzero(begins[index]), np.array(one.effect.rows)
                positions: Any = self._batch
                held = positions.bind("qpos")[rows[:, None], self._batch.model.jnt_qposadr[joints][None]]
                angles[rows[:, None], joints[None]] = held

    def _push(self) -> None:
        for force in self._forces.values():
            force[:] = 0.0
        for index, one in enumerate(self._effects):
            effect = one.effect
            if isinstance(effect, Force):
                rows = np.flatnonzero(self._active[index])
                block = (rows[:, None], np.array(effect.rows)[None])
                if effect.column is not None:
                    block = (*block, effect.column)
                self._forces[effect.field][block] += one.amounts[rows]

    def _expand_for(self, effect: PhysicsEffect) -> None:
        if isinstance(effect, ModelChange):
            self._expand(effect.field)
        elif isinstance(effect, GravityTilt):
            self._expand("opt.gravity")
        elif isinstance(effect, JointHold):
            self._expand("jnt_range")
            if self._angles is None:
                self._angles = np.zeros((self._num_envs, self._batch.model.njnt))
        elif effect.field not in self._forces:
            state: Any = self._batch
            self._forces[effect.field] = state.bind(effect.field)

    def _expand(self, field: str) -> None:
        if field not in self._values:
            model = self._batch.model
            owner, name = (model.opt, field[4:]) if field.startswith("opt.") else (model, field)
            nominal = np.array(getattr(owner, name))
            self._values[field] = self._batch.expand(field)
            self._nominal[field] = np.repeat(nominal[None], self._num_envs, axis=0)
            if field in mujoco.MjModel._setconst_inputs or field.startswith("opt."):
                self._inputs.append(field)

    def _write(self, rows: np.ndarray) -> None:
        """Nominal values first, then every active effect: nothing can compound."""
        if not rows.size:
            return
        before = {field: self._values[field][rows] for field in self._inputs}
        for field, values in self._values.items():
            values[rows] = self._nominal[field][rows]
        active = self._active[:, rows]
        for index in np.flatnonzero(active.any(axis=1)).tolist():
            self._apply(self._effects[index], rows[active[index]])
        changed = np.zeros(len(rows), dtype=bool)
        for field, old in before.items():
            different = self._values[field][rows] != old
            changed |= different.reshape(len(rows), -1).any(axis=1)
        if changed.any():
            self._batch.set_const(np.sort(rows[changed]))

    def _apply(self, one: Scheduled[PhysicsEffect], rows: np.ndarray) -> None:
        effect, amounts = one.effect, one.amounts[rows]
        if isinstance(effect, ModelChange):
            values = self._values[effect.field]
            block = (rows[:, None], np.array(effect.rows)[None])
            if effect.column is not None:
                block = (*block, effect.column)
            factor, constant, loss = amounts.T
            if loss.any():
                factor = np.maximum(factor - loss * one.age(self._step_count)[rows], 0.0)
            shape = (-1, *[1] * (values[block].ndim - 1))
            values[block] = factor.reshape(shape) * values[block] + constant.reshape(shape)
        elif isinstance(effect, GravityTilt):
            gravity, angle = self._values["opt.gravity"], amounts[:, 0]
            along, up = gravity[rows, effect.axis], gravity[rows, 2]
            gravity[rows, effect.axis] = np.cos(angle) * along + np.sin(angle) * up
            gravity[rows, 2] = np.cos(angle) * up - np.sin(angle) * along
        elif isinstance(effect, JointHold) and self._angles is not None:
            block = (rows[:, None], np.array(effect.rows)[None])
            self._values["jnt_range"][block] = self._angles[block][..., None]


class _Times:
    """When all effects act on all rows, in one array each."""

    def __init__(self, effects: list[Scheduled[PhysicsEffect]], num_envs: int) -> None:
        shape = (len(effects), num_envs)
        self._begins = np.array([one.begins for one in effects], dtype=np.int64).reshape(shape)
        self._lasts = np.array([one.lasts for one in effects], dtype=np.int64).reshape(shape)
        self._period = np.array([one.period for one in effects], dtype=np.int64).reshape(shape)
        here = self._begins < NEVER
        ends = bool((here & (self._lasts < NEVER)).any())
        self._is_plain = not ends
        lasting = np.zeros(num_envs)
        lost = [one.amounts[:, 2] if isinstance(one.effect, ModelChange) else lasting for one in effects]
        self.loss = np.where(here, np.array(lost).reshape(shape), 0.0)
        """What effects lose with every step."""
        self.fade = bool(self.loss.any())
        self.change = ends or self.fade or bool((here & (self._begins > 0)).any())
        """Whether any effect comes, goes or fades within an episode."""

    def begins(self, step_count: np.ndarray) -> np.ndarray:
        """Which effects begin in the coming step, (effects, rows); those of a first step have begun."""
        age = step_count[None] - self._begins
        return (age >= 0) & (age % self._period == 0) & (step_count > 0)

    def due(self, step_count: np.ndarray) -> np.ndarray:
        """Which effects act on which rows, (effects, rows)."""
        age = step_count[None] - self._begins
        return age >= 0 if self._is_plain else (age >= 0) & (age % self._period < self._lasts)
