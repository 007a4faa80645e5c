"""Settings as text: `section.field=value` into frozen records, and back."""

from __future__ import annotations

import contextlib
import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from polygait.counts import WHOLE_NUMBER, read_count

Record = TypeVar("Record", bound=Any)


@dataclass(frozen=True)
class NoSettings:
    """The record of something that has nothing to set."""

    def problems(self) -> list[str]:
        """None."""
        return []


def with_setting(record: Record, name: str, text: str) -> Record:
    """The record with one field read from text; ValueError that names what would fit."""
    kind = typing.get_type_hints(type(record))[name]
    try:
        return dataclasses.replace(record, **{name: _value(kind, text.strip())})
    except ValueError:
        raise ValueError(_kind_name(kind)) from None


def setting_text(value: Any) -> str:
    """A setting's value as --set takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def from_plain_record(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """A record from JSON, which has lists for tuples; fields that are left out have their defaults."""
    known = {field.name for field in dataclasses.fields(kind)}
    for name in data:
        if name not in known:
            raise KeyError(name)
    return kind(**{name: tuple(one) if isinstance(one, list) else one for name, one in data.items()})


def _value(kind: Any, text: str) -> Any:
    if isinstance(kind, types.UnionType):
        return _first_that_reads(typing.get_args(kind), text)
    if kind is type(None):
        if text.lower() != "none":
            raise ValueError(text)
        return None
    if typing.get_origin(kind) is Literal:
        if text not in typing.get_args(kind):
            raise ValueError(text)
        return text
    if typing.get_origin(kind) is tuple:
        words = [word for word in text.strip("()").split(",") if word.strip()]
        kinds = typing.get_args(kind)
        if Ellipsis not in kinds and len(words) != len(kinds):
            raise ValueError(text)
        return tuple(_value(kinds[0], word.strip()) for word in words)
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    return read_count(text) if kind is int else kind(text)


def _first_that_reads(kinds: tuple[Any, ...], text: str) -> Any:
    """A number where the text is one, otherwise the text itself."""
    for kind in kinds:
        with contextlib.suppress(ValueError):
            return _value(kind, text)
    raise ValueError(text)


def _kind_name(kind: Any) -> str:
    """What a setting takes, so that a sentence can go on with it."""
    if typing.get_origin(kind) is Literal:
        return " or ".join(map(repr, typing.get_args(kind)))
    if isinstance(kind, types.UnionType):
        return " or ".join(map(_kind_name, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        first, *others = typing.get_args(kind)
        count = "" if Ellipsis in others else f"{1 + len(others)} "
        return f"{count}{'whole numbers' if first is int else 'numbers'} joined by commas"
    return {int: WHOLE_NUMBER, float: "a number", bool: "true or false", str: "a text"}.get(kind, "none")
