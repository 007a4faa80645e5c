"""Errors that help: what was given, the rule it breaks, and how to mend it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

_OPTION = re.compile(r"`([a-z_.]+)(?:=([^`]*))?`")


class UserError(ValueError):
    """A mistake the user can mend; shown without a traceback.

    Options are named between backquotes, such as `trials` or `selector='racing'`: who shows the error spells
    them as its reader does, Python as keywords, the command line as --trials and --selector racing.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        text = f"{problem}\n{remedy}" if remedy else problem
        super().__init__(spelled(text, lambda name, value: name if value is None else f"{name}={value}"))


def spelled(text: str, spell: Callable[[str, str | None], str]) -> str:
    """A text whose options, a name and perhaps a value in Python's words, are spelled for its reader."""
    return _OPTION.sub(lambda found: spell(found[1], found[2]), text)


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
