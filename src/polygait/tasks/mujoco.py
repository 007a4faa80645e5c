"""A robot in many copies on MuJoCo's native thread pool: resets, time limit, damage, divergence."""

from __future__ import annotations

import os
from collections.abc import Mapping

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

from polygait.errors import UserError
from polygait.tasks.batched import BatchedTask
from polygait.tasks.divergence import BAD_STATE, divert_warnings
from polygait.tasks.randomness import Draws
from polygait.tasks.robot import (
    Body,
    Motion,
    Physics,
    Robot,
    action_law,
    add_sensors,
    anatomy,
    foot_geoms,
    sensor_places,
    sensor_stage,
)
from polygait.tasks.robot_checks import check_answers, check_parts, check_start
from polygait.tasks.schedule import Scheduled, row_ids
from polygait.tasks.state import StateFilter
from polygait.tasks.task import (
    EnvIds,
    Step,
    Variations,
    check_count,
    check_snapshot,
    checked_actions,
    checked_numbers,
)
from polygait.tasks.timers import stop_timers
from polygait.tasks.world import World
from polygait.variations import Effect, check_conditions

_NO_SENSORS = mujoco.mjtDisableBit.mjDSBL_SENSOR.value
_NO_ISLANDS = mujoco.mjtDisableBit.mjDSBL_ISLAND.value
_POSITIONS, _ALL = mujoco.mjtStage.mjSTAGE_POS.value, mujoco.mjtStage.mjSTAGE_ACC.value
_LARGEST_STATE = 1e10  # MuJoCo's own bound of a good state (mjMAXVAL)


class MujocoTask(BatchedTask):
    """The Task of a robot simulated by MuJoCo."""

    def __init__(
        self,
        robot: Robot,
        num_envs: int = 1,
        seed: int = 0,
        variation: Variations = None,
        num_threads: int | None = None,
    ) -> None:
        check_count("num_envs", num_envs)
        threads = min(os.cpu_count() or 1, num_envs) if num_threads is None else num_threads
        check_count("num_threads", threads)
        threads = min(threads, num_envs)  # more would have nothing to do
        divert_warnings()
        stop_timers()
        spec = robot.spec()
        check_parts(spec, robot)
        add_sensors(spec, robot)
        self.model = spec.compile()
        names = anatomy(self.model, robot)
        check_conditions(robot.conditions, names)
        super().__init__(num_envs, seed, robot.layout.size, names)
        self.robot = robot
        self.name = robot.name
        self.layout = robot.layout
        self.max_episode_steps = robot.max_episode_steps
        self.feet = tuple(robot.feet)
        self.default_filter = StateFilter.remove(robot.layout, robot.removed)
        self.conditions = robot.conditions
        self.defaults = robot.defaults
        self.action_law = action_law(self.model, robot, names)
        self._seconds = float(self.model.opt.timestep * robot.frame_skip)
        self.time_step = self._seconds
        fields = tuple(dict.fromkeys(("sensordata", *robot.fields)))
        self.physics = Physics.of(Batch(self.model, num_envs, threads), fields, sensor_places(self.model))
        self._sensor_stage = sensor_stage(self.model, robot)
        if robot.motors is None:
            self.physics.ctrl[:] = self.action_law.controls(np.zeros(self.action_size))
        self._blank = self.physics.batch.state[0].copy()
        # Sensors cost time in every substep and are needed only at the observed state. A single tree of
        # bodies is one island at most: looking for islands costs a tenth of a step and changes no bit.
        self._flags = self.model.opt.disableflags | (_NO_ISLANDS if self.model.ntree == 1 else 0)
        self._disabled = self.physics.batch.expand("opt.disableflags")
        self._disabled.fill(self._flags | _NO_SENSORS)

        self._progress = np.zeros(num_envs)
        self._foot_starts = np.cumsum([0, *map(len, foot_geoms(robot))])
        self._world = World(self.physics.batch)
        self._check()
        self._open(variation)

    @property
    def body(self) -> Body:
        """What can be drawn of this task."""
        return self.robot

    @property
    def poses(self) -> np.ndarray:
        """(num_envs, position) How every robot stands, a live view."""
        return self.physics.qpos

    def set_state(self, qpos: np.ndarray, qvel: np.ndarray, env_ids: EnvIds = None) -> np.ndarray:
        """Begin episodes at given states, one row of positions and velocities per environment."""
        rows = row_ids(env_ids, self.num_envs)
        qpos, qvel = checked_numbers("qpos", qpos), checked_numbers("qvel", qvel)
        for name, values, size in (("qpos", qpos, self.model.nq), ("qvel", qvel, self.model.nv)):
            if values.shape != (len(rows), size) or not np.isfinite(values).all():
                raise UserError(
                    f"Expected {name} of shape ({len(rows)}, {size}), one finite row per environment, "
                    f"got shape {values.shape}{'' if np.isfinite(values).all() else ' with NaN or inf'}.",
                    "Take them from task.physics.qpos and task.physics.qvel, which have this shape.",
                )
        self._rewind(rows)
        self._place(rows, qpos, qvel)
        self._begin(rows, None if self.robot.fields or self.robot.sensors else {})
        return self._observation.copy()

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment; nothing resets by itself."""
        actions = checked_actions(actions, self.num_envs, self.action_size)
        if self._world.changes_during_episodes:
            self._world.refresh(self._step_count)
        arriving = self._faults.on_actions(actions, self._step_count)
        failed = self._advance(arriving)
        self._count_step()

        progress = np.array(self.robot.progress(self.physics))
        velocity = (progress - self._progress) / self._seconds
        if self._sensor_stage:
            failed[self._forward_with_sensors(self._sensor_stage, self._awake)] = True
        healthy = self.robot.healthy(self.physics)
        # Copies: a robot may hand out views of the physics, and faults are written into what comes back.
        observation = np.array(self.robot.observe(self.physics), dtype=np.float64)
        reward = np.array(
            self.robot.reward(Motion(velocity, arriving, healthy, observation)), dtype=np.float64
        )
        step = self._record(observation, reward, ~healthy, failed)
        self._progress = np.where(self.diverged, 0.0, progress)
        return step

    def foot_contacts(self) -> np.ndarray:
        """Which feet touch the ground now, (num_envs, number of feet)."""
        self._forward_with_sensors(_POSITIONS, self._awake)
        touching = self.physics.derived["sensordata"][:, -self._foot_starts[-1] :] > 0
        return np.logical_or.reduceat(touching, self._foot_starts[:-1], axis=1)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Everything a later restore() needs to go on bit for bit."""
        return {
            "physics": self.physics.batch.state.copy(),
            "progress": self._progress.copy(),
            "observation": self._observation.copy(),
            **self._records(),
            **self._faults.snapshot(),
            **self._world.snapshot(),
        }

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of a task made with the same arguments."""
        check_snapshot(snapshot, self.snapshot())
        self._restore_records(snapshot)
        self.physics.batch.state[:] = snapshot["physics"]
        self._progress = np.array(snapshot["progress"])
        self._observation = np.array(snapshot["observation"])
        self._faults.restore(snapshot)
        self._draw_models(self._all_rows)
        self._world.restore(snapshot, self._step_count)

    def _install(self, effects: list[Scheduled[Effect]], rows: np.ndarray) -> None:
        self._world.install(effects, self._step_count, rows)

    def _start(self, rows: np.ndarray) -> None:
        self._draw_models(rows)
        states = [
            self.robot.initial_state(self.model, self._generator(row, Draws.START)) for row in rows.tolist()
        ]
        self._place(rows, np.array([qpos for qpos, _ in states]), np.array([qvel for _, qvel in states]))
        self._settle(np.sort(rows))
        self._begin(rows, self.robot.initial_fields(self.physics.qpos[rows]))

    def _check(self) -> None:
        """Ask the robot everything once, so that mistakes in its file are told by name."""
        check_start(self.model, self.robot, self._generator(0, Draws.START))
        if self.robot.fields or self.robot.sensors:
            self._forward_with_sensors(_ALL, np.zeros(1, dtype=np.intp))
        check_answers(self.robot, self.physics, self.action_size)
        self.physics.batch.state[0] = self._blank

    @property
    def _awake(self) -> np.ndarray | None:
        """The rows to simulate as the engine wants to be told: None is all."""
        return np.flatnonzero(~self._resting) if self._resting.any() else None

    def _draw_models(self, rows: np.ndarray) -> None:
        """The models of the rows' episodes: a function of their seeds, so no snapshot holds them."""
        for row in rows.tolist():
            drawn = self.robot.draw_model(self.model, self._model_generator(row))
            if not drawn:
                return
            self._world.draw(row, drawn)
        self._world.refresh(self._step_count, drawn=rows)

    def _place(self, rows: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Put some rows into given states; what follows depends on nothing before."""
        batch = self.physics.batch
        batch.state[rows] = self._blank
        batch.warning[rows] = 0
        self.physics.qpos[rows] = qpos
        self.physics.qvel[rows] = qvel
        if self._world.changes_during_episodes:
            self._world.refresh(self._step_count, begun=rows)

    def _settle(self, rows: np.ndarray) -> None:
        """Let new robots come to rest. One that breaks down meanwhile is found out by its first step."""
        motors, batch = self.robot.motors, self.physics.batch
        if motors is None:
            return
        commands = motors.rest(len(rows))
        for _ in range(motors.settling):
            motors.drive(self.physics, rows, commands)
            try:
                batch.step(rows)
            except SimulationError as error:
                batch.warning[error.ids, BAD_STATE, 1] = 1

    def _begin(self, rows: np.ndarray, fields: Mapping[str, np.ndarray] | None) -> None:
        """Start episodes of some rows from the states they are in; `fields` of MjData spare the engine."""
        if fields is None:
            broken = self._forward_with_sensors(_ALL, np.sort(rows))
            self.physics.batch.warning[broken, BAD_STATE, 1] = 1  # its first step finds it out
        new = self.physics.at(rows)
        if fields is not None:
            new = new._replace(derived=fields)
        self._progress[rows] = self.robot.progress(new)
        self._show(rows, self.robot.observe(new))

    def _advance(self, actions: np.ndarray) -> np.ndarray:
        """Step the physics; which rows broke down.

        MuJoCo resets a diverged row silently and only counts a warning. A row may also go bad in the
        last substep, before MuJoCo looks at it again.
        """
        batch, motors = self.physics.batch, self.robot.motors
        failed = np.zeros(self.num_envs, dtype=bool)
        if motors is None:
            self.physics.ctrl[:] = self.action_law.controls(actions)
            self._simulate(failed, self.robot.frame_skip)
        else:
            awake = self._awake
            rows = slice(None) if awake is None else awake
            commands = motors.commands(actions)[rows]
            for _ in range(self.robot.frame_skip):
                motors.drive(self.physics, rows, commands)
                self._simulate(failed, 1)
        if batch.warning.any():
            failed |= batch.warning[:, BAD_STATE, 1].any(axis=1)
            batch.warning[:] = 0
        if not np.abs(batch.state).max() < _LARGEST_STATE:  # NaN is not smaller either
            for state in (self.physics.qpos, self.physics.qvel):
                failed |= ~(np.abs(state).max(axis=1) < _LARGEST_STATE)
        return failed

    def _simulate(self, failed: np.ndarray, substeps: int) -> None:
        try:
            self.physics.batch.step(self._awake, nstep=substeps)
        except SimulationError as error:
            failed[error.ids] = True

    def _forward_with_sensors(self, stage: int, rows: np.ndarray | None = None) -> np.ndarray:
        """Compute what follows from the state; the rows in which MuJoCo could not."""
        self._disabled.fill(self._flags)
        try:
            self.physics.batch.forward(rows, stage=stage)
        except SimulationError as error:
            return error.ids
        finally:
            self._disabled.fill(self._flags | _NO_SENSORS)
        return np.zeros(0, dtype=np.intp)
