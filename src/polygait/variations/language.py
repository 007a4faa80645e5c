"""Variations as text: "foot-mass=1.5+broken-foot:limp@300" ↔ edits.

    variation := edit ("+" edit)*  |  "nominal"
    edit      := name ["(" target ("," target)* ")"] [":" mode] ["=" number [unit]] [timing]

A name is a keyword of the language (broken, mass, …: forms.py) or one of the robot's own conditions, which
stands for the text that the robot's file gives it: one edit, or several. A timing (timing.py) is handed on to
all of them, a number to those that lack one, a mode to a single edit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from polygait.errors import UserError, unknown_name
from polygait.variations.edits import Edit, Variation
from polygait.variations.effects import Anatomy
from polygait.variations.forms import KEYWORDS, Words, build_edit
from polygait.variations.timing import Timing, parse_timing

NAME = re.compile(r"[a-z][a-z0-9_-]*")
_EDIT = re.compile(
    rf"(?P<name>{NAME.pattern})"
    r"(?:\((?P<targets>[^()]*)\))?"
    r"(?::(?P<mode>[a-z]+))?"
    r"(?:=(?P<value>[^=@]+))?"
    r"(?:@(?P<when>[^@=]*))?"
)
_UNIT = re.compile(r"(?<=[0-9.])\s*(Nm|N)$")


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
    return Variation(tuple(edit for words in _pieces(text) for edit in edits_of(words, conditions)))


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


def open_edits(name: str, conditions: Mapping[str, str]) -> list[Edit]:
    """The edits of a robot's condition whose number its user gives, here 1."""
    others, found = _without(name, conditions), []
    for words in _pieces(conditions[name]):
        if words.value is None and words.name in others:
            found += open_edits(words.name, others)
        elif _lacks_number(words, others):
            found += edits_of(words._replace(value=1.0), others)
    return found


def check_conditions(conditions: Mapping[str, str], anatomy: Anatomy) -> None:
    """Every condition of a robot must have a name that can be written, and edits that the robot can have."""
    problems = []
    for name, definition in conditions.items():
        try:
            if not NAME.fullmatch(name) or name == "nominal":
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


def _pieces(text: str) -> list[Words]:
    """The edits of a text; a plus belongs to a number ("1e+3") unless a name follows it."""
    return [read_edit(piece.strip(), text) for piece in re.split(r"\+(?!\d)", text)]


def read_edit(piece: str, text: str) -> Words:
    """The pieces of one edit in a text."""
    match = _EDIT.fullmatch(piece)
    if match is None:
        raise UserError(
            f"Cannot read {piece!r} in the variation {text!r}.",
            "An edit is NAME, NAME=1.5, NAME:MODE, NAME@300, NAME@300..500 or KEYWORD(TARGET,…)…; "
            f"join several with '+'.{' any(…) is for training worlds.' if 'any(' in piece else ''}",
        )
    targets, value, unit = match["targets"], match["value"], ""
    if value is not None:
        found = _UNIT.search(value)
        unit = found[1] if found else ""
        value = value.strip().removesuffix(unit)
    return Words(
        name=match["name"],
        targets=() if targets is None else tuple(word.strip() for word in targets.split(",")),
        mode=match["mode"] or "",
        value=None if value is None else _number(value, piece),
        unit=unit,
        timing=Timing() if match["when"] is None else parse_timing(match["when"], piece),
    )


def _number(text: str, piece: str) -> float:
    try:
        return float(text)
    except ValueError:
        ranged = " A range is for training worlds: --worlds." if ".." in text else ""
        raise UserError(
            f"Not a number: {text!r} in {piece!r}.", f"Write for example foot-mass=1.5.{ranged}"
        ) from None


def edits_of(words: Words, conditions: Mapping[str, str]) -> list[Edit]:
    """The edits that one name stands for."""
    if words.name not in conditions:
        if words.name not in KEYWORDS:
            raise unknown_name("variation", words.name, [*conditions, *KEYWORDS])
        return [build_edit(words, KEYWORDS[words.name])]
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
            unit=words.unit if is_open and words.value is not None else piece.unit,
            timing=piece.timing if words.timing == Timing() else words.timing,
        )
        for piece, is_open in zip(pieces, open_ones, strict=True)
    ]
    return [edit for piece in handed for edit in edits_of(piece, others)]


def _without(name: str, conditions: Mapping[str, str]) -> dict[str, str]:
    """What a condition's text may name: the others, so that it cannot stand for itself."""
    return {other: text for other, text in conditions.items() if other != name}


def _lacks_number(words: Words, conditions: Mapping[str, str]) -> bool:
    if words.value is not None:
        return False
    if words.name in conditions:
        return needs_number(words.name, conditions)
    form = KEYWORDS.get(words.name)
    return form is not None and (form.number or words.mode in form.numbered_modes)
