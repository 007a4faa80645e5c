"""What records of options have in common: counts, seeds, and how they are made of a caller's keywords."""

from __future__ import annotations

import numbers
import typing
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from polygait.config.kinds import checked_kinds
from polygait.counts import whole_number
from polygait.errors import UserError, unknown_name

Record = TypeVar("Record", bound=Any)
MOST = 1_000_000
"""Of members, environments, episodes: more is a slip of the hand, and would fill the memory."""


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, Python's or NumPy's; true and false are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def seed_problems(seed: Any) -> list[str]:
    """JAX's keys hold 32 bits: a larger seed would be another one in disguise."""
    if not is_whole(seed):
        return [f"`seed` must be a whole number, got {seed!r}."]
    return [] if 0 <= seed < 2**32 else [f"`seed` must lie between 0 and {2**32 - 1}, got {seed}."]


def check_seed(seed: Any) -> None:
    """Raise a UserError for a seed that cannot be one."""
    if found := seed_problems(seed):
        raise UserError("\n".join(found), "Give for example seed=0.")


def count_problems(record: object, least: Mapping[str, int], most: int = MOST) -> list[str]:
    """What is wrong with a record's counts, given the least that each may be; None is left open."""
    found = []
    for name, low in least.items():
        value = getattr(record, name)
        if value is not None and not low <= value <= most:
            too_few = f"be at least {low}" if low else "not be negative"
            rule = too_few if value < low else f"be at most {most:,}"
            found.append(f"`{name}` must {rule}, got {value}.")
    return found


def from_options(kind: type[Record], options: Mapping[str, Any]) -> Record:
    """A record of choices from a caller's keywords; an unknown one is named with its neighbours."""
    for name in options:
        if name not in (known := [field.name for field in fields(kind)]):
            raise unknown_name("option", name, known)
    return checked_kinds(with_whole_numbers(kind(**options)))


def with_whole_numbers(record: Record) -> Record:
    """A record of choices whose counts are Python's whole numbers; they may come as 1e6 or as NumPy's."""
    found, problems = {}, []
    for name, kind in typing.get_type_hints(type(record)).items():
        value = getattr(record, name)
        if value is None or kind not in (int, int | None):
            continue
        try:
            found[name] = whole_number(value)
        except ValueError:
            problems.append(f"`{name}` must be a whole number, got {value!r}.")
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    return replace(record, **found)
