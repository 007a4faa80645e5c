"""Variations as text: "foot-mass=1.5+broken-foot:limp@300" ↔ edits.

    variation := edit ("+" edit)*  |  "nominal"
    edit      := name ["(" target ("," target)* ")"] [":" mode] ["=" number] ["@" onset]

A name is a keyword of the language (broken, mass, …) or one of the robot's own conditions, which stands
for the text that the robot's file gives it: one edit, or several. An onset is handed on to all of them, a
number to those that lack one, a mode to a single edit.
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
from polygait.variations.effects import Anatomy

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_EDIT = re.compile(
    rf"(?P<name>{_NAME.pattern})"
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
    text = variation_text(text)
    if text.strip() == "nominal":
        return Variation()
    return Variation(tuple(edit for words in _pieces(text) for edit in _edits(words, conditions)))


def variation_text(variation: str | Variation | Edit | None) -> str:
    """One variation as text, in which form it travels and is kept."""
    if variation is None:
        return "nominal"
    if not isinstance(variation, str | Variation | Edit):
        raise UserError(
            f"A variation is a text such as 'broken-foot', an edit or None, got {variation!r}.",
            "Join several edits by + in one text: 'broken-foot+gravity=1.4'.",
        )
    return str(variation)


def needs_number(name: str, conditions: Mapping[str, str]) -> bool:
    """Whether a robot's condition stands for a factor that its user gives: foot-mass=1.5."""
    return any(_lacks_number(words, _without(name, conditions)) for words in _pieces(conditions[name]))


def check_conditions(conditions: Mapping[str, str], anatomy: Anatomy) -> None:
    """Every condition of a robot must have a name that can be written, and edits that the robot can have."""
    problems = []
    for name, definition in conditions.items():
        try:
            if not _NAME.fullmatch(name) or name == "nominal":
                raise UserError("Not a name:", "use lower-case letters, digits, - and _, but not 'nominal'.")
            if not isinstance(definition, str):
                raise UserError("Not a text.", "Write for example 'broken(foot_joint)'.")
            number = "=1.0" if needs_number(name, conditions) else ""
            for edit in parse_variation(f"{name}{number}", conditions):
                edit.effects(anatomy)
        except UserError as error:
            problems.append(f"Condition {name!r}, {definition!r}: {error.problem} {error.remedy}".strip())
    if problems:
        raise UserError("\n".join(problems), "Correct the conditions in the robot's file.")


def _pieces(text: str) -> list[_Words]:
    """The edits of a text; a plus belongs to a number ("1e+3") unless a name follows it."""
    return [_words(piece.strip(), text) for piece in re.split(r"\+(?!\d)", text)]


def _words(piece: str, text: str) -> _Words:
    match = _EDIT.fullmatch(piece)
    if match is None:
        raise UserError(
            f"Cannot read {piece!r} in the variation {text!r}.",
            "An edit is NAME, NAME=1.5, NAME:MODE, NAME@300 or KEYWORD(TARGET,…)…; join several with '+'.",
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


def _edits(words: _Words, conditions: Mapping[str, str]) -> list[Edit]:
    if words.name not in conditions:
        return [_build(words, conditions)]
    definition, others = conditions[words.name], _without(words.name, conditions)
    if words.targets:
        raise UserError(
            f"The condition {words.name!r} names its parts itself, got {words.targets} as well.",
            f"It stands for {definition!r}; use that form for other parts.",
        )
    pieces = _pieces(definition)
    if len(pieces) > 1 and words.mode:
        raise UserError(
            f"The condition {words.name!r} stands for several edits and takes no mode, got {words.mode!r}.",
            f"It stands for {definition!r}; use that form for other modes.",
        )
    open_ones = [len(pieces) == 1 or _lacks_number(piece, others) for piece in pieces]
    if words.value is not None and not any(open_ones):
        raise UserError(
            f"The condition {words.name!r} has all its numbers, got {words.value} as well.",
            f"It stands for {definition!r}; use that form for other numbers.",
        )
    handed = [
        piece._replace(
            mode=words.mode or piece.mode,
            value=words.value if is_open and words.value is not None else piece.value,
            onset=words.onset or piece.onset,
        )
        for piece, is_open in zip(pieces, open_ones, strict=True)
    ]
    return [edit for piece in handed for edit in _edits(piece, others)]


def _without(name: str, conditions: Mapping[str, str]) -> dict[str, str]:
    """What a condition's text may name: the others, so that it cannot stand for itself."""
    return {other: text for other, text in conditions.items() if other != name}


def _lacks_number(words: _Words, conditions: Mapping[str, str]) -> bool:
    if words.value is not None:
        return False
    if words.name in conditions:
        return needs_number(words.name, conditions)
    form = _FORMS.get(words.name)
    return form is not None and (form.number or words.mode in form.numbered_modes)


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
    """Which pieces a keyword takes, and what it builds from them."""

    example: str
    build: Callable[[_Words], Edit]
    targets: bool = True
    modes: tuple[str, ...] = ()
    numbered_modes: tuple[str, ...] = ()
    """Modes that need a number where the keyword itself does not."""
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
        numbered_modes=("weak",),
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
        numbered_modes=("noise", "bias"),
    ),
    "motor": _Form("motor(foot_joint)", lambda w: MotorFailure(w.targets, onset=w.onset)),
    "delay": _Form(
        "delay=2", lambda w: ActionDelay(w.value or 0.0, onset=w.onset), targets=False, number=True
    ),
}
FORMS = {keyword: form.example for keyword, form in _FORMS.items()}
"""An example of every keyword of the language."""
