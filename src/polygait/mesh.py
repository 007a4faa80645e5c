"""The mesh: everything that may happen to a robot, made from its anatomy, in families.

One or two chosen damages say little about what a population is good for: some member happens to cope with
them. The mesh tries every motor, every foot and every sensor in turn, and the world around them. Whoever
prepares for the mesh is judged by what is unlike it as well: the unforeseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from polygait.errors import UserError
from polygait.tasks.task import Task
from polygait.variations import (
    Backlash,
    BrokenJoint,
    Edit,
    FadingStrength,
    JointOffset,
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
MIDWAY = "random(100..400)"
"""The step at which a joint jams or a sensor freezes, long after the start."""
PLAY = 0.8
"""Of a gear, in units of the command."""
OFFSET = 0.3
"""Between a joint and what is measured of it, in radians."""
FADE = 0.002
"""The share of its strength that a joint loses with every step."""
SLOPES = (-5, 5)
LOAD = 1.5
"""A factor of all masses."""
STIFFNESS = 4
"""A factor of the damping of all joints."""
LOST_COMMANDS, LOST_PACKETS = 0.5, 0.7
NOISE = 0.1
MOST_NUMBERS = 24
"""Of a state without named parts: so many numbers can fail one by one, more only together."""


def mesh_variations(task: Task) -> list[str]:
    """Every condition of the mesh that a robot can have, in the language of variations."""
    return _possible(task, _mesh(task))


def unforeseen_variations(task: Task) -> list[str]:
    """Conditions of kinds that the mesh does not have: whoever trained for the mesh has met none of them."""
    return _possible(task, _unforeseen(task))


def _possible(task: Task, wanted: Iterable[str]) -> list[str]:
    """Those that a robot can have. A Gymnasium environment, for example, has no joints and no gravity.

    The task's first environment is used to find out, and is left in the nominal world.
    """
    found = []
    for variation in wanted:
        try:
            task.set_variation(variation, [0])
        except UserError:
            continue
        found.append(variation)
    task.set_variation(None, [0])
    return found


def _mesh(task: Task) -> Iterator[str]:
    anatomy = task.anatomy
    for joint in _motors(task):
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


def _unforeseen(task: Task) -> Iterator[str]:
    for joint in _motors(task):
        yield f"broken({joint}):hold@{MIDWAY}"
        yield f"backlash({joint})={PLAY}"
        yield f"offset({joint})={OFFSET}"
        yield f"strength({joint}):fade={FADE}"
    yield from (f"slope={degrees}" for degrees in SLOPES)
    yield f"mass(*)={LOAD}"
    yield f"damping(*)={STIFFNESS}"
    yield f"motor(*):drop={LOST_COMMANDS}"
    yield f"sensor(*):noise={NOISE}"
    for part in _sensors(task):
        yield f"sensor({part}):drop={LOST_PACKETS}"
        yield f"sensor({part}):freeze@{MIDWAY}"


def _motors(task: Task) -> list[str]:
    """What is driven, by the names that edits of joints and motors take."""
    anatomy = task.anatomy
    return list(dict.fromkeys(anatomy.actions if anatomy.motors is None else anatomy.motors))


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
        case (
            BrokenJoint()
            | JointOffset()
            | ScaleStrength()
            | FadingStrength()
            | ScaleDamping()
            | MotorFailure()
            | Backlash()
        ):
            return f"joint({','.join(edit.targets)})"
        case Scale() | SensorFailure():
            return f"{edit.keyword}({','.join(edit.targets)})"
        case _:
            return edit.keyword
