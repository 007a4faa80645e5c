"""Variations as text: "foot-mass=1.5+broken-foot:limp@300" ↔ edits.

    variation := edit ("+" edit)*  |  "nominal"
    edit      := name ["(" target ("," target)* ")"] [":" mode] ["=" number [unit]] [timing]

A name is a keyword of the language (broken, mass, …: forms.py) or one of the robot's own conditions, which
stands for the text that the robot's file gives it: one edit, or several. A timing (timing.py) is handed on to
all of them, a number to those that lack one, a mode to a single edit.

In training worlds (worlds.py) a number may be a range too, `0.5..2`, and a target any(glob) or each(glob).
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
OPEN_TARGET = re.compile(r"(?P<how>any|each)\((?P<globs>[^()]*)\)")
"""Names of which one is meant."""
_EDIT = re.compile(
    rf"(?P<name>{NAME.pattern})"
    r"(?:\((?P<targets>[^()]*(?:\([^()]*\)[^()]*)*)\))?"
    r"(?::(?P<mode>[a-z]+))?"
    r"(?:=(?P<value>[^=@]+))?"
    r"(?:@(?P<when>[^@=]*))?"
)
_RANGE = re.compile(r"(?<!\.)\.\.(?!\.)")  # of three dots nobody knows which two are meant
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
    """The edits of a text that is no training world: each has one number, and parts by name."""
    found = read_edits(text)
    for words in found:
        if words.low is not None or any(map(OPEN_TARGET.fullmatch, words.targets)):
            raise UserError(
                f"Ranges, any(…) and each(…) are for training worlds, got {text!r}.",
                "Write one number and the names of parts, or train in `worlds`.",
            )
    return found


def read_edits(text: str) -> list[Words]:
    """The edits of a text; a plus belongs to a number ("1e+3") unless a name follows it."""
    return [_read_edit(piece.strip(), text) for piece in re.split(r"\+(?![\d.])", text)]


def between_commas(text: str) -> list[str]:
    """The parts of a text between its commas, but for those between brackets."""
    parts, depth, begun = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append(text[begun:place].strip())
            begun = place + 1
    return [*parts, text[begun:].strip()]


def read_number(text: str, piece: str) -> float:
    """A number in an edit."""
    try:
        return float(text)
    except ValueError:
        raise UserError(f"Not a number: {text!r} in {piece!r}.", "Write for example foot-mass=1.5.") from None


def _read_edit(piece: str, text: str) -> Words:
    match = _EDIT.fullmatch(piece)
    if match is None:
        raise UserError(
            f"Cannot read {piece!r} in the variation {text!r}.",
            "An edit is NAME, NAME=1.5, NAME:MODE, NAME@300, NAME@300..500 or KEYWORD(TARGET,…)…; "
            "join several with '+'.",
        )
    targets, value = match["targets"], match["value"]
    words = Words(
        name=match["name"],
        targets=() if targets is None else tuple(between_commas(targets)),
        mode=match["mode"] or "",
        timing=Timing() if match["when"] is None else parse_timing(match["when"], piece),
    )
    return words if value is None else _with_number(words, value.strip(), piece)


def _with_number(words: Words, text: str, piece: str) -> Words:
    """The edit with its number, or with both ends of a range."""
    *lower, upper = _RANGE.split(text, maxsplit=1)
    value, unit = _measured(upper, piece)
    if not lower:
        return words._replace(value=value, unit=unit)
    low, lower_unit = _measured(lower[0], piece)
    if lower_unit not in ("", unit):
        raise UserError(
            f"Both ends of a range have the same unit, got {text!r} in {piece!r}.",
            f"Write {low:g}..{value:g}{unit}.",
        )
    return words._replace(low=low, value=value, unit=unit)


def _measured(text: str, piece: str) -> tuple[float, str]:
    """A number and its unit."""
    found = _UNIT.search(text.strip())
    unit = found[1] if found else ""
    return read_number(text.strip().removesuffix(unit), piece), unit


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
