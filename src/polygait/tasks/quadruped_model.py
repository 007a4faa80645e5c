"""A quadruped of 15 kg as a MuJoCo model, built from the figures of its class (Go1, Go2, Mini Cheetah).

Each leg has a hip that swings it sideways, a thigh and a knee; PD servos hold a crouched home pose.
"""

from __future__ import annotations

import mujoco
import numpy as np

LEGS = ("front_left", "front_right", "back_left", "back_right")
JOINTS = ("hip", "thigh", "knee")
HOME = (0.0, 0.9, -1.8)
"""Angles of a leg in the home pose, in rad."""
HOME_HEIGHT = 0.287
"""Of the base above the ground in the home pose."""
TIMESTEP = 0.004
STIFFNESS, DAMPING = 50.0, 1.0  # N·m/rad, N·m·s/rad
EFFORT = (23.7, 23.7, 45.4)
"""The largest torques of hip, thigh and knee in N·m."""

RANGES = ((-1.05, 1.05), (-1.5, 3.4), (-2.7, -0.85))
_BASE_MASS, _BASE_INERTIA, _BASE_HALF = 6.9, (0.025, 0.098, 0.107), (0.19, 0.047, 0.057)
_HIP_PLACE, _HIP_MASS, _HIP_RADIUS = (0.193, 0.0465), 0.68, 0.046
_THIGH_OFFSET, _THIGH_MASS = 0.095, 1.15
_LINK, _CALF_MASS, _FOOT_MASS, _FOOT_RADIUS = 0.213, 0.15, 0.04, 0.022
_CAPSULE, _SPHERE, _BOX = (
    mujoco.mjtGeom.mjGEOM_CAPSULE,
    mujoco.mjtGeom.mjGEOM_SPHERE,
    mujoco.mjtGeom.mjGEOM_BOX,
)
_BODY = {"contype": 0, "conaffinity": 1, "friction": (0.6, 0.02, 0.01)}
_FOOT = {"contype": 0, "conaffinity": 1, "condim": 6, "friction": (0.8, 0.02, 0.01), "priority": 1}


def quadruped_spec() -> mujoco.MjSpec:
    """The robot on a floor, its servos around the home pose."""
    spec = mujoco.MjSpec()
    spec.modelname = "quadruped"
    spec.compiler.degree = False
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_light(pos=(0, 0, 3), dir=(0, 0, -1))
    spec.worldbody.add_geom(
        name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 0.05), contype=1, conaffinity=0
    )
    base = spec.worldbody.add_body(name="base", pos=(0, 0, HOME_HEIGHT))
    base.add_freejoint(name="base")
    base.mass, base.inertia, base.explicitinertial = _BASE_MASS, _BASE_INERTIA, True
    base.add_geom(name="base", type=_BOX, size=_BASE_HALF, **_BODY)
    for leg in LEGS:
        _add_leg(spec, base, leg)
    return spec


def home_pose() -> np.ndarray:
    """The positions of a robot that stands in its home pose."""
    return np.array([0, 0, HOME_HEIGHT, 1, 0, 0, 0, *(HOME * len(LEGS))])


def _add_leg(spec: mujoco.MjSpec, base: mujoco.MjsBody, leg: str) -> None:
    end, side = leg.split("_")
    ahead, aside = (1 if end == "front" else -1), (1 if side == "left" else -1)
    hip = base.add_body(name=f"{leg}_hip", pos=(ahead * _HIP_PLACE[0], aside * _HIP_PLACE[1], 0))
    hip.add_geom(name=f"{leg}_hip", type=_SPHERE, size=(_HIP_RADIUS, 0, 0), mass=_HIP_MASS, **_BODY)
    thigh = hip.add_body(name=f"{leg}_thigh", pos=(0, aside * _THIGH_OFFSET, 0))
    _add_link(thigh, f"{leg}_thigh", 0.025, _THIGH_MASS)
    knee = thigh.add_body(name=f"{leg}_calf", pos=(0, 0, -_LINK))
    _add_link(knee, f"{leg}_calf", 0.012, _CALF_MASS)
    knee.add_geom(
        name=f"{leg}_foot",
        type=_SPHERE,
        pos=(0, 0, -_LINK),
        size=(_FOOT_RADIUS, 0, 0),
        mass=_FOOT_MASS,
        **_FOOT,
    )
    for body, joint, index in zip((hip, thigh, knee), JOINTS, range(3), strict=True):
        name = f"{leg}_{joint}"
        body.add_joint(
            name=name,
            axis=(1, 0, 0) if joint == "hip" else (0, 1, 0),
            range=RANGES[index],
            armature=0.01,
            damping=0.1,
            frictionloss=0.2,
        )
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(STIFFNESS, DAMPING)
        servo.ctrllimited = servo.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        servo.ctrlrange = RANGES[index]
        servo.forcerange = (-EFFORT[index], EFFORT[index])


def _add_link(body: mujoco.MjsBody, name: str, radius: float, mass: float) -> None:
    ends = (0, 0, 0, 0, 0, -_LINK + 2 * radius)
    body.add_geom(name=name, type=_CAPSULE, fromto=ends, size=(radius, 0, 0), mass=mass, **_BODY)
