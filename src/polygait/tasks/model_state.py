"""The state of a robot that is known by its model alone: which numbers, under which names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import mujoco
import numpy as np

from polygait.errors import UserError
from polygait.tasks.free_base import GRAVITY, HEADING
from polygait.tasks.morphology import Limb, Morphology, body_name, joint_name, word
from polygait.tasks.state import StateLayout

_FREE, _BALL, _SLIDE, _HINGE = (
    mujoco.mjtJoint.mjJNT_FREE.value,
    mujoco.mjtJoint.mjJNT_BALL.value,
    mujoco.mjtJoint.mjJNT_SLIDE.value,
    mujoco.mjtJoint.mjJNT_HINGE.value,
)
_XYZ = ("x", "y", "z")
_BASE = {
    "base.height": ("z",),
    "base.gravity": GRAVITY,
    "base.heading": HEADING,
    "base.linear_velocity": _XYZ,
    "base.angular_velocity": _XYZ,
}
"""Of a free base; velocities are as seen from it."""
_IMU = {
    mujoco.mjtSensor.mjSENS_GYRO.value: _XYZ,
    mujoco.mjtSensor.mjSENS_ACCELEROMETER.value: _XYZ,
}
"""Sensors of an inertial measurement unit that are shown as they are."""


Places = slice | np.ndarray
"""Numbers of a row: a slice where they are neighbours, which is read faster."""


class StateReader(NamedTuple):
    """Where the numbers of the state lie in qpos and qvel, and what they are called."""

    layout: StateLayout
    removed: tuple[str, ...]
    """The limbs: parts that the default filter removes."""
    base_place: int
    """Where in qpos a free base begins."""
    base_speed: int
    """Where in qvel it does."""
    base_positions: Places
    """Of a base in a plane: what is shown of its positions, not how far it has come."""
    base_velocities: Places
    tilt_places: Places
    """Where in qpos the angles of a base in a plane are."""
    positions: Places
    """Of the limbs' joints in qpos."""
    velocities: Places
    scalar_positions: Places
    """Positions of hinges and slides, to which noise may be added."""
    sensors: tuple[str, ...]
    conditions: Mapping[str, str]
    tilt_columns: Places
    """Where the state tells how far the base leans: down's x and y, or angles."""
    joint_columns: Places
    """Where the state tells how far hinges are from home."""
    slides: Mapping[int, int]
    """Which place in qpos is how far the base has come along an axis of the world."""

    def posture(self, state: np.ndarray) -> np.ndarray:
        """How far robots lean and are from their home pose: sin² of the tilt + mean square of the joints."""
        leaning = state[:, self.tilt_columns]
        sines = leaning if len(self.slides) == 3 else np.sin(leaning)
        away = state[:, self.joint_columns]
        return np.square(sines).sum(axis=1) + np.square(away).sum(axis=1) / max(1, away.shape[1])

    def along(self, model: mujoco.MjModel, axis: int) -> int:
        """Where in qpos the way along an axis of the world is."""
        if axis not in self.slides:
            can = ", ".join(_XYZ[one] for one in self.slides if one < 2) or "neither x nor y"
            raise UserError(
                f"This robot cannot go along {_XYZ[axis]}: its base slides along {can}.",
                f"Say which way is forward: `forward={can[:1]!r}`.",
            )
        return self.slides[axis]


def read_state(model: mujoco.MjModel, shape: Morphology, home: np.ndarray) -> StateReader:
    """The state of a robot: its base, then positions and velocities of its limbs, then what else it feels."""
    slides = _slides(model, shape)
    first = shape.base_joints[0]
    place, speed = int(model.jnt_qposadr[first]), int(model.jnt_dofadr[first])
    loose = [joint for joint in shape.base_joints if model.jnt_type[joint] in (_SLIDE, _HINGE)]
    shown = [joint for joint in loose if model.jnt_qposadr[joint] not in (slides.get(0), slides.get(1))]
    turning = [joint for joint in loose if model.jnt_type[joint] == _HINGE and not _is_yaw(model, joint)]
    if shape.is_free:
        parts: dict[str, tuple[str, ...]] = dict(_BASE)
    else:
        parts = {
            "base.position": tuple(word(joint_name(model, joint)) for joint in shown),
            "base.velocity": tuple(word(joint_name(model, joint)) for joint in loose),
        }
    base_size = sum(map(len, parts.values()))
    positions, velocities = _limb_places(model, shape.limbs)
    for quantity, size in (("position", _position_names), ("velocity", _velocity_names)):
        for limb in shape.limbs:
            parts[f"{limb.name}.{quantity}"] = size(model, limb)
    if model.na:
        parts["motors.activation"] = tuple(_activation_names(model))
    sensors = [
        one for one in range(model.nsensor) if model.sensor_type[one] in _IMU and model.sensor(one).name
    ]
    for one in sensors:
        parts[f"imu.{word(model.sensor(one).name)}"] = _IMU[int(model.sensor_type[one])]
    scalar = [
        int(model.jnt_qposadr[joint])
        for limb in shape.limbs
        for joint in limb.joints
        if model.jnt_type[joint] in (_SLIDE, _HINGE)
    ]
    hinges = [
        base_size + column
        for column, where in enumerate(positions)
        if where
        in {
            int(model.jnt_qposadr[joint])
            for limb in shape.limbs
            for joint in limb.joints
            if model.jnt_type[joint] == _HINGE
        }
    ]
    leaning = [1, 2] if shape.is_free else [shown.index(joint) for joint in turning]
    return StateReader(
        layout=StateLayout.of({part: leaves for part, leaves in parts.items() if leaves}),
        removed=tuple(limb.name for limb in shape.limbs),
        base_place=place,
        base_speed=speed,
        base_positions=_places([int(model.jnt_qposadr[joint]) for joint in shown]),
        base_velocities=_places([int(model.jnt_dofadr[joint]) for joint in loose]),
        tilt_places=_places([int(model.jnt_qposadr[joint]) for joint in turning]),
        positions=_places(positions),
        velocities=_places(velocities),
        scalar_positions=_places(scalar),
        sensors=tuple(model.sensor(one).name for one in sensors),
        conditions=_conditions(model, shape),
        tilt_columns=_places(leaning),
        joint_columns=_places(hinges),
        slides=slides,
    )


def _places(indices: list[int]) -> Places:
    if indices and indices == list(range(indices[0], indices[-1] + 1)):
        return slice(indices[0], indices[-1] + 1)
    return np.array(indices, dtype=np.intp)


def _slides(model: mujoco.MjModel, shape: Morphology) -> dict[int, int]:
    """Which place in qpos moves the base along which axis of the world."""
    found: dict[int, int] = {}
    for joint in shape.base_joints:
        place = int(model.jnt_qposadr[joint])
        if model.jnt_type[joint] == _FREE:
            return {0: place, 1: place + 1, 2: place + 2}
        if model.jnt_type[joint] == _SLIDE:
            axis = int(np.abs(model.jnt_axis[joint]).argmax())
            found.setdefault(axis, place)
    return found


def _is_yaw(model: mujoco.MjModel, joint: int) -> bool:
    return abs(float(model.jnt_axis[joint, 2])) > 0.9


def _limb_places(model: mujoco.MjModel, limbs: tuple[Limb, ...]) -> tuple[list[int], list[int]]:
    positions, velocities = [], []
    for limb in limbs:
        for joint in limb.joints:
            ball = model.jnt_type[joint] == _BALL
            place, speed = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            positions += range(place, place + (4 if ball else 1))
            velocities += range(speed, speed + (3 if ball else 1))
    return positions, velocities


def _position_names(model: mujoco.MjModel, limb: Limb) -> tuple[str, ...]:
    return _names(model, limb, ("w", *_XYZ))


def _velocity_names(model: mujoco.MjModel, limb: Limb) -> tuple[str, ...]:
    return _names(model, limb, _XYZ)


def _names(model: mujoco.MjModel, limb: Limb, of_ball: tuple[str, ...]) -> tuple[str, ...]:
    names: list[str] = []
    for joint, leaf in zip(limb.joints, limb.leaves, strict=True):
        ball = model.jnt_type[joint] == _BALL
        names += [f"{leaf}_{axis}" for axis in of_ball] if ball else [leaf]
    return tuple(names)


def _activation_names(model: mujoco.MjModel) -> list[str]:
    """One name per activation, in their order."""
    names = [""] * model.na
    for index in range(model.nu):
        start, count = int(model.actuator_actadr[index]), int(model.actuator_actnum[index])
        own = word(model.actuator(index).name or f"actuator_{index}")
        for place in range(count):
            names[start + place] = own if count == 1 else f"{own}_{place}"
    return names


def _conditions(model: mujoco.MjModel, shape: Morphology) -> dict[str, str]:
    """What may happen to any robot: to joints, limbs' motors and sensors, weight, strength, friction."""
    driven = {
        int(model.actuator_trnid[index, 0])
        for index in range(model.nu)
        if model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT.value
    }
    found: dict[str, str] = {}
    for limb in shape.limbs:
        named = [
            joint for joint in limb.joints if joint in driven and _can_be_written(model.joint(joint).name)
        ]
        for joint in named:
            name = model.joint(joint).name
            low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (0.0, 0.0)
            angle = min(max(0.0, low), high)  # as near to 0 as the joint can go
            found[f"broken-{_dashed(name)}"] = f"broken({name})" + (f":lock={angle:.4g}" if angle else "")
        if named:
            joints = ",".join(model.joint(joint).name for joint in named)
            found[f"motor-failure-{_dashed(limb.name)}"] = f"motor({joints})"
        found[f"{_dashed(limb.name)}-sensor"] = f"sensor({limb.name}.position)"
    base = body_name(model, shape.base)
    if _can_be_written(model.body(shape.base).name):
        found["payload"] = f"mass({base})"
    found["weak-motors"] = "strength(*)"
    found["floor-friction"] = "friction(*)"
    return found


def _can_be_written(name: str) -> bool:
    """Whether a part can be named in the language of variations."""
    return bool(name) and not set(name) & set("(),+@=:*?[] ")


def _dashed(name: str) -> str:
    return word(name).lower().replace("_", "-")
