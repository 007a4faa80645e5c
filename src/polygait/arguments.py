"""How the words behind a command are read: counts, options that may be left out or given several times."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
import types
import typing
from ast import literal_eval
from collections.abc import Callable, Sequence
from typing import Any

import tyro.conf
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    UnsupportedTypeAnnotationError,
)

from polygait.counts import read_count
from polygait.errors import UserError

Spec = PrimitiveConstructorSpec[Any]
READING = ConstructorRegistry()
"""How tyro makes values of words."""
_UNIONS = (types.UnionType, typing.Union)


@READING.primitive_rule
def _counts(kind: PrimitiveTypeInfo) -> Spec | None:
    return _number(int, "INT", read_count) if kind.type is int else None


@READING.primitive_rule
def _numbers(kind: PrimitiveTypeInfo) -> Spec | None:
    return _number(float, "FLOAT", _read_number) if kind.type is float else None


@READING.primitive_rule
def _left_open(kind: PrimitiveTypeInfo) -> Spec | UnsupportedTypeAnnotationError | None:
    """An option that may be left out is read as if it could not; only its help says so."""
    others = _typed(kind.type)
    if kind.type_origin not in _UNIONS or len(others) != 1:
        return None
    inner = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(others[0], kind.markers))
    if isinstance(inner, UnsupportedTypeAnnotationError):
        return inner
    return PrimitiveConstructorSpec(
        nargs=inner.nargs,
        metavar=inner.metavar,
        instance_from_str=lambda words: None if words == ["None"] else inner.instance_from_str(words),
        is_instance=lambda value: value is None or inner.is_instance(value),
        str_from_instance=lambda value: ["None"] if value is None else inner.str_from_instance(value),
        choices=inner.choices,
    )


def _number(kind: type, metavar: str, read: Callable[[str], Any]) -> Spec:
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: read(words[0]),
        is_instance=lambda value: isinstance(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number, such as 0.05, 3 or 1e-3.") from None


class Option(typing.NamedTuple):
    """How an option is typed."""

    flag: str
    several: bool
    """Whether it takes any number of values."""


def options(command: Callable[..., None]) -> dict[str, Option]:
    """A command's options, those of its record among them, by the names that they have in Python."""
    found: dict[str, Option] = {}
    for name, hint in typing.get_type_hints(command, include_extras=True).items():
        kind, *notes = (hint.__origin__, *hint.__metadata__) if hasattr(hint, "__metadata__") else (hint,)
        if dataclasses.is_dataclass(kind):
            found |= options(typing.cast(Callable[..., None], kind))
        elif tyro.conf.Positional not in notes and kind is not types.NoneType:
            spelled = next((note.name for note in notes if getattr(note, "name", None)), name)
            several = any(
                Ellipsis in typing.get_args(one) or typing.get_origin(one) is Sequence for one in _typed(kind)
            )
            found[name] = Option(f"--{spelled.replace('_', '-')}", several)
    return found


def _typed(kind: Any) -> list[Any]:
    """What can be typed of the kinds that Python takes: a text where one will do, and never None."""
    kinds = typing.get_args(kind) if typing.get_origin(kind) in _UNIONS else (kind,)
    return [str] if str in kinds else [one for one in kinds if one is not types.NoneType]


def gathered(command: Callable[..., None], words: Sequence[str]) -> list[str]:
    """The same words, those of an option that takes several values and was given several times together."""
    several = {one.flag for one in options(command).values() if one.several}
    groups: list[list[str]] = [[]]
    first: dict[str, list[str]] = {}
    group = groups[0]
    for word in words:
        flag, equals, value = word.partition("=")
        flag = flag.replace("_", "-")
        if flag in first:
            group = first[flag]
            group += [value] if equals else []
        elif word.startswith("--"):
            group = [flag, value] if equals and flag in several else [word]
            groups.append(group)
            first |= {flag: group} if flag in several else {}
        else:
            group.append(word)
    return [*itertools.chain(*groups)]


def on_the_command_line(error: UserError, command: Callable[..., None] | None) -> str:
    """An error in the words that its reader types: `selector='racing'` is --selector racing."""
    known = options(command) if command else {}

    def spell(name: str, value: str | None) -> str:
        written = "" if value is None else f" {shlex.quote(_shown(value))}"
        if (own := name.rpartition(".")[2]) in known:  # of sac.updates_per_step a command has the last word
            return f"{known[own].flag}{written}"
        return name if value is None else f"{name}={value}"

    return error.spelled(spell)


def _shown(value: str) -> str:
    """A value in Python's words as a shell's."""
    try:
        return str(literal_eval(value))
    except (SyntaxError, ValueError):
        return value
