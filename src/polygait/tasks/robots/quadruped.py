"""Quadruped: a robot dog of 15 kg with twelve PD servos at 50 Hz, on flat ground.

Its figures are those of the class of Go1, Go2 and Mini Cheetah; `quadruped_model.py` builds it.
"""

from __future__ import annotations

import mujoco
import numpy as np

from polygait.tasks.actions import ActionLaw
from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.free_base import GRAVITY, HEADING, gravity_direction, heading, to_body
from polygait.tasks.quadruped_model import (
    DAMPING,
    EFFORT,
    HOME,
    JOINTS,
    LEGS,
    RANGES,
    STIFFNESS,
    TIMESTEP,
    home_pose,
    quadruped_spec,
)
from polygait.tasks.robot import Motion, Physics, Robot
from polygait.tasks.state import StateLayout

_ACTION_SCALE = 0.5
_FRAME_SKIP = 5
_SPEED = 1.0
"""In m/s; going faster earns no more."""
_ALIVE, _UPRIGHT_COST, _SIDE_COST, _TURN_COST = 0.2, 1.0, 0.5, 0.1
_ENERGY_COST, _CONTROL_COST = 5e-4, 0.01
_LEAST_HEIGHT, _LEAST_UPRIGHT = 0.16, 0.6
_NOISE = 0.05
_XYZ = ("x", "y", "z")
_LAYOUT = StateLayout.of(
    {
        "base.gravity": GRAVITY,
        "base.heading": HEADING,
        "base.linear_velocity": _XYZ,
        "base.angular_velocity": _XYZ,
        **{f"{leg}.{quantity}": JOINTS for quantity in ("position", "velocity", "target") for leg in LEGS},
    }
)
_HOME = np.array(HOME * len(LEGS))
_GRAVITY, _LINEAR, _ANGULAR = (
    _LAYOUT.slice(f"base.{part}") for part in ("gravity", "linear_velocity", "angular_velocity")
)
_ANGLES, _SPEEDS, _TARGETS = (slice(start, start + len(_HOME)) for start in (11, 23, 35))
_LAW = ActionLaw(
    kinds=("position",) * len(_HOME),
    names=tuple(f"{leg}_{joint}" for leg in LEGS for joint in JOINTS),
    units=("rad",) * len(_HOME),
    default=HOME * len(LEGS),
    scale=(_ACTION_SCALE,) * len(_HOME),
    low=tuple(low for low, _ in RANGES) * len(LEGS),
    high=tuple(high for _, high in RANGES) * len(LEGS),
    stiffness=(STIFFNESS,) * len(_HOME),
    damping=(DAMPING,) * len(_HOME),
    effort=EFFORT * len(LEGS),
    rate=1 / (TIMESTEP * _FRAME_SKIP),
)


class Quadruped(Robot):
    """Reward: forward speed up to 1 m/s + 0.2 while healthy − tilt − going sideways − turning − energy.

    Healthy: base above 0.16 m and tilted by less than 53°. An action moves the targets of the twelve joints
    from the home pose, by 0.5 rad at most. The state is what a robot's own sensors and estimator tell: down,
    heading, velocities of the base as seen from it, angles (from home), speeds and targets of the joints.
    """

    name = "quadruped"
    layout = _LAYOUT
    frame_skip = _FRAME_SKIP
    feet = {leg: f"{leg}_foot" for leg in LEGS}
    removed = tuple(f"{leg}.*" for leg in LEGS)
    action_law = _LAW
    defaults = TaskDefaults(
        alpha={"dir": 0.01, "dvd": 0.01},
        settings=for_all_presets({"smerl.target_return": 700.0}, robust={"ppo.learn_std": True}),
    )
    conditions = {
        **{
            f"broken-{leg.replace('_', '-')}-{joint}": f"broken({leg}_{joint}):limp"
            for leg in LEGS
            for joint in JOINTS
        },
        **{f"motor-failure-{leg.replace('_', '-')}": f"motor({leg}_*)" for leg in LEGS},
        "weak-motors": "strength(*)",
        "payload": "mass(base)",
        "foot-mass": "mass(*_calf)",
        "foot-friction": "friction(*_foot)",
        "floor-friction": "friction(*)",
        **{f"{leg.replace('_', '-')}-sensor": f"sensor({leg}.position)" for leg in LEGS},
    }

    def spec(self) -> mujoco.MjSpec:
        return quadruped_spec()

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = home_pose()
        qpos[7:] += generator.uniform(-_NOISE, _NOISE, len(_HOME))
        return qpos, generator.uniform(-_NOISE, _NOISE, model.nv)

    def progress(self, physics: Physics) -> np.ndarray:
        return physics.qpos[:, 0]

    def healthy(self, physics: Physics) -> np.ndarray:
        upright = -gravity_direction(physics.qpos[:, 3:7])[:, 2]
        return (physics.qpos[:, 2] > _LEAST_HEIGHT) & (upright > _LEAST_UPRIGHT)

    def reward(self, motion: Motion) -> np.ndarray:
        state = motion.observation
        gravity, linear, angular = state[:, _GRAVITY], state[:, _LINEAR], state[:, _ANGULAR]
        torque = STIFFNESS * (state[:, _TARGETS] - state[:, _ANGLES]) - DAMPING * state[:, _SPEEDS]
        power = np.abs(torque * state[:, _SPEEDS]).sum(axis=1)
        return (
            np.minimum(motion.velocity, _SPEED)
            + _ALIVE * motion.healthy
            - _UPRIGHT_COST * np.square(gravity[:, :2]).sum(axis=1)
            - _SIDE_COST * np.square(linear[:, 1])
            - _TURN_COST * np.square(angular[:, 2])
            - _ENERGY_COST * power
            - _CONTROL_COST * motion.control_effort()
        )

    def observe(self, physics: Physics) -> np.ndarray:
        orientation = physics.qpos[:, 3:7]
        return np.concatenate(
            [
                gravity_direction(orientation),
                heading(orientation),
                to_body(orientation, physics.qvel[:, :3]),
                physics.qvel[:, 3:6],
                physics.qpos[:, 7:] - _HOME,
                physics.qvel[:, 6:],
                physics.ctrl - _HOME,
            ],
            axis=1,
        )
