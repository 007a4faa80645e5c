"""Which part of the state belongs to which part of the robot, found by moving one joint at a time.

A robot's file names its state and its model names its joints; nothing ties the two together but `observe`.
"""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from polygait.report.pictures.scene import bodies_above, torso
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robot import foot_geoms

_NUDGE = 1e-3
_WIDTHS = {mujoco.mjtJoint.mjJNT_FREE.value: (7, 6), mujoco.mjtJoint.mjJNT_BALL.value: (4, 3)}
"""How many positions and velocities a joint has, if not one each."""


def state_patterns(task: MujocoTask) -> dict[tuple[str, str], str]:
    """The state part of every joint, body and foot that has one, by kind and name, as --remove takes it.

    A joint stands for what is seen of it, a foot for all joints of its leg, the torso for those that move the
    whole robot.
    """
    model, seen = task.model, _observed_joints(task)
    owner, root = model.jnt_bodyid.tolist(), torso(model)
    found = {("joint", name): [joint] for name, (joint, _) in task.anatomy.joints.items()}
    for name, body in task.anatomy.bodies.items():
        if body == root:
            found["body", name] = [joint for joint in range(model.njnt) if owner[joint] == root]
    for name, geoms in zip(task.feet, foot_geoms(task.robot), strict=True):
        leg = {body for geom in geoms for body in bodies_above(model, geom)} - {root}
        found["foot", name] = [joint for joint in range(model.njnt) if owner[joint] in leg]
    told = {}
    for part, joints in found.items():
        own = set[int]().union(*(seen[joint] for joint in joints))
        others = set[int]().union(*seen) - own
        names = [task.layout.names[index] for index in sorted(own)]
        patterns = patterns_of(names)
        clear = names and others.isdisjoint(task.layout.select(patterns).tolist())
        told[part] = ", ".join(patterns if clear else names)
    return {part: text for part, text in told.items() if text}


def patterns_of(names: Iterable[str]) -> list[str]:
    """State names in a pattern per first word, with * for the words in which they differ."""
    groups: dict[str, list[list[str]]] = {}
    for name in names:
        words = name.split(".")
        groups.setdefault(words[0], []).append(words)
    return list(map(_common, groups.values()))


def _common(names: list[list[str]]) -> str:
    shortest = min(map(len, names))
    even = all(len(words) == shortest for words in names)
    words = [alike[0] if len(set(alike)) == 1 else "*" for alike in zip(*names, strict=False)]
    if not even:
        words.append("*")
    while words[-2:] == ["*", "*"]:
        words.pop()
    return ".".join(words)


def _observed_joints(task: MujocoTask) -> list[set[int]]:
    """The numbers of the state that change when a joint's position or velocity does, for every joint."""
    model = task.model
    task.reset()
    physics = task.physics.at(np.zeros(model.nq + model.nv + 1, dtype=np.intp))
    moved = np.arange(model.nq)
    physics.qpos[moved, moved] += _NUDGE
    moved = np.arange(model.nv)
    physics.qvel[model.nq + moved, moved] += _NUDGE
    observation = task.robot.observe(physics)
    changed = observation[:-1] != observation[-1]
    found = []
    for joint in range(model.njnt):
        positions, velocities = _WIDTHS.get(int(model.jnt_type[joint]), (1, 1))
        first, second = int(model.jnt_qposadr[joint]), model.nq + int(model.jnt_dofadr[joint])
        rows = [*range(first, first + positions), *range(second, second + velocities)]
        found.append(set(np.flatnonzero(changed[rows].any(axis=0)).tolist()))
    return found
