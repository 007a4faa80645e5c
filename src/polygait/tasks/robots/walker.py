"""Walker: two legs, six motors (Gymnasium Walker2d-v5, both feet with friction 1.9)."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from polygait.errors import UserError
from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.planar import PlanarRobot
from polygait.tasks.robot import Physics
from polygait.tasks.state import StateLayout

_FRICTION = 1.9
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
    """Healthy: height within 0.8…2.0, pitch within ±1.

    With `right_foot_friction` 0.9 the feet are those of Gymnasium's v2 to v4, on which the published results
    were made; the left one has 1.9 there too.
    """

    name = "walker"
    model_file = "walker2d_v5.xml"
    layout = _LAYOUT
    feet = {"right": "foot_geom", "left": "foot_left_geom"}
    removed = ("right_leg.*",)
    defaults = TaskDefaults(
        alpha={"dir": 0.05, "dvd": 0.1},
        settings=for_all_presets(
            {"smerl.target_return": 3000.0},
            paper={"task.right_foot_friction": 0.9},
        ),
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

    right_foot_friction: float = _FRICTION

    def __init__(self, right_foot_friction: float = _FRICTION) -> None:
        if not isinstance(right_foot_friction, int | float) or not 0 <= right_foot_friction < math.inf:
            raise UserError(
                f"right_foot_friction must be finite and not negative, got {right_foot_friction!r}.",
                "Leave it out for Gymnasium v5's 1.9; 0.9 is that of v2 to v4.",
            )
        if right_foot_friction != _FRICTION:  # v5's robot keeps its fingerprint, under which results are kept
            self.right_foot_friction = right_foot_friction

    def spec(self) -> mujoco.MjSpec:
        spec = super().spec()
        spec.geom("foot_geom").friction[0] = self.right_foot_friction
        return spec

    def healthy(self, physics: Physics) -> np.ndarray:
        height, pitch = physics.qpos[:, 1], physics.qpos[:, 2]
        return (height > 0.8) & (height < 2.0) & (np.abs(pitch) < 1.0)
