"""Suites: lists of conditions to measure a population in, by name or from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polygait.errors import UserError, unknown_name
from polygait.mesh import mesh_variations, unforeseen_variations
from polygait.tasks.task import Task
from polygait.variations import (
    ActionDelay,
    Backlash,
    BrokenJoint,
    Edit,
    FadingStrength,
    GlobalScale,
    JointOffset,
    JointTorque,
    MotorFailure,
    Push,
    Scale,
    SensorFailure,
    Slope,
    open_edits,
    parse_variation,
    variation_text,
)

SCALES = tuple(round(0.5 + 0.1 * step, 1) for step in range(20))
"""The paper's sweep of dynamics, 0.5 to 2.4."""
KINDS: dict[str, tuple[type[Edit], ...]] = {
    "damage": (BrokenJoint, MotorFailure, JointOffset, Backlash, FadingStrength),
    "dynamics": (Scale, GlobalScale, ActionDelay, Slope, Push, JointTorque),
    "sensors": (SensorFailure,),
}
"""A robot's own conditions by what they change: its body, the world around it, what it is told."""
MESH, UNFORESEEN = "mesh", "unforeseen"
MADE_FROM_ANATOMY = {MESH: mesh_variations, UNFORESEEN: unforeseen_variations}
"""Suites of any robot that are judged as a whole: what a population keeps over all of their conditions."""
NAMES = ("nominal", *KINDS, "paper", *MADE_FROM_ANATOMY)


class Condition(NamedTuple):
    """One world to be measured in."""

    name: str
    scale: float | None
    """Of a sweep."""
    variation: str


NOMINAL = Condition("nominal", None, "nominal")


Suite = str | Sequence[Any] | Mapping[str, Any]
"""A name, a path, or variations: in a list, or in a mapping from names."""


def suite_conditions(suite: Suite, task: Task) -> list[Condition]:
    """The conditions of a suite for a robot; the paper's are all it has where the paper has no such robot."""
    if not isinstance(suite, str):
        return _given_conditions(suite)
    if suite.endswith(".toml"):
        return listed_conditions(suite, read_suite(suite))
    if suite not in NAMES:
        raise unknown_name("suite", suite, [*NAMES, "a path that ends in .toml"])
    found = _changed(suite, task)
    if suite in KINDS and not found:
        offered = [*offered_suites(task), "nominal"]
        raise UserError(
            f"{task.name} has no named condition for the suite {suite!r}; it has {', '.join(offered)}.",
            "List variations in a TOML file and give its path as the suite.",
        )
    return [NOMINAL, *found]


def suite_name(suite: Suite) -> str:
    """What results of a suite are kept under."""
    return Path(suite).name.removesuffix(".toml") if isinstance(suite, str) else "variations"


def _given_conditions(variations: Sequence[Any] | Mapping[str, Any]) -> list[Condition]:
    """The conditions of a suite that is handed over as it is."""
    named = (
        variations
        if isinstance(variations, Mapping)
        else {variation_text(variation): variation for variation in variations}
    )
    if not named:
        raise UserError(
            f"A suite needs at least one variation, got {variations!r}.",
            f'Write for example suite=["broken-foot", "gravity=1.4"], or one of {", ".join(NAMES)}.',
        )
    return [Condition(str(name), None, variation_text(variation)) for name, variation in named.items()]


def offered_suites(task: Task) -> dict[str, list[Condition]]:
    """The suites that change anything for a robot, and what they hold beside the nominal world."""
    found = {suite: _changed(suite, task) for suite in NAMES}
    return {suite: changed for suite, changed in found.items() if changed}


def _changed(suite: str, task: Task) -> list[Condition]:
    """What a suite holds beside the nominal world."""
    if suite == "nominal":
        return []
    if suite in MADE_FROM_ANATOMY:
        return [Condition(variation, None, variation) for variation in MADE_FROM_ANATOMY[suite](task)]
    kinds = KINDS.get(suite, (Edit,))
    published = task.defaults.paper_conditions if suite == "paper" else None
    names = task.conditions if published is None else published
    return [condition for name in names for condition in _spread(name, task.conditions, kinds)]


def _spread(name: str, conditions: Mapping[str, str], kinds: tuple[type[Edit], ...]) -> list[Condition]:
    """One condition, or one per scale where the name stands for a factor; none of another kind.

    A condition of several edits is of the kind of each. Newtons, degrees or steps that are left to the user
    (`"shove": "push"`) are no factor: no suite can choose them, and the condition is left out.
    """
    swept = open_edits(name, conditions)
    edits = parse_variation(f"{name}=1.0" if swept else name, conditions)
    if not any(isinstance(edit, kinds) for edit in edits):
        return []
    if not swept:
        return [Condition(name, None, name)]
    if not all(isinstance(edit, Scale | GlobalScale) for edit in swept):
        return []
    return [Condition(name, scale, f"{name}={scale}") for scale in SCALES]


def read_suite(path: str | Path) -> str:
    """What a suite's file says."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.", "Give the path of a TOML file.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not TOML: {error}.") from error


def listed_conditions(path: str | Path, text: str) -> list[Condition]:
    """The conditions of a file that says `variations = ["broken-foot", …]`, or has a table of named ones."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not TOML: {error}.") from error
    listed = table.get("variations")
    named = {str(text): text for text in listed} if isinstance(listed, list) else listed
    if not isinstance(named, dict) or not named or not all(isinstance(text, str) for text in named.values()):
        raise UserError(
            f"{path} must name its variations.",
            'Write variations = ["broken-foot", "foot-mass=1.5"] or a table [variations] with name = "text".',
        )
    if further := sorted(set(table) - {"variations"}):
        raise unknown_name(f"entry of {path}", further[0], ["variations"])
    return [Condition(name, None, variation) for name, variation in named.items()]
