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
_SEVERAL = {tuple: "a list of texts", Sequence: "a list", Mapping: "a mapping"}


def checked_kinds(record: Record) -> Record:
    """The record, or a UserError that names every value of another kind than its field's."""
    kinds = typing.get_type_hints(type(record))
    wrong = {name: kind for name, kind in kinds.items() if not _fits(getattr(record, name), kind)}
    if wrong:
        problems = [
            f"{name} must be {_words(kind)}, got {getattr(record, name)!r}." for name, kind in wrong.items()
        ]
        raise UserError(
            "\n".join(problems),
            f"Correct {', '.join(wrong)}, or leave out what has a default; nothing was started.",
        )
    return record


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; who names a kind that is not known here has other ways to check."""
    if isinstance(kind, types.UnionType):
        return any(_fits(value, one) for one in typing.get_args(kind))
    origin = typing.get_origin(kind)
    if origin is tuple:
        return isinstance(value, tuple | list) and all(_fits(one, typing.get_args(kind)[0]) for one in value)
    if origin in _SEVERAL:
        return isinstance(value, origin) and not isinstance(value, str)
    return kind not in _PLAIN or (isinstance(value, _PLAIN[kind][0]) and not isinstance(value, bool))


def _words(kind: Any) -> str:
    if isinstance(kind, types.UnionType):
        *first, last = (_words(one) for one in typing.get_args(kind))
        return f"{', '.join(first)} or {last}"
    return _SEVERAL[typing.get_origin(kind)] if typing.get_origin(kind) else _PLAIN[kind][1]
