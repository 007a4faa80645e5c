"""What Hopper and Walker share: robots in a plane, as in Gymnasium v5."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import mujoco
import numpy as np

from polygait.tasks.robot import Motion, Physics, Robot

GYMNASIUM_MODELS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
GYMNASIUM_LICENCE = "MIT (a model of Gymnasium)"
_CONTROL_COST = 1e-3
_RESET_NOISE = 5e-3


class PlanarRobot(Robot):
    """Reward: forward velocity + 1 while healthy − 0.001·‖a‖². Positions without x, velocities within ±10."""

    model_file: str
    frame_skip = 4
    units = {"torso.position.height": "m", "torso.velocity.[xz]": "m/s", "*.velocity.*": "rad/s", "*": "rad"}
    licence = GYMNASIUM_LICENCE

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_file(str(GYMNASIUM_MODELS / self.model_file))

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = model.qpos0 + generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nq)
        return qpos, generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nv)

    def progress(self, physics: Physics) -> np.ndarray:
        return physics.qpos[:, 0]

    def reward(self, motion: Motion) -> np.ndarray:
        return motion.velocity + motion.healthy - _CONTROL_COST * motion.control_effort()

    def observe(self, physics: Physics) -> np.ndarray:
        return np.concatenate([physics.qpos[:, 1:], np.clip(physics.qvel, -10, 10)], axis=1)
