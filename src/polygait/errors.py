"""Errors that help: what was given, the rule it breaks, and how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake the user can mend; shown without a traceback."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n{remedy}" if remedy else problem)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that is not among those known, with near matches."""
    return UserError(f"Unknown {kind}: {name!r}.", did_you_mean(name, known))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that names near matches, or all choices when none is near."""
    choices = sorted(set(known))
    near = difflib.get_close_matches(str(name), choices, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {_listed(near, 'or')}?"
    if not choices:
        return "There is none to choose from."
    shown = choices[:12]
    more = f" and {len(choices) - 12} more" if len(choices) > 12 else ""
    return f"Known: {', '.join(shown)}{more}."


def _listed(words: list[str], conjunction: str) -> str:
    quoted = [repr(word) for word in words]
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} {conjunction} {quoted[-1]}"
