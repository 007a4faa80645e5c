"""HalfCheetah: a runner in a plane with two legs, six motors (Gymnasium HalfCheetah-v5). It never falls."""

from __future__ import annotations

import mujoco
import numpy as np

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.planar import GYMNASIUM_MODELS
from polygait.tasks.robot import Motion, Physics, Robot
from polygait.tasks.state import StateLayout

_CONTROL_COST = 0.1
_RESET_NOISE = 0.1
_LEG = ("thigh", "shin", "foot")
_LAYOUT = StateLayout.of(
    {
        "torso.position": ("height", "pitch"),
        "back_leg.position": _LEG,
        "front_leg.position": _LEG,
        "torso.velocity": ("x", "z", "pitch"),
        "back_leg.velocity": _LEG,
        "front_leg.velocity": _LEG,
    }
)


def _weigh(spec: mujoco.MjSpec) -> None:
    """Write out the masses that the file leaves to a total, which MuJoCo no longer likes to share out."""
    total, spec.compiler.settotalmass = spec.compiler.settotalmass, -1
    model = spec.compile()
    scale = total / sum(model.body_mass.tolist())  # in MuJoCo's order, for the same last bits
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    for body in spec.bodies[1:]:
        body.mass = model.body_mass[body.id] * scale
        body.inertia = model.body_inertia[body.id] * scale
        body.ipos, body.iquat = model.body_ipos[body.id], model.body_iquat[body.id]
        body.explicitinertial = True


class HalfCheetah(Robot):
    """Reward: forward velocity − 0.1·‖a‖². Every episode lasts 1000 steps, also on its back."""

    name = "half-cheetah"
    layout = _LAYOUT
    frame_skip = 5
    feet = {"back": "bfoot", "front": "ffoot"}
    removed = ("back_leg.*", "front_leg.*")
    defaults = TaskDefaults(
        alpha={"dir": 0.05, "dvd": 0.1}, settings=for_all_presets({"smerl.target_return": 3000.0})
    )
    conditions = {
        **{f"broken-{leg}-{part}": f"broken({leg[0]}{part})" for leg in ("back", "front") for part in _LEG},
        "foot-mass": "mass(bfoot,ffoot)",
        "foot-friction": "friction(bfoot,ffoot)",
        "floor-friction": "friction(*)",
        **{f"{leg}-leg-sensor": f"sensor({leg}_leg.position)" for leg in ("back", "front")},
    }

    def spec(self) -> mujoco.MjSpec:
        spec = mujoco.MjSpec.from_file(str(GYMNASIUM_MODELS / "half_cheetah.xml"))
        _weigh(spec)
        return spec

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = model.qpos0 + generator.uniform(-_RESET_NOISE, _RESET_NOISE, model.nq)
        return qpos, _RESET_NOISE * generator.standard_normal(model.nv)

    def progress(self, physics: Physics) -> np.ndarray:
        return physics.qpos[:, 0]

    def healthy(self, physics: Physics) -> np.ndarray:
        return np.ones(len(physics.qpos), dtype=bool)

    def reward(self, motion: Motion) -> np.ndarray:
        return motion.velocity - _CONTROL_COST * motion.control_effort()

    def observe(self, physics: Physics) -> np.ndarray:
        return np.concatenate([physics.qpos[:, 1:], physics.qvel], axis=1)
