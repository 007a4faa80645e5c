"""Humanoid: two legs, two arms, a waist, 17 motors (Gymnasium Humanoid-v5).

With contact forces, they and the other derived numbers (inertias and velocities of the bodies, torques) are
those at the observed state. Without, the latter are Gymnasium's: from the integrator's last evaluation.
"""

from __future__ import annotations

import mujoco
import numpy as np

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.planar import GYMNASIUM_MODELS
from polygait.tasks.robot import Motion, Physics, Robot
from polygait.tasks.state import StateLayout

_FORWARD, _ALIVE = 1.25, 5.0
_CONTROL_COST = 0.1
_LARGEST_CONTROL = 0.4  # of the model's motors; the cost is that of their controls
_CONTACT_COST, _LARGEST_CONTACT_COST = 5e-7, 10.0
_RESET_NOISE = 1e-2
_XYZ = ("x", "y", "z")
_LEG = ("hip_x", "hip_z", "hip_y", "knee")
_ARM = ("shoulder_1", "shoulder_2", "elbow")
_JOINTS = {
    "waist": ("z", "y", "x"),
    "right_leg": _LEG,
    "left_leg": _LEG,
    "right_arm": _ARM,
    "left_arm": _ARM,
}
"""In the order of the model, as the bodies below."""
_BODIES = {
    "torso": ("torso",),
    "waist": ("lower", "pelvis"),
    "right_leg": ("thigh", "shin", "foot"),
    "left_leg": ("thigh", "shin", "foot"),
    "right_arm": ("upper", "lower"),
    "left_arm": ("upper", "lower"),
}
_INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz", "offset_x", "offset_y", "offset_z", "mass")
_TWIST = tuple(f"{kind}_{axis}" for kind in ("angular", "linear") for axis in _XYZ)
_WRENCH = tuple(f"{kind}_{axis}" for kind in ("torque", "force") for axis in _XYZ)


def _per_body(quantity: str, components: tuple[str, ...]) -> dict[str, list[str]]:
    return {
        f"{limb}.{quantity}": [f"{body}.{component}" for body in bodies for component in components]
        for limb, bodies in _BODIES.items()
    }


def _per_joint(quantity: str) -> dict[str, tuple[str, ...]]:
    return {f"{limb}.{quantity}": joints for limb, joints in _JOINTS.items()}


_STATE = {
    "torso.height": ("z",),
    "torso.orientation": ("w", "x", "y", "z"),
    **_per_joint("position"),
    "torso.linear_velocity": _XYZ,
    "torso.angular_velocity": _XYZ,
    **_per_joint("velocity"),
    **_per_body("inertia", _INERTIA),
    **_per_body("motion", _TWIST),
    **_per_joint("torque"),
}
_FORCES = _per_body("contact", _WRENCH)


_LOCKS = {"knee": ":lock=-0.0349"}
"""A knee cannot be quite straight."""


class Humanoid(Robot):
    """Reward: 1.25·velocity + 5 while healthy − 0.1·‖controls‖² − 5·10⁻⁷·‖contact forces‖² (at most 10).

    Healthy: torso height within 1…2. Forward is the motion of the centre of mass. Controls are 0.4·actions.
    Without `contact_forces` they are neither observed nor charged.
    """

    name = "humanoid"
    frame_skip = 5
    feet = {"right": "right_foot", "left": "left_foot"}
    removed = ("*_leg", "*_arm")
    defaults = TaskDefaults(
        alpha={"dir": 0.05, "dvd": 0.1},
        settings=for_all_presets({"smerl.target_return": 4000.0}, robust={"ppo.learn_std": True}),
    )
    conditions = {
        **{
            f"broken-{side}-{joint.replace('_', '-')}": f"broken({side}_{joint}){_LOCKS.get(joint, '')}"
            for side in ("right", "left")
            for joint in _LEG
        },
        "broken-right-arm": "broken(right_shoulder*,right_elbow)",
        "broken-left-arm": "broken(left_shoulder*,left_elbow)",
        "foot-mass": "mass(right_foot,left_foot)",
        "torso-mass": "mass(torso)",
        "foot-friction": "friction(right_foot,left_foot)",
        "floor-friction": "friction(*)",
        **{f"{side}-leg-sensor": f"sensor({side}_leg.position)" for side in ("right", "left")},
    }

    def __init__(self, contact_forces: bool = True) -> None:
        self.needs_contact_forces = contact_forces
        self.layout = StateLayout.of({**_STATE, **_FORCES} if contact_forces else _STATE)
        self._observed = ("cinert", "cvel", "cfrc_ext")[: 3 if contact_forces else 2]
        self.fields = ("subtree_com", "qfrc_actuator", *self._observed)

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_file(str(GYMNASIUM_MODELS / "humanoid.xml"))

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = model.qpos0 + generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nq)
        return qpos, generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nv)

    def progress(self, physics: Physics) -> np.ndarray:
        # The centre of mass where the integrator last evaluated it, as Gymnasium measures it.
        return physics.derived["subtree_com"][:, 0, 0]

    def healthy(self, physics: Physics) -> np.ndarray:
        height = physics.qpos[:, 2]
        return (height > 1.0) & (height < 2.0)

    def reward(self, motion: Motion) -> np.ndarray:
        effort = _LARGEST_CONTROL**2 * motion.control_effort()
        reward = _FORWARD * motion.velocity + _ALIVE * motion.healthy - _CONTROL_COST * effort
        if self.needs_contact_forces:
            forces = motion.observation[:, _STATE_SIZE:]
            cost = _CONTACT_COST * np.einsum("ij,ij->i", forces, forces)
            reward -= np.minimum(cost, _LARGEST_CONTACT_COST)
        return reward

    def observe(self, physics: Physics) -> np.ndarray:
        # The world's own row, and the torques at the free joint, are always zero and left out.
        derived = {name: physics.derived[name][:, 1:] for name in self._observed}
        flat = {name: values.reshape(len(values), -1) for name, values in derived.items()}
        torques = physics.derived["qfrc_actuator"][:, 6:]
        forces = [flat["cfrc_ext"]] if self.needs_contact_forces else []
        return np.concatenate(
            [physics.qpos[:, 2:], physics.qvel, flat["cinert"], flat["cvel"], torques, *forces], axis=1
        )


_STATE_SIZE = sum(map(len, _STATE.values()))
