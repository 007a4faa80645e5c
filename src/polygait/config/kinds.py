"""Whether a record's values are of the kinds that its fields name: text is no number, True no count."""

from __future__ import annotations

import numbers
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from polygait.errors import UserError

Record = TypeVar("Record", bound=Any)

_PLAIN: dict[Any, tuple[type, str]] = {
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    str: (str, "a text"),
    types.NoneType: (types.NoneType, "None"),
}
_SEVERAL = {tuple: "a list", Sequence: "a list", Mapping: "a mapping"}


def checked_kinds(record: Record) -> Record:
    """The record, or a UserError that names every value of another kind than its field's."""
    kinds = typing.get_type_hints(type(record))
    wrong = {name: kind for name, kind in kinds.items() if not fits(getattr(record, name), kind)}
    if wrong:
        problems = [
            f"{name} must be {in_words(kind)}, got {getattr(record, name)!r}." for name, kind in wrong.items()
        ]
        raise UserError(
            "\n".join(problems),
            f"Correct {', '.join(wrong)}, or leave out what has a default; nothing was started.",
        )
    return record


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; who names a kind that is not known here has other ways to check."""
    if isinstance(kind, types.UnionType):
        return any(fits(value, one) for one in typing.get_args(kind))
    origin = typing.get_origin(kind)
    if origin in (tuple, Sequence):
        return (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and all(fits(one, typing.get_args(kind)[0]) for one in value)
        )
    if origin is Mapping:
        return isinstance(value, Mapping)
    return kind not in _PLAIN or (isinstance(value, _PLAIN[kind][0]) and not isinstance(value, bool))


def in_words(kind: Any) -> str:
    """A kind, so that a sentence can go on with it."""
    if isinstance(kind, types.UnionType):
        *first, last = (in_words(one) for one in typing.get_args(kind))
        return f"{', '.join(first)} or {last}"
    if (origin := typing.get_origin(kind)) is None:
        return _PLAIN[kind][1]
    of_texts = origin is not Mapping and typing.get_args(kind)[0] is str
    return f"{_SEVERAL[origin]}{' of texts' if of_texts else ''}"
