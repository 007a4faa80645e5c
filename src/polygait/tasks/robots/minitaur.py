"""Minitaur: a quadruped with eight direct-drive motors and legs of five bars, in MuJoCo.

The robot, task and motors of PyBullet's MinitaurBulletEnv-v0, many times as fast; `bullet.py` is the
original physics.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from polygait.tasks import minitaur_rules as rules
from polygait.tasks.minitaur_model import FOOT_FRICTION, minitaur_spec
from polygait.tasks.minitaur_motor import (
    GAINS,
    MEANING,
    NUM_MOTORS,
    REST,
    SETTLING,
    SUBSTEP,
    SUBSTEPS,
    MotorMemory,
    Supply,
    motor_targets,
    motor_torques,
)
from polygait.tasks.robot import Motion, Motors, Physics, Robot

# Each motor is followed by its knee, after the base's free joint.
_ANGLES, _VELOCITIES = slice(7, None, 2), slice(6, None, 2)
_KNEES = slice(8, None, 2)


class MinitaurMotors(Motors):
    """The motor law of `minitaur_motor.py` on a batch; voltage and damping are fields of the model."""

    action_names = rules.ACTIONS
    meaning, gains = MEANING, GAINS
    settling = SETTLING

    def commands(self, actions: np.ndarray) -> np.ndarray:
        return motor_targets(actions)

    def rest(self, num_envs: int) -> np.ndarray:
        return np.full((num_envs, NUM_MOTORS), REST)

    def drive(self, physics: Physics, rows: np.ndarray | slice, commands: np.ndarray) -> None:
        figures = physics.batch.expand("actuator_user")[rows]
        memory = physics.memory[rows]
        physics.ctrl[rows] = motor_torques(
            commands,
            physics.qpos[rows, _ANGLES],
            physics.qvel[rows, _VELOCITIES],
            Supply(figures[:, :, 0], figures[:, :, 1]),
            MotorMemory.of(memory),
        )
        physics.memory[rows] = memory


class Minitaur(Robot):
    """Reward: metres forward − 0.005·|τ·ω|·0.002. Healthy: upright within 32°, base above 0.13 m.

    An action is a swing and an extension per leg. With `randomize` every episode has another robot:
    masses, battery, motor damping and foot friction vary as in the original.
    """

    name = "minitaur"
    layout = rules.LAYOUT
    units = rules.UNITS
    licence = "MIT (polygait's own model)"
    frame_skip = SUBSTEPS
    feet = rules.FEET
    conditions = rules.CONDITIONS
    removed = rules.REMOVED
    defaults = rules.DEFAULTS
    motors = MinitaurMotors()

    def __init__(self, randomize: bool = True) -> None:
        self._randomize = randomize

    def spec(self) -> mujoco.MjSpec:
        return minitaur_spec()

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = model.qpos0.copy()
        qpos[_ANGLES], qpos[_KNEES] = REST, rules.START_KNEE
        return qpos, np.zeros(model.nv)

    def draw_model(self, model: mujoco.MjModel, generator: np.random.Generator) -> Mapping[str, np.ndarray]:
        if not self._randomize:
            return {}
        build = rules.draw_build(generator)
        scale = np.array([rules.mass_scale(model.body(row).name, build) for row in range(model.nbody)])
        friction = model.geom_friction.copy()
        for geom in (geom for geoms in rules.FEET.values() for geom in geoms):
            friction[model.geom(geom).id, 0] = build.foot_friction * FOOT_FRICTION
        return {
            "body_mass": model.body_mass * scale,
            "body_inertia": model.body_inertia * scale[:, None],
            "geom_friction": friction,
            "actuator_user": np.tile([build.voltage, build.viscous_damping], (NUM_MOTORS, 1)),
        }

    def progress(self, physics: Physics) -> np.ndarray:
        return physics.qpos[:, 0]

    def healthy(self, physics: Physics) -> np.ndarray:
        return rules.upright(physics.qpos[:, 2], physics.qpos[:, 4], physics.qpos[:, 5])

    def reward(self, motion: Motion) -> np.ndarray:
        return rules.reward(motion.velocity * SUBSTEPS * SUBSTEP, motion.observation)

    def observe(self, physics: Physics) -> np.ndarray:
        torques = MotorMemory.of(physics.memory).torque
        orientation = physics.qpos[:, [4, 5, 6, 3]]
        return np.concatenate(
            [physics.qpos[:, _ANGLES], physics.qvel[:, _VELOCITIES], torques, orientation], axis=1
        )
