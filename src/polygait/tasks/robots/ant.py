"""Ant: four legs, eight motors (Gymnasium Ant-v5).

Contact forces are those at the observed state. Gymnasium's mix the new state with the contacts of the
integrator's last stage, so the two differ a little; everything else is equal.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.planar import GYMNASIUM_LICENCE, GYMNASIUM_MODELS
from polygait.tasks.robot import Motion, Physics, Robot
from polygait.tasks.state import StateLayout

_CONTROL_COST = 0.5
_CONTACT_COST = 5e-4
_RESET_NOISE = 0.1
_TORSO = 1  # the body's row in the model
_XYZ = ("x", "y", "z")
_LEG = ("hip", "ankle")
_MOTION = {
    "torso.height": ("z",),
    "torso.orientation": ("w", "x", "y", "z"),
    **{f"leg_{leg}.position": _LEG for leg in (1, 2, 3, 4)},
    "torso.linear_velocity": _XYZ,
    "torso.angular_velocity": _XYZ,
    **{f"leg_{leg}.velocity": _LEG for leg in (1, 2, 3, 4)},
}
_MOTION_SIZE = sum(map(len, _MOTION.values()))
_BODIES = ("torso", *(f"leg_{leg}_{part}" for leg in (1, 2, 3, 4) for part in ("root", "upper", "lower")))
_WRENCH = [f"{kind}_{axis}" for kind in ("torque", "force") for axis in _XYZ]
_FORCES = {"contact.forces": [f"{body}.{component}" for body in _BODIES for component in _WRENCH]}
_ROOTS = ("front_left_leg", "front_right_leg", "back_leg", "right_back_leg")
_ANKLES = ("left_ankle", "right_ankle", "third_ankle", "fourth_ankle")


class Ant(Robot):
    """Reward: forward velocity + 1 while healthy − 0.5·‖a‖² − 0.0005·‖contact forces within ±1‖².

    Healthy: torso height within 0.2…1.0. Legs are numbered as the joints of the model (hip_1, ankle_1).
    Without `contact_forces` they are neither observed nor charged, as in the published results.
    """

    name = "ant"
    units = {
        "torso.height.z": "m",
        "torso.orientation.*": "1",
        "torso.linear_velocity.*": "m/s",
        "*velocity.*": "rad/s",
        "contact.*.force_?": "N",
        "contact.*.torque_?": "N·m",
        "leg_*.position.*": "rad",
    }
    licence = GYMNASIUM_LICENCE
    frame_skip = 5
    locks_at_zero = True  # the paper's: no ankle's range holds 0
    fields = ("xpos", "cfrc_ext")
    feet = {f"leg_{leg}": f"{ankle}_geom" for leg, ankle in enumerate(_ANKLES, start=1)}
    # Noise in every joint costs an Ant much, so its standard deviation is learned. Contact forces are nearly
    # always 0: normalised like the rest they would drown it, and small minibatches made too large steps.
    defaults = TaskDefaults(
        alpha={"dir": 0.01, "dvd": 0.01},
        settings=for_all_presets(
            {"smerl.target_return": 2500.0},
            robust={"ppo.learn_std": True, "ppo.minibatch_size": 256, "ppo.min_observation_std": 0.5},
            paper={"task.contact_forces": False},
        ),
        # The paper's "leg k (R³)" are the orientation and the joints in threes, so its filter drops both.
        removed={"paper": ("leg_*", "torso.orientation")},
        paper_conditions=(
            "broken-hip",
            "broken-ankle",
            "leg-mass",
            "ankle-friction",
            *(f"leg-{leg}-sensor" for leg in (1, 2, 3, 4)),
        ),
    )
    conditions = {
        "broken-hip": "broken(hip_1)",
        "broken-ankle": "broken(ankle_1)",
        **{
            f"broken-{joint}-{leg}": f"broken({joint}_{leg})"
            for leg in (2, 3, 4)
            for joint in ("hip", "ankle")
        },
        "leg-mass": f"mass({','.join((*_ROOTS, 'aux_*', *_ANKLES))})",
        "ankle-friction": f"friction({','.join(f'{ankle}_geom' for ankle in _ANKLES)})",
        "floor-friction": "friction(*)",
        **{f"leg-{leg}-sensor": f"sensor(leg_{leg}.position)" for leg in (1, 2, 3, 4)},
    }

    def __init__(self, contact_forces: bool = True) -> None:
        self.needs_contact_forces = contact_forces
        self.layout = StateLayout.of({**_MOTION, **_FORCES} if contact_forces else _MOTION)
        # The legs, and the contact forces, which would reveal them.
        self.removed = ("leg_*", "contact.forces") if contact_forces else ("leg_*",)

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_file(str(GYMNASIUM_MODELS / "ant.xml"))

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = model.qpos0 + generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nq)
        return qpos, _RESET_NOISE * generator.standard_normal(model.nv)

    def initial_fields(self, qpos: np.ndarray) -> Mapping[str, np.ndarray]:
        # A new robot is in the air, where nothing pushes it.
        bodies = (len(qpos), _TORSO + len(_BODIES))
        positions = np.zeros((*bodies, 3))
        positions[:, _TORSO] = qpos[:, :3]
        return {"xpos": positions, "cfrc_ext": np.zeros((*bodies, 6))}

    def progress(self, physics: Physics) -> np.ndarray:
        # Gymnasium measures the torso where the integrator last evaluated it, a little off the state.
        return physics.derived["xpos"][:, _TORSO, 0]

    def healthy(self, physics: Physics) -> np.ndarray:
        height = physics.qpos[:, 2]
        return (height >= 0.2) & (height <= 1.0)

    def reward(self, motion: Motion) -> np.ndarray:
        reward = motion.velocity + motion.healthy - _CONTROL_COST * motion.control_effort()
        if self.needs_contact_forces:
            forces = motion.observation[:, _MOTION_SIZE:]
            reward -= _CONTACT_COST * np.einsum("ij,ij->i", forces, forces)
        return reward

    def observe(self, physics: Physics) -> np.ndarray:
        if not self.needs_contact_forces:
            return np.concatenate([physics.qpos[:, 2:], physics.qvel], axis=1)
        forces = physics.derived["cfrc_ext"]  # the world's own row is always zero and left out
        observation = np.empty((len(forces), self.layout.size))
        observation[:, : _MOTION_SIZE - 14] = physics.qpos[:, 2:]
        observation[:, _MOTION_SIZE - 14 : _MOTION_SIZE] = physics.qvel
        np.clip(forces.reshape(len(forces), -1)[:, 6:], -1.0, 1.0, out=observation[:, _MOTION_SIZE:])
        return observation
