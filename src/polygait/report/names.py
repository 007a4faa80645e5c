"""Names as they are shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from polygait.diversity.registry import METHODS
from polygait.study.study_file import method_of


def ordered_methods(methods: Iterable[str]) -> list[str]:
    """Methods in the paper's order, others behind; each once."""
    known = set(METHODS.names())
    rank = {
        name: METHODS.find(method_of(name)).rank if method_of(name) in known else 1000
        for name in set(methods)
    }
    return sorted(rank, key=lambda name: (rank[name], name))


def method_title(method: str) -> str:
    """As the paper writes it; a study's variant, dir:worlds, is "DiR, worlds"."""
    plain, _, variant = method.partition(":")
    title = METHODS.find(plain).title if plain in METHODS.names() else plain
    return f"{title}, {variant}" if variant else title


def method_colour(method: str) -> str:
    """The same in all figures; a variant's is darker than its method's."""
    colour = METHODS.find(method_of(method)).colour if method_of(method) in METHODS.names() else "#7F7F7F"
    return colour if method == method_of(method) else _darker(colour)


def _darker(colour: str) -> str:
    return "#" + "".join(f"{int(colour[place : place + 2], 16) * 11 // 20:02X}" for place in (1, 3, 5))


def title_of(task: str) -> str:
    """A task's name as a title."""
    return task[:1].upper() + task[1:]


def words_of(condition: str) -> str:
    """A condition's name in words."""
    return condition.replace("-", " ")


def counted(count: int, word: str) -> str:
    """A number of things."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def counted_range(counts: Collection[int], word: str) -> str:
    """From the fewest to the most of some things."""
    fewest, most = min(counts, default=0), max(counts, default=0)
    return counted(most, word) if fewest == most else f"{fewest} to {counted(most, word)}"
