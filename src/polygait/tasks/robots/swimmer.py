"""Swimmer: three links in a fluid, two motors (Gymnasium Swimmer-v5). It has no feet and never falls."""

from __future__ import annotations

import mujoco
import numpy as np

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.planar import GYMNASIUM_MODELS
from polygait.tasks.robot import Motion, Physics, Robot
from polygait.tasks.state import StateLayout

_CONTROL_COST = 1e-4
_RESET_NOISE = 0.1
_JOINTS = ("front", "back")
_LAYOUT = StateLayout.of(
    {
        "head.position": ("yaw",),
        "tail.position": _JOINTS,
        "head.velocity": ("x", "y", "yaw"),
        "tail.velocity": _JOINTS,
    }
)


class Swimmer(Robot):
    """Reward: forward velocity − 0.0001·‖a‖². Every episode lasts 1000 steps."""

    name = "swimmer"
    layout = _LAYOUT
    frame_skip = 4
    feet = {}
    removed = ("tail.*",)
    # A stroke lasts longer than the usual discount looks ahead.
    defaults = TaskDefaults(
        alpha={"dir": 0.005, "dvd": 0.01},
        settings=for_all_presets(
            {"smerl.target_return": 100.0}, robust={"ppo.discount": 0.9999, "sac.discount": 0.9999}
        ),
    )
    conditions = {
        "broken-front": "broken(motor1_rot)",
        "broken-back": "broken(motor2_rot)",
        "limp-front": "broken(motor1_rot):limp",
        "limp-back": "broken(motor2_rot):limp",
        "head-mass": "mass(torso)",
        "tail-mass": "mass(mid,back)",
        "tail-sensor": "sensor(tail.position)",
    }

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_file(str(GYMNASIUM_MODELS / "swimmer.xml"))

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = model.qpos0 + generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nq)
        return qpos, generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nv)

    def progress(self, physics: Physics) -> np.ndarray:
        return physics.qpos[:, 0]

    def healthy(self, physics: Physics) -> np.ndarray:
        return np.ones(len(physics.qpos), dtype=bool)

    def reward(self, motion: Motion) -> np.ndarray:
        return motion.velocity - _CONTROL_COST * motion.control_effort()

    def observe(self, physics: Physics) -> np.ndarray:
        return np.concatenate([physics.qpos[:, 2:], physics.qvel], axis=1)
