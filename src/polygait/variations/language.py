"""Variations as text: "foot-mass=1.5+broken-foot:limp@300" ↔ edits.

    variation := edit ("+" edit)*  |  "nominal"
    edit      := name ["(" target ("," target)* ")"] [":" mode] ["=" number] ["@" onset]

A name is a verb of the language (broken, mass, …) or one of the robot's own conditions, which stands
for the text that the robot's file gives it; mode, number and onset are then handed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from polygait.errors import UserError, unknown_name
from polygait.variations.edits import (
    ActionDelay,
    BrokenJoint,
    Edit,
    GlobalScale,
    MotorFailure,
    Scale,
    ScaleDamping,
    ScaleFriction,
    ScaleGravity,
    ScaleMass,
    ScaleStrength,
    ScaleVoltage,
    SensorFailure,
    Variation,
)

_EDIT = re.compile(
    r"(?P<name>[a-z][a-z0-9_-]*)"
    r"(?:\((?P<targets>[^()]*)\))?"
    r"(?::(?P<mode>[a-z]+))?"
    r"(?:=(?P<value>[^=@]+))?"
    r"(?:@(?P<onset>[0-9]{1,10}))?"
)


class _Words(NamedTuple):
    """The pieces of one edit's text."""

    name: str
    targets: tuple[str, ...]
    mode: str
    value: float | None
    onset: int


def parse_variation(text: str | Variation | Edit | None, conditions: Mapping[str, str]) -> Variation:
    """The variation a text describes; `conditions` are the robot's named ones."""
    if text is None:
        return Variation()
    if isinstance(text, Variation):
        return text
    if isinstance(text, Edit):
        return Variation((text,))
    if text.strip() == "nominal":
        return Variation()
    # A plus belongs to a number ("1e+3") unless a name follows it.
    pieces = re.split(r"\+(?!\d)", text)
    return Variation(tuple(_edit(_words(piece.strip(), text), conditions) for piece in pieces))


def _words(piece: str, text: str) -> _Words:
    match = _EDIT.fullmatch(piece)
    if match is None:
        raise UserError(
            f"Cannot read {piece!r} in the variation {text!r}.",
            "An edit is NAME, NAME=1.5, NAME:MODE, NAME@300 or VERB(TARGET,…)…; join several with '+'.",
        )
    targets = match["targets"]
    return _Words(
        name=match["name"],
        targets=() if targets is None else tuple(word.strip() for word in targets.split(",")),
        mode=match["mode"] or "",
        value=None if match["value"] is None else _number(match["value"], piece),
        onset=int(match["onset"] or 0),
    )


def _number(text: str, piece: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"Not a number: {text!r} in {piece!r}.", "Write for example foot-mass=1.5.") from None


def _edit(words: _Words, conditions: Mapping[str, str]) -> Edit:
    if words.name in conditions:
        if words.targets:
            raise UserError(
                f"The condition {words.name!r} names its parts itself, got {words.targets} as well.",
                f"It stands for {conditions[words.name]!r}; use that form for other parts.",
            )
        template = _words(conditions[words.name], conditions[words.name])
        words = _Words(
            name=template.name,
            targets=template.targets,
            mode=words.mode or template.mode,
            value=template.value if words.value is None else words.value,
            onset=words.onset or template.onset,
        )
    return _build(words, conditions)


def _build(words: _Words, conditions: Mapping[str, str]) -> Edit:
    if words.name not in _FORMS:
        raise unknown_name("variation", words.name, [*conditions, *_FORMS])
    form = _FORMS[words.name]
    if form.targets != bool(words.targets):
        verdict = "needs the names of its parts" if form.targets else "takes no names"
        raise UserError(f"{words.name} {verdict}.", f"Write {form.example}.")
    if words.mode and words.mode not in form.modes:
        raise unknown_name(f"mode of {words.name}", words.mode, form.modes)
    if form.number and words.value is None:
        raise UserError(f"{words.name} needs a number.", f"Write {form.example}.")
    if words.value is not None and not (form.number or form.modes):
        raise UserError(f"{words.name} takes no number.", f"Write {form.example}.")
    return form.build(words)


class _Form(NamedTuple):
    """Which pieces a verb takes, and what it builds from them."""

    example: str
    build: Callable[[_Words], Edit]
    targets: bool = True
    modes: tuple[str, ...] = ()
    number: bool = False


def _scale(kind: type[Scale], example: str) -> _Form:
    return _Form(example, lambda w: kind(w.targets, w.value or 0.0, onset=w.onset), number=True)


def _global_scale(kind: type[GlobalScale], example: str) -> _Form:
    return _Form(example, lambda w: kind(w.value or 0.0, onset=w.onset), targets=False, number=True)


_FORMS = {
    "broken": _Form(
        "broken(foot_joint), broken(foot_joint):limp or broken(foot_joint):weak=0.4",
        lambda w: BrokenJoint(w.targets, w.mode or "lock", w.value, onset=w.onset),
        modes=BrokenJoint.modes,
    ),
    "mass": _Form(
        "mass(foot)=1.5 or mass(foot):inertia=1.5",
        lambda w: ScaleMass(w.targets, w.value or 0.0, inertia=bool(w.mode), onset=w.onset),
        modes=("inertia",),
        number=True,
    ),
    "friction": _scale(ScaleFriction, "friction(foot_geom)=0.8"),
    "damping": _scale(ScaleDamping, "damping(*)=2"),
    "strength": _scale(ScaleStrength, "strength(*)=0.7"),
    "gravity": _global_scale(ScaleGravity, "gravity=0.5"),
    "voltage": _global_scale(ScaleVoltage, "voltage=0.8"),
    "sensor": _Form(
        "sensor(torso.*), sensor(torso.*):freeze, sensor(torso.*):noise=0.1 or sensor(torso.*):bias=0.2",
        lambda w: SensorFailure(w.targets, w.mode or "zero", w.value, onset=w.onset),
        modes=SensorFailure.modes,
    ),
    "motor": _Form("motor(foot_joint)", lambda w: MotorFailure(w.targets, onset=w.onset)),
    "delay": _Form(
        "delay=2", lambda w: ActionDelay(w.value or 0.0, onset=w.onset), targets=False, number=True
    ),
}
FORMS = {verb: form.example for verb, form in _FORMS.items()}
"""An example of every verb of the language."""
