"""Training worlds: a mixture of variations from which every episode draws its own.

    worlds      := alternative ("," alternative)*
    alternative := variation ["*" weight]

In a variation of the mixture a number may be a range (`weak=0.2..0.8`, drawn evenly; a delay is drawn among
whole numbers, and 0 is none), and a target may be `any(glob)`, one of the parts that match: `broken(any(*))`
breaks one joint in every episode, where `broken(*)` breaks them all. `each(glob)` deals the parts out to the
members of a population: with `broken(each(*))` the first member learns to do without the first joint, the
second without the second, and so on in turn, until every joint is somebody's and every member has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from polygait.errors import UserError, unknown_name
from polygait.variations.edits import Edit, Variation
from polygait.variations.effects import Anatomy
from polygait.variations.forms import KEYWORDS, Words
from polygait.variations.language import edits_of, read_edit
from polygait.variations.signal_edits import ActionDelay

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"=\s*(?P<low>{_NUMBER})\s*(?P<unit>Nm|N)?\s*\.\.\s*(?P<high>{_NUMBER}\s*(?:Nm|N)?)")
_WEIGHT = re.compile(r"(?P<world>.*?)\s*\*\s*(?P<weight>\d+(?:\.\d+)?)", re.DOTALL)
_OPEN_TARGET = re.compile(r"(any|each)\(([^()]*)\)")
_ANY, _EACH, _CLOSE = "<any:", "<each:", ">"
_EXAMPLE = 'Write for example "nominal*4, broken(any(*)), delay=0..2".'


class _OpenEdit(NamedTuple):
    """One edit of the mixture's text with what is left to chance."""

    words: Words
    low: float | None
    """The lower end of the number's range; `words` hold the upper one."""
    whole: bool
    choices: tuple[tuple[str, ...], ...]
    """For every target the names of which it is one."""

    def settle(
        self, value: float | None, targets: tuple[str, ...], conditions: Mapping[str, str]
    ) -> list[Edit]:
        """The edits, once everything is decided; a delay of 0 is none."""
        if self.whole and value == 0:
            return []
        return edits_of(self.words._replace(value=value, targets=targets), conditions)


class _Alternative(NamedTuple):
    text: str
    weight: float
    edits: tuple[_OpenEdit, ...]


class Whose(NamedTuple):
    """A member, and of how many."""

    member: int
    members: int


class TrainingWorlds:
    """A mixture of worlds on one robot."""

    def __init__(
        self, text: str, conditions: Mapping[str, str], anatomy: Anatomy, whose: Whose | None = None
    ) -> None:
        """`whose` they are counts where parts are dealt out by `each`; a single policy gets them all."""
        self.text = text
        self._whose = whose or Whose(0, 1)
        self._conditions = conditions
        self._anatomy = anatomy
        problems, self._alternatives = [], []
        for part in _split(text):
            try:
                self._alternatives.append(self._read(part))
            except UserError as error:
                problems.append(f"Training world {part.strip()!r}: {error.problem} {error.remedy}".strip())
        if problems:
            raise UserError("\n".join(problems), _EXAMPLE)
        weights = np.array([one.weight for one in self._alternatives])
        self._bounds = np.cumsum(weights) / weights.sum()

    def draw(self, generator: np.random.Generator, share: float = 1.0) -> Variation:
        """One world; of the faulty ones only a `share` is kept, the nominal world stands for the others."""
        place, kept = generator.random(2)
        alternative = self._alternatives[int(np.searchsorted(self._bounds, place, side="right"))]
        if not alternative.edits or kept >= share:
            return Variation()
        edits: list[Edit] = []
        for one in alternative.edits:
            targets = tuple(
                names[int(generator.integers(len(names)))] if len(names) > 1 else names[0]
                for names in one.choices
            )
            value = one.words.value
            if one.low is not None and value is not None:
                drawn = generator.integers(int(one.low), int(value), endpoint=True) if one.whole else None
                value = float(generator.uniform(one.low, value) if drawn is None else drawn)
            edits += one.settle(value, targets, self._conditions)
        return Variation(tuple(edits))

    def extremes(self) -> list[Variation]:
        """Worlds with every number at either end and every part that may be chosen: none is beyond these."""
        return [
            variation for alternative in self._alternatives for variation in self._extremes_of(alternative)
        ]

    def _extremes_of(self, alternative: _Alternative) -> list[Variation]:
        found = []
        most = max((len(names) for one in alternative.edits for names in one.choices), default=1)
        for index in range(most):
            for lower in (True, False):
                edits: list[Edit] = []
                for one in alternative.edits:
                    targets = tuple(names[min(index, len(names) - 1)] for names in one.choices)
                    value = one.low if lower and one.low is not None else one.words.value
                    edits += one.settle(value, targets, self._conditions)
                found.append(Variation(tuple(edits)))
        return list(dict.fromkeys(found))

    def _read(self, part: str) -> _Alternative:
        part = part.strip()
        weighted = _WEIGHT.fullmatch(part)
        world = weighted["world"].strip() if weighted else part
        weight = float(weighted["weight"]) if weighted else 1.0
        if not weight > 0:
            raise UserError(f"A weight must be above 0, got {weight:g}.", "Leave the world out instead.")
        if world == "nominal":
            return _Alternative(world, weight, ())
        marked = _OPEN_TARGET.sub(lambda found: f"<{found[1]}:{found[2].replace(',', ';')}{_CLOSE}", world)
        pieces = [piece.strip() for piece in re.split(r"\+(?!\d)", marked)]
        alternative = _Alternative(world, weight, tuple(self._open_edit(piece, world) for piece in pieces))
        for variation in self._extremes_of(alternative):
            for edit in variation:
                edit.effects(self._anatomy)
        return alternative

    def _open_edit(self, piece: str, world: str) -> _OpenEdit:
        ranged = _RANGE.search(piece)
        words = read_edit(_RANGE.sub(lambda found: f"={found['high']}", piece), world)
        low = float(ranged["low"]) if ranged else None
        choices = tuple(self._choices(target, words) for target in words.targets)
        if low is None or words.value is None:
            return _OpenEdit(words, None, False, choices)
        if low > words.value:
            raise UserError(
                f"A range goes from the smaller to the larger number, got {low:g}..{words.value:g}.",
                f"Write {words.value:g}..{low:g}.",
            )
        example = words._replace(targets=tuple(names[0] for names in choices))
        whole = any(isinstance(edit, ActionDelay) for edit in edits_of(example, self._conditions))
        if whole and low != int(low):
            raise UserError(
                f"A delay is drawn among whole steps, got {low:g}..{words.value:g}.", "Write 0..2."
            )
        return _OpenEdit(words, low, whole, choices)

    def _choices(self, target: str, words: Words) -> tuple[str, ...]:
        if not target.startswith((_ANY, _EACH)):
            return (target,)
        if words.name not in KEYWORDS and words.name not in self._conditions:
            raise unknown_name("variation", words.name, [*self._conditions, *KEYWORDS])
        if words.name not in KEYWORDS:
            raise UserError(
                f"any(…) and each(…) choose among the parts that a keyword names; {words.name!r} is none.",
                "Write for example broken(any(*)) or broken(each(*)).",
            )
        globs = target.removeprefix(_ANY).removeprefix(_EACH).removesuffix(_CLOSE).split(";")
        kind = KEYWORDS[words.name].kind
        found = [name for glob in globs for name in self._anatomy.choices(kind, glob.strip())]
        names = tuple(dict.fromkeys(found))
        if target.startswith(_EACH):
            return names[self._whose.member % len(names) :: self._whose.members]
        return names


def deals_parts(text: str) -> bool:
    """Whether members train in different worlds."""
    return any(found[1] == "each" for found in _OPEN_TARGET.finditer(text))


def listed_variations(text: str) -> list[str]:
    """The variations between the commas of a text."""
    return [part.strip() for part in _split(text) if part.strip()]


def _split(text: str) -> list[str]:
    """The parts between commas: a comma between brackets belongs to the names of parts."""
    parts, depth, begun = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append(text[begun:place])
            begun = place + 1
    return [*parts, text[begun:]]
