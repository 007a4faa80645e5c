"""The names in a compiled MuJoCo model, by which its parts can be changed; every part has one.

A geom, joint or body without a name of its own is called after its body and its place there: `thigh.geom.2`,
`thigh.joint.0`. Such names stay the same as long as the model's file does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco

from polygait.tasks.state import StateLayout
from polygait.variations import Anatomy

_MOVABLE = (mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value)


def model_anatomy(
    model: mujoco.MjModel, layout: StateLayout, actions: Sequence[str] | None = None, **further: Any
) -> Anatomy:
    """The anatomy of a model; `actions` name what a policy commands where that is not one motor each."""
    bodies = _body_names(model)
    joints = {
        name: index
        for index, name in enumerate(_joint_names(model, bodies))
        if model.jnt_type[index] in _MOVABLE
    }
    motors = motor_names(model)
    return Anatomy(
        joints={name: (index, int(model.jnt_dofadr[index])) for name, index in joints.items()},
        bodies={name: index for index, name in enumerate(bodies) if index > 0},
        geoms={name: index for index, name in enumerate(_geom_names(model, bodies))},
        actions=motors if actions is None else actions,
        state=layout.select,
        motors=motors,
        joint_ranges={
            name: (float(model.jnt_range[index, 0]), float(model.jnt_range[index, 1]))
            for name, index in joints.items()
            if model.jnt_limited[index]
        },
        state_parts=list(layout.parts),
        qpos_rows={name: int(model.jnt_qposadr[index]) for name, index in joints.items()},
        **further,
    )


def motor_names(model: mujoco.MjModel) -> list[str]:
    """What every motor is called: its joint where that has a name, or as the model calls it."""
    motors = []
    for index in range(model.nu):
        drives_joint = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT.value
        joint = model.joint(model.actuator_trnid[index, 0]).name if drives_joint else ""
        motors.append(joint or model.actuator(index).name or f"actuator_{index}")
    return motors


def _body_names(model: mujoco.MjModel) -> list[str]:
    """A body without a name is called after its first geom, or by its number where that is taken too."""
    names: list[str] = []
    given = {model.body(index).name for index in range(model.nbody)}
    for index in range(model.nbody):
        name = model.body(index).name
        if not name and model.body_geomnum[index]:
            name = model.geom(model.body_geomadr[index]).name.removesuffix("_geom")
            name = "" if name in given or name in names else name
        names.append(name or f"body_{index}")
    return names


def _geom_names(model: mujoco.MjModel, bodies: Sequence[str]) -> list[str]:
    return [
        model.geom(index).name or f"{bodies[body]}.geom.{index - int(model.body_geomadr[body])}"
        for index, body in enumerate(model.geom_bodyid.tolist())
    ]


def _joint_names(model: mujoco.MjModel, bodies: Sequence[str]) -> list[str]:
    return [
        model.joint(index).name or f"{bodies[body]}.joint.{index - int(model.body_jntadr[body])}"
        for index, body in enumerate(model.jnt_bodyid.tolist())
    ]
