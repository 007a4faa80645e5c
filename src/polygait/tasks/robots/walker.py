"""Walker: two legs, six motors (Gymnasium Walker2d-v5, both feet with friction 1.9)."""

from __future__ import annotations

import numpy as np

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.planar import PlanarRobot
from polygait.tasks.robot import Physics
from polygait.tasks.state import StateLayout

_LEG = ("thigh", "leg", "foot")
_LAYOUT = StateLayout.of(
    {
        "torso.position": ("height", "pitch"),
        "right_leg.position": _LEG,
        "left_leg.position": _LEG,
        "torso.velocity": ("x", "z", "pitch"),
        "right_leg.velocity": _LEG,
        "left_leg.velocity": _LEG,
    }
)


class Walker(PlanarRobot):
    """Healthy: height within 0.8…2.0, pitch within ±1."""

    name = "walker"
    model_file = "walker2d_v5.xml"
    layout = _LAYOUT
    feet = {"right": "foot_geom", "left": "foot_left_geom"}
    removed = ("right_leg.*",)
    defaults = TaskDefaults(
        alpha={"dir": 0.05, "dvd": 0.1},
        # With a discount of 0.99 a fast gait that falls now and then pays more than one that does not.
        settings=for_all_presets({"smerl.target_return": 3000.0}, robust={"ppo.discount": 0.995}),
        paper_conditions=(
            "broken-leg",
            "broken-foot",
            "foot-mass",
            "foot-friction",
            "right-leg-sensor",
            "left-leg-sensor",
        ),
    )
    conditions = {
        "broken-thigh": "broken(thigh_joint)",
        "broken-leg": "broken(leg_joint)",
        "broken-foot": "broken(foot_joint)",
        "broken-left-thigh": "broken(thigh_left_joint)",
        "broken-left-leg": "broken(leg_left_joint)",
        "broken-left-foot": "broken(foot_left_joint)",
        "foot-mass": "mass(foot,foot_left)",
        "foot-friction": "friction(foot_geom,foot_left_geom)",
        "floor-friction": "friction(*)",
        "right-leg-sensor": "sensor(right_leg.position)",
        "left-leg-sensor": "sensor(left_leg.position)",
    }

    def healthy(self, physics: Physics) -> np.ndarray:
        height, pitch = physics.qpos[:, 1], physics.qpos[:, 2]
        return (height > 0.8) & (height < 2.0) & (np.abs(pitch) < 1.0)
