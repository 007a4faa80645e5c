"""What a compiled model says about a robot's body: its base, its limbs, where its feet and its floor are."""

from __future__ import annotations

import re
from typing import NamedTuple

import mujoco
import numpy as np

from polygait.errors import UserError, unknown_name

_FREE, _BALL, _SLIDE, _HINGE = (
    mujoco.mjtJoint.mjJNT_FREE.value,
    mujoco.mjtJoint.mjJNT_BALL.value,
    mujoco.mjtJoint.mjJNT_SLIDE.value,
    mujoco.mjtJoint.mjJNT_HINGE.value,
)
_JOINT = mujoco.mjtTrn.mjTRN_JOINT.value, mujoco.mjtTrn.mjTRN_JOINTINPARENT.value
_TENDON = mujoco.mjtTrn.mjTRN_TENDON.value
_GROUNDS = mujoco.mjtGeom.mjGEOM_PLANE.value, mujoco.mjtGeom.mjGEOM_HFIELD.value
_HOMES = ("home", "stand", "standing", "default", "init", "initial", "start", "nominal")
_NEAR_GROUND = 0.15  # of the base's height: how much higher than the lowest limb a foot may be
_SAME_FOOT = 0.03  # of the base's height: how much higher than its lowest geom a foot's others may be


class Limb(NamedTuple):
    """A chain of bodies without a fork."""

    name: str
    joints: tuple[int, ...]
    leaves: tuple[str, ...]
    """What the joints are called within the limb."""
    bodies: tuple[int, ...]
    is_tip: bool
    """Whether no other limb hangs from it."""


class Morphology(NamedTuple):
    """A robot's body, in rows of its model."""

    base: int
    """The body that moves through the world."""
    base_joints: tuple[int, ...]
    """How: a free joint, or slides and hinges that nothing drives."""
    is_free: bool
    limbs: tuple[Limb, ...]


def find_morphology(model: mujoco.MjModel) -> Morphology:
    """The base and limbs of the robot in a model; a UserError where nothing can go anywhere."""
    driven = _driven_joints(model)
    candidates = [body for body in range(1, model.nbody) if _base_joints(model, body, driven)]
    if not candidates:
        raise UserError(
            f"Nothing in this model can go anywhere: of its {model.njnt} joints none is free, "
            "and none slides without a motor.",
            "Give the robot's base a <freejoint/>; for a task other than locomotion, write a Robot.",
        )
    # Balls, boxes and targets are free as well: the robot is what motors drive.
    base = max(candidates, key=lambda body: (_driven_below(model, body, driven), -body))
    if not _driven_below(model, base, driven):
        raise UserError(
            f"No motor drives a joint below the body {body_name(model, base)!r}, which moves freely.",
            "Check the model's <actuator> section.",
        )
    joints = _base_joints(model, base, driven)
    is_free = bool(model.jnt_type[joints[0]] == _FREE)
    return Morphology(base, joints, is_free, _limbs(model, base, set(joints)))


def body_name(model: mujoco.MjModel, body: int) -> str:
    """A body's name, or a number that stands for it."""
    return model.body(body).name or f"body_{body}"


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    """A joint's name, or a number that stands for it."""
    return model.joint(joint).name or f"joint_{joint}"


def word(name: str) -> str:
    """A name as one word of a state's name."""
    return re.sub(r"[^0-9A-Za-z_-]+", "_", name).strip("_") or "unnamed"


def home_qpos(model: mujoco.MjModel, keyframe: str | None = None) -> tuple[np.ndarray, str]:
    """The positions with which episodes begin, and where they come from.

    The keyframe asked for; one called home, stand or the like; the only one; otherwise the model's own pose,
    joints that would be outside their range in its middle.
    """
    names = [model.key(index).name or str(index) for index in range(model.nkey)]
    if keyframe is not None:
        if keyframe not in names:
            raise unknown_name("keyframe", keyframe, names)
        return model.key_qpos[names.index(keyframe)].copy(), f"keyframe {keyframe}"
    usual = [name for name in names if name.lower() in _HOMES] or (names if len(names) == 1 else [])
    if usual:
        return model.key_qpos[names.index(usual[0])].copy(), f"keyframe {usual[0]}"
    qpos = model.qpos0.copy()
    for joint in range(model.njnt):
        if model.jnt_limited[joint] and model.jnt_type[joint] in (_HINGE, _SLIDE):
            place, (low, high) = model.jnt_qposadr[joint], model.jnt_range[joint]
            if not low <= qpos[place] <= high:
                qpos[place] = (low + high) / 2
    return qpos, "the model's own pose"


def upward_place(model: mujoco.MjModel, shape: Morphology) -> int | None:
    """Where in qpos the base's height is, if it can rise."""
    for joint in shape.base_joints:
        place = int(model.jnt_qposadr[joint])
        if model.jnt_type[joint] == _FREE:
            return place + 2
        if model.jnt_type[joint] == _SLIDE and abs(model.jnt_axis[joint, 2]) > 0.9:
            return place
    return None


def floor_geom(model: mujoco.MjModel) -> int | None:
    """The ground: a plane or height field that does not move and that something may touch."""
    fixed = [
        geom
        for geom in range(model.ngeom)
        if model.geom_type[geom] in _GROUNDS
        and model.body_weldid[model.geom_bodyid[geom]] == 0
        and (model.geom_contype[geom] or model.geom_conaffinity[geom])
    ]
    level = [geom for geom in fixed if abs(model.geom_quat[geom, 1:3]).max() < 0.1]
    return (level or fixed or [None])[0]


def lowest_points(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """How low every geom reaches in a pose; of a mesh, how low the box around it does."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    upward = data.geom_xmat.reshape(-1, 3, 3)[:, 2]
    centre = data.geom_xpos[:, 2] + np.einsum("ij,ij->i", upward, model.geom_aabb[:, :3])
    reach = np.einsum("ij,ij->i", np.abs(upward), model.geom_aabb[:, 3:])
    kind, size = model.geom_type, model.geom_size
    sphere = kind == mujoco.mjtGeom.mjGEOM_SPHERE.value
    capsule = kind == mujoco.mjtGeom.mjGEOM_CAPSULE.value
    reach = np.where(sphere, size[:, 0], reach)
    return centre - np.where(capsule, np.abs(upward[:, 2]) * size[:, 1] + size[:, 0], reach)


def touching_geoms(model: mujoco.MjModel, shape: Morphology, floor: int) -> np.ndarray:
    """(geom,) Which of the robot's geoms can touch the ground."""
    meets = (model.geom_contype & model.geom_conaffinity[floor]) | (
        model.geom_conaffinity & model.geom_contype[floor]
    )
    own = np.isin(model.geom_bodyid, _subtree(model, shape.base))
    return (meets != 0) & own


def find_feet(
    model: mujoco.MjModel, shape: Morphology, floor: int, qpos: np.ndarray
) -> dict[str, tuple[int, ...]]:
    """The lowest geoms of the limbs that reach lowest, called as their limbs."""
    lowest = lowest_points(model, qpos)
    touching = touching_geoms(model, shape, floor)
    ends: dict[str, tuple[int, float]] = {}
    for limb in (limb for limb in shape.limbs if limb.is_tip):
        geoms = np.flatnonzero(touching & np.isin(model.geom_bodyid, limb.bodies))
        if geoms.size:
            first = int(geoms[np.argmin(lowest[geoms])])
            ends[limb.name] = first, float(lowest[first])
    if not ends:
        return {}
    ground = min(height for _, height in ends.values())
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    tall = max(float(data.xpos[shape.base, 2]) - ground, 1e-3)
    feet = {}
    for name, (first, height) in ends.items():
        if height <= ground + _NEAR_GROUND * tall:
            same = touching & (model.geom_bodyid == model.geom_bodyid[first])
            near = np.flatnonzero(same & (lowest <= height + _SAME_FOOT * tall))
            feet[name] = tuple(near.tolist())
    return feet


def _driven_joints(model: mujoco.MjModel) -> set[int]:
    """The joints that actuators act on, directly or by a tendon over joints."""
    driven: set[int] = set()
    for index in range(model.nu):
        target = int(model.actuator_trnid[index, 0])
        if model.actuator_trntype[index] in _JOINT:
            driven.add(target)
        elif model.actuator_trntype[index] == _TENDON:
            start, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
            for wrap in range(start, start + count):
                if model.wrap_type[wrap] == mujoco.mjtWrap.mjWRAP_JOINT.value:
                    driven.add(int(model.wrap_objid[wrap]))
                elif model.wrap_type[wrap] == mujoco.mjtWrap.mjWRAP_SITE.value:
                    body = int(model.site_bodyid[model.wrap_objid[wrap]])
                    driven.update(_joints_of(model, body))
    return driven


def _base_joints(model: mujoco.MjModel, body: int, driven: set[int]) -> tuple[int, ...]:
    """How a body moves through the world by itself: a free joint, or joints with a slide and no motor."""
    joints = _joints_of(model, body)
    if any(model.jnt_type[joint] == _FREE for joint in joints):
        return joints
    outside = model.body_weldid[model.body_parentid[body]] == 0
    loose = tuple(joint for joint in joints if joint not in driven)
    return loose if outside and any(model.jnt_type[joint] == _SLIDE for joint in loose) else ()


def _driven_below(model: mujoco.MjModel, body: int, driven: set[int]) -> int:
    inside = _subtree(model, body)
    return sum(model.jnt_bodyid[joint] in inside for joint in driven)


def _subtree(model: mujoco.MjModel, body: int) -> list[int]:
    inside = [body]
    for other in range(body + 1, model.nbody):  # a child comes after its parent
        if int(model.body_parentid[other]) in inside:
            inside.append(other)
    return inside


def _joints_of(model: mujoco.MjModel, body: int) -> tuple[int, ...]:
    start, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    return tuple(range(start, start + count)) if count else ()


def _limbs(model: mujoco.MjModel, base: int, base_joints: set[int]) -> tuple[Limb, ...]:
    """The robot cut at its base and wherever more than one chain with joints goes on."""
    inside = _subtree(model, base)
    children = {body: [other for other in inside if model.body_parentid[other] == body] for body in inside}
    moving = {body for body in inside if model.body_jntnum[body]}
    for body in reversed(inside):
        if body != base and body in moving:
            moving.add(int(model.body_parentid[body]))
    chains: list[tuple[list[int], bool]] = []
    starts = [child for child in children[base] if child in moving]
    own = [joint for joint in _joints_of(model, base) if joint not in base_joints]
    while starts:
        chain, is_tip = [starts.pop(0)], True
        for body in chain:
            onward = [child for child in children[body] if child in moving]
            chain += [child for child in children[body] if child not in moving]
            if len(onward) == 1:
                chain += onward
            elif onward:
                starts = onward + starts
                is_tip = False
        chains.append((chain, is_tip))
    joints = [[joint for body in sorted(chain) for joint in _joints_of(model, body)] for chain, _ in chains]
    names = _limb_names(model, joints, [chain[0] for chain, _ in chains])
    limbs = [
        Limb(name, tuple(moved), _leaves(model, moved, name), tuple(sorted(chain)), is_tip)
        for name, moved, (chain, is_tip) in zip(names, joints, chains, strict=True)
        if moved
    ]
    if own:
        limbs.insert(0, Limb("own", tuple(own), _leaves(model, own, "own"), (base,), is_tip=False))
    return tuple(limbs)


def _limb_names(model: mujoco.MjModel, joints: list[list[int]], firsts: list[int]) -> list[str]:
    """What a limb's joints have in common, such as FL of FL_hip and FL_knee; else its first body's name."""
    common = [_in_common([joint_name(model, joint) for joint in moved]) for moved in joints]
    names: list[str] = []
    for place, first in enumerate(firsts):
        shared = common[place]
        name = shared if shared and common.count(shared) == 1 else word(body_name(model, first))
        names.append(name if name not in (*names, "base") else f"{name}_{first}")
    return names


def _in_common(names: list[str]) -> str:
    """The words with which all names begin, or with which all end."""
    rows = [word(name).split("_") for name in names]
    rows = [[one for one in row if one.lower() not in ("joint", "jnt")] or row for row in rows]
    if len(rows) < 2:
        return ""
    for direction in (1, -1):
        shared: list[str] = []
        for column in zip(*(row[::direction] for row in rows), strict=False):
            if len(set(column)) > 1:
                break
            shared.append(column[0])
        found = "_".join(shared[::direction])
        if re.search("[A-Za-z]{2}", found) and all(len(row) > len(shared) for row in rows):
            return found
    return ""


def _leaves(model: mujoco.MjModel, joints: list[int], limb: str) -> tuple[str, ...]:
    """Short names of joints: without their limb's and without the word joint."""
    whole = [word(joint_name(model, joint)) for joint in joints]
    short = []
    for name in whole:
        bare = re.sub(r"_?(joint|jnt)$", "", name, flags=re.IGNORECASE)
        bare = bare.removeprefix(f"{limb}_").removesuffix(f"_{limb}")
        short.append(bare if bare else name)
    return tuple(short) if len(set(short)) == len(short) else tuple(whole)
