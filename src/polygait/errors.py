"""Errors that help: what was given, the rule it breaks, and how to mend it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

Spell = Callable[[str, str | None], str]
"""Words for an option, given its name and perhaps a value in Python's words."""
_OPTION = re.compile(r"`([a-z_.]+)(?:=([^`]*))?`")


class UserError(ValueError):
    """A mistake the user can mend; shown without a traceback.

    Options are named between backquotes, such as `trials` or `selector='racing'`. Python shows them as they
    are, without the quotes; the command line spells them --trials and --selector racing.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self._text = f"{problem}\n{remedy}" if remedy else problem
        self.problem = _spelled(problem, _keyword)
        self.remedy = _spelled(remedy, _keyword)
        super().__init__(self.spelled(_keyword))

    def spelled(self, spell: Spell) -> str:
        """Problem and remedy, the options in the words of their reader."""
        return _spelled(self._text, spell)


def _keyword(name: str, value: str | None) -> str:
    return name if value is None else f"{name}={value}"


def _spelled(text: str, spell: Spell) -> str:
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
