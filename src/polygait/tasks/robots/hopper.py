"""Hopper: one leg, three motors (Gymnasium Hopper-v5)."""

from __future__ import annotations

import numpy as np

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.planar import PlanarRobot
from polygait.tasks.robot import Physics
from polygait.tasks.state import StateLayout

_LAYOUT = StateLayout.of(
    {
        "torso.position": ("height", "pitch"),
        "leg.position": ("thigh", "leg", "foot"),
        "torso.velocity": ("x", "z", "pitch"),
        "leg.velocity": ("thigh", "leg", "foot"),
    }
)


class Hopper(PlanarRobot):
    """Healthy: height above 0.7, pitch within ±0.2, every other state number within ±100."""

    name = "hopper"
    model_file = "hopper.xml"
    layout = _LAYOUT
    feet = {"foot": "foot_geom"}
    removed = ("leg.*",)
    # A horizon that grows teaches it not to fall with noise, and then what it received with noise is what
    # holds without: together they survive more damages (docs/learning.md).
    defaults = TaskDefaults(
        alpha={"dir": 0.05, "dvd": 0.1},
        settings=for_all_presets(
            {"smerl.target_return": 3000.0},
            robust={"ppo.final_discount": 0.997, "ppo.deterministic_action": "clipped-mean"},
        ),
        paper_conditions=("broken-leg", "broken-foot", "foot-mass", "foot-friction"),
    )
    conditions = {
        "broken-thigh": "broken(thigh_joint)",
        "broken-leg": "broken(leg_joint)",
        "broken-foot": "broken(foot_joint)",
        "foot-mass": "mass(foot)",
        "foot-friction": "friction(foot_geom)",
        "floor-friction": "friction(*)",
    }

    def healthy(self, physics: Physics) -> np.ndarray:
        qpos, qvel = physics.qpos, physics.qvel
        moderate = (np.abs(qpos[:, 2:]) < 100).all(axis=1) & (np.abs(qvel) < 100).all(axis=1)
        return moderate & (qpos[:, 1] > 0.7) & (np.abs(qpos[:, 2]) < 0.2)
