"""Names as they are shown."""

from __future__ import annotations

METHODS = {"pg": "PG", "multi": "Multi", "dvd": "DvD", "smerl": "SMERL", "dir": "DiR"}
"""In the paper's order."""


def method_title(method: str) -> str:
    """As the paper writes it."""
    return METHODS.get(method, method)


def title_of(task: str) -> str:
    """A task's name as a title."""
    return task[:1].upper() + task[1:]


def words_of(condition: str) -> str:
    """A condition's name in words."""
    return condition.replace("-", " ")


def counted(count: int, word: str) -> str:
    """A number of things."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
