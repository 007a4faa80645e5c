"""Conditions of the mesh as people say them: in groups, what is changed, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polygait.variations import (
    ActionDelay,
    BrokenJoint,
    GlobalScale,
    Scale,
    ScaleStrength,
    SensorFailure,
    parse_variation,
)

JOINTS, FEET, WORLD, SENSORS, OTHERS = "Joints", "Feet", "World", "Sensors", "Others"
GROUPS = (JOINTS, FEET, WORLD, SENSORS, OTHERS)
"""In the order in which they are shown."""
_STATES = {"lock": "locked", "limp": "limp", "weak": "weak"}


class ConditionWords(NamedTuple):
    """What a condition is about, and what it is called."""

    group: str
    label: str


def condition_words(world: str) -> ConditionWords:
    """A condition of the mesh in words; one of several edits stands as it is written."""
    match tuple(parse_variation(world, {})):
        case (BrokenJoint() as edit,):
            state = _STATES.get(edit.mode, edit.mode)
            share = f" ({100 * (edit.amount or 0):.0f} %)" if edit.mode == "weak" else ""
            said = JOINTS, f"{_spoken(edit.targets, '_joint')} {state}{share}"
        case (ScaleStrength(targets=("*",)) as edit,):
            said = WORLD, f"all motors × {edit.scale:g}"
        case (ScaleStrength() as edit,):
            said = JOINTS, f"{_spoken(edit.targets, '_joint')} strength × {edit.scale:g}"
        case (Scale() as edit,):
            said = FEET, f"{_spoken(edit.targets, '_geom')} {edit.keyword} × {edit.scale:g}"
        case (GlobalScale() as edit,):
            said = WORLD, f"{edit.keyword} × {edit.scale:g}"
        case (ActionDelay() as edit,):
            said = WORLD, f"actions {edit.steps:g} steps late"
        case (SensorFailure() as edit,):
            said = SENSORS, f"{_common(edit.targets)}{'' if edit.mode == 'zero' else f' {edit.mode}'}"
        case _:
            said = OTHERS, world
    return ConditionWords(*said)


def _spoken(names: Sequence[str], ending: str) -> str:
    return _common([name.removesuffix(ending) for name in names]).replace("_", " ")


def _common(names: Sequence[str]) -> str:
    """One name for several that have words in common, in the order of the first."""
    split = [name.split("_") for name in names]
    shared = [word for word in dict.fromkeys(split[0]) if all(word in words for words in split)]
    return "_".join(shared) if len(names) > 1 and shared else ", ".join(names)
