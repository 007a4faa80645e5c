"""Minitaur as a MuJoCo model, built from the figures of PyBullet's robot.

Eight motors turn the upper legs; each leg's two lower legs meet in a foot, a closed loop. Bodies without a
joint of their own keep their masses apart, so that each can be changed by name.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from polygait.tasks.minitaur_motor import LEGS, NUM_MOTORS, SUBSTEP, VISCOUS_DAMPING, VOLTAGE
from polygait.tasks.minitaur_rules import SIDES, START_HEIGHT

FOOT_FRICTION = 0.7
"""MuJoCo's coefficient for Bullet's 1. Bullet's solver spends much of a sliding foot's friction sideways,
where the legs are stiff; MuJoCo's acts against the motion. 0.7 makes gaits equally fast (docs/robots.md)."""

_BASE, _RAIL, _MOTOR, _LEG = 3.0, 0.1, 0.25, 0.05  # kg
_RAIL_TILT = math.radians(5)
_HALF_SHANK = {
    ("front", "left"): 0.099,
    ("front", "right"): 0.1,
    ("back", "left"): 0.1,
    ("back", "right"): 0.1016,
}
"""Half lengths of the lower legs in m; they differ, so the robot stands a little askew."""
_FOOT_POINT = {"left": 0.01, "right": 0.005}
"""How far to its side each lower leg is held at the foot."""

# Bullet's feet are springs, k = 10,000 N/m with c = 10 N·s/m, integrated implicitly:
# f = −(k·dt + c)·v⁺ − k·r. MuJoCo's soft contact gives the same force with the regularisation R, the
# stiffness k·R and the damping 1/dt below; it wants R as an impedance, relative to a foot's inverse mass.
_STIFFNESS, _DAMPING, _INVERSE_MASS = 10_000.0, 10.0, 3.6
_REGULARISATION = 1 / (SUBSTEP * (_STIFFNESS * SUBSTEP + _DAMPING))
_IMPEDANCE = _INVERSE_MASS / (_INVERSE_MASS + _REGULARISATION)
_FRICTION_HARDNESS = 30.0  # how much harder than the springs friction is; Bullet's is rigid

_LIMB = {"contype": 0, "conaffinity": 1, "condim": 3, "friction": (0.5, 0.0, 0.0)}
_FOOT = {
    **_LIMB,
    "friction": (FOOT_FRICTION, 0.0, 0.0),
    "solref": (-_STIFFNESS * _REGULARISATION * _IMPEDANCE, -_IMPEDANCE / SUBSTEP),
    "solimp": (_IMPEDANCE, _IMPEDANCE, 0.001, 0.5, 2.0),
    "priority": 1,
}
# A closed leg that has come apart closes by half in every substep; fast turns open it by up to 1 mm in one.
_LOOP = {"solref": (-0.5 / SUBSTEP**2, -1 / SUBSTEP), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2.0)}
_BOX = mujoco.mjtGeom.mjGEOM_BOX


def minitaur_spec() -> mujoco.MjSpec:
    """The robot on a floor; its actuators are plain torques, their user data voltage and damping."""
    spec = mujoco.MjSpec()
    spec.modelname = "minitaur"
    spec.option.timestep = SUBSTEP
    spec.option.gravity = (0, 0, -10)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = _FRICTION_HARDNESS
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE  # faster here
    spec.nuserdata = 3 * NUM_MOTORS
    spec.nuser_actuator = 2
    # Of two geoms in contact MuJoCo uses the larger friction: the robot's.
    spec.worldbody.add_geom(
        name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 1), conaffinity=0, friction=(0, 0, 0)
    )
    base = spec.worldbody.add_body(name="base", pos=(0, 0, START_HEIGHT))
    base.add_freejoint(name="base")
    _weigh(base, _BASE, (0.165, 0.15, 0.035), margin=0.001)
    _add_box(base, "base", 0.0, (0.165, 0.05, 0.035))
    for side, sign in (("left", 1), ("right", -1)):
        _add_box(base, f"base_{side}", sign * 0.1, (0.085, 0.05, 0.025))
        tilt = _quaternion((1, 0, 0), sign * _RAIL_TILT)
        rail = base.add_body(name=f"rail_{side}", pos=(0, sign * 0.1, 0), quat=tilt)
        _weigh(rail, _RAIL, (0.17, 0.04, 0.02), margin=0.001)
        for part, y in (("left", 0.035), ("right", -0.035)):
            _add_box(rail, f"rail_{side}_{part}", y, (0.17, 0.005, 0.02))
    for leg in LEGS:
        for side in SIDES:
            _add_half_leg(spec, leg, side)
        spec.add_equality(
            name=f"foot_{leg}",
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=f"foot_{leg}_right",
            name2=f"foot_{leg}_left",
            **_LOOP,
        )
    return spec


def _add_half_leg(spec: mujoco.MjSpec, leg: str, side: str) -> None:
    """One motor, which turns with its upper leg, and the lower leg at its knee.

    Joint axes are turned so that angles are the motors' own.
    """
    end, rail = leg.split("_")
    name = f"{leg}_{side}"
    outward = 1 if rail == "left" else -1
    position = (0.21 if end == "front" else -0.21, outward * (0.025 if side == rail else -0.04), 0)
    facing = _quaternion((1, 0, 0), math.pi / 2)
    if side == "left":
        facing = _turned(facing)
    motor = spec.body(f"rail_{rail}").add_body(name=f"motor_{name}", pos=position, quat=facing)
    motor.add_joint(name=f"motor_{name}", axis=(0, 0, -outward))
    if name == "front_left_right":
        # PyBullet's file forgets this motor's shape, which leaves it hardly any inertia.
        _weigh(motor, _MOTOR, (0.0, 0.0, 0.0), margin=0.001)
    else:
        _weigh(motor, _MOTOR, (0.0434, 0.0434, 0.013), margin=0.003)
        cylinder = mujoco.mjtGeom.mjGEOM_CYLINDER
        motor.add_geom(name=f"motor_{name}", type=cylinder, size=(0.0434, 0.013, 0), **_LIMB)

    level = _quaternion((1, 0, 0), -math.pi / 2)
    upper = motor.add_body(name=f"upper_{name}", pos=(0, 0.06, -0.015), quat=level)
    _weigh(upper, _LEG, (0.005, 0.005, 0.055), margin=0.0)
    _add_box(upper, f"upper_{name}", 0.0, (0.005, 0.005, 0.055))
    lower = upper.add_body(name=f"lower_{name}", pos=(0, 0.01, 0.055))
    lower.add_joint(name=f"knee_{name}", axis=(0, -outward, 0))
    half = (0.005, 0.005, _HALF_SHANK[end, side])
    _weigh(lower, _LEG, half, margin=0.001)
    lower.add_geom(name=f"foot_{name}", type=_BOX, pos=(0, 0, 0.1), size=half, **_FOOT)
    lower.add_site(name=f"foot_{name}", pos=(0, _FOOT_POINT[side], 0.2))

    actuator = spec.add_actuator(
        name=f"motor_{name}", target=f"motor_{name}", trntype=mujoco.mjtTrn.mjTRN_JOINT
    )
    actuator.set_to_motor()
    actuator.userdata = (VOLTAGE, VISCOUS_DAMPING)


def _add_box(body: mujoco.MjsBody, name: str, y: float, half: tuple[float, float, float]) -> None:
    body.add_geom(name=name, type=_BOX, pos=(0, y, 0), size=half, **_LIMB)


def _weigh(body: mujoco.MjsBody, mass: float, half: tuple[float, float, float], margin: float) -> None:
    """Bullet's inertia: that of the box around a link's shapes and their margin, about the link's origin."""
    square = np.square(np.array(half) + margin)
    body.mass = mass
    body.ipos, body.iquat = (0, 0, 0), (1, 0, 0, 0)
    body.inertia = mass / 3 * (square.sum() - square)
    body.explicitinertial = True


def _quaternion(axis: tuple[int, int, int], angle: float) -> np.ndarray:
    return np.array([math.cos(angle / 2), *(math.sin(angle / 2) * np.array(axis))])


def _turned(quaternion: np.ndarray) -> np.ndarray:
    """The same, then half a turn about z."""
    w, x, y, z = quaternion
    return np.array([-z, -y, x, w])
