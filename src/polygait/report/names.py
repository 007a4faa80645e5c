"""Names as they are shown."""

from __future__ import annotations

from collections.abc import Iterable

from polygait.diversity.registry import METHODS


def ordered_methods(methods: Iterable[str]) -> list[str]:
    """Methods in the paper's order, others behind; each once."""
    known = set(METHODS.names())
    rank = {name: METHODS.find(name).rank if name in known else 1000 for name in set(methods)}
    return sorted(rank, key=lambda name: (rank[name], name))


def method_title(method: str) -> str:
    """As the paper writes it."""
    return METHODS.find(method).title if method in METHODS.names() else method


def method_colour(method: str) -> str:
    """The same in all figures."""
    return METHODS.find(method).colour if method in METHODS.names() else "#7F7F7F"


def title_of(task: str) -> str:
    """A task's name as a title."""
    return task[:1].upper() + task[1:]


def words_of(condition: str) -> str:
    """A condition's name in words."""
    return condition.replace("-", " ")


def counted(count: int, word: str) -> str:
    """A number of things."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
