"""The mesh: everything that may happen to a robot, made from its anatomy, in families.

One or two chosen damages say little about what a population is good for: some member happens to cope with
them. The mesh tries every motor, every foot and every sensor in turn, and the world around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygait.errors import UserError
from polygait.tasks.task import Task
from polygait.variations import (
    BrokenJoint,
    Edit,
    MotorFailure,
    Scale,
    ScaleDamping,
    ScaleStrength,
    SensorFailure,
    parse_variation,
)

WEAK = 0.3
"""The share of its torque that a weak joint keeps."""
EXTREMES = (0.4, 2.5)
"""Factors of a foot's friction and of its mass."""
GRAVITIES = (0.6, 1.4)
DELAY = 2
STRENGTH = 0.6
"""Of all motors together."""
MOST_NUMBERS = 24
"""Of a state without named parts: so many numbers can fail one by one, more only together."""


def mesh_variations(task: Task) -> list[str]:
    """Every condition of the mesh that a robot can have, in the language of variations.

    What a simulator cannot change is left out: a Gymnasium environment has no joints and no gravity.
    The task's first environment is used to find out, and is left in the nominal world.
    """
    found = []
    for variation in _wanted(task):
        try:
            task.set_variation(variation, [0])
        except UserError:
            continue
        found.append(variation)
    task.set_variation(None, [0])
    return found


def _wanted(task: Task) -> Iterator[str]:
    anatomy = task.anatomy
    for joint in dict.fromkeys(anatomy.actions if anatomy.motors is None else anatomy.motors):
        angle = anatomy.lock_angle(joint)
        yield f"broken({joint})" + (f":lock={angle:.4g}" if angle else "")
        yield f"broken({joint}):limp"
        yield f"broken({joint}):weak={WEAK}"
    for foot in anatomy.feet.values():
        for keyword, parts in (("friction", foot.geoms), ("mass", foot.bodies)):
            yield from (f"{keyword}({','.join(parts)})={factor}" for factor in EXTREMES)
    yield from (f"gravity={factor}" for factor in GRAVITIES)
    yield f"delay={DELAY}"
    yield f"strength(*)={STRENGTH}"
    yield from (f"sensor({part})" for part in _sensors(task))


def _sensors(task: Task) -> list[str]:
    """The parts of the state; its numbers one by one where nobody has named parts."""
    parts = list(task.layout.groups)
    unnamed = len(parts) == 1 and task.layout.size <= MOST_NUMBERS
    return list(task.layout.names) if unnamed else parts


def family_of(variation: str, conditions: Mapping[str, str] | None = None) -> str:
    """What a condition is about, whatever is wrong with it: `joint(foot_joint)`, `mass(foot)`, `gravity`.

    Conditions of one family are alike, so who wants to know what is learned from some conditions about others
    leaves out whole families. `conditions` are the robot's named ones; the column `world` needs none.
    """
    return "+".join(_family(edit) for edit in parse_variation(variation, conditions or {})) or "nominal"


def _family(edit: Edit) -> str:
    match edit:
        case BrokenJoint() | ScaleStrength() | MotorFailure() | ScaleDamping():
            return f"joint({','.join(edit.targets)})"
        case Scale() | SensorFailure():
            return f"{edit.keyword}({','.join(edit.targets)})"
        case _:
            return edit.keyword
