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

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from polygait.errors import UserError
from polygait.variations.edits import Edit, Variation
from polygait.variations.effects import Anatomy
from polygait.variations.forms import KEYWORDS, Words
from polygait.variations.language import OPEN_TARGET, between_commas, edits_of, read_edits, read_number
from polygait.variations.signal_edits import ActionDelay

_WEIGHT = re.compile(r"(?P<world>.*)\*\s*(?P<weight>[-+]?[\d.][\w.+-]*)", re.DOTALL)
_HEAVIEST = 1e6
_EXAMPLE = 'Write for example "nominal*4, broken(any(*)), delay=0..2".'


class _OpenEdit(NamedTuple):
    """One edit of the mixture's text with what is left to chance."""

    words: Words
    whole: bool
    """Whether a number is drawn among whole ones."""
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
        for part in between_commas(text):
            try:
                self._alternatives.append(self._read(part))
            except UserError as error:
                problems.append(f"Training world {part!r}: {error.problem} {error.remedy}".strip())
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
            low, value = one.words.low, one.words.value
            if low is not None and value is not None:
                drawn = generator.integers(int(low), int(value), endpoint=True) if one.whole else None
                value = float(generator.uniform(low, value) if drawn is None else drawn)
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
            # Not only all low or all high: behind a delay of 0, which is none, others take an earlier place.
            for lowered in range(len(alternative.edits), -1, -1):
                edits: list[Edit] = []
                for place, one in enumerate(alternative.edits):
                    targets = tuple(names[min(index, len(names) - 1)] for names in one.choices)
                    low, high = one.words.low, one.words.value
                    value = low if place < lowered and low is not None else high
                    edits += one.settle(value, targets, self._conditions)
                found.append(Variation(tuple(edits)))
        return list(dict.fromkeys(found))

    def _read(self, part: str) -> _Alternative:
        weighted = _WEIGHT.fullmatch(part)
        world = weighted["world"].strip() if weighted else part
        weight = read_number(weighted["weight"], part) if weighted else 1.0
        if not 0 < weight <= _HEAVIEST:
            raise UserError(
                f"A weight must be above 0 and at most {_HEAVIEST:,.0f}, got {weight:g}.",
                "Leave a world out that should never come.",
            )
        if world == "nominal":
            return _Alternative(weight, ())
        alternative = _Alternative(weight, tuple(map(self._open_edit, read_edits(world))))
        for variation in self._extremes_of(alternative):
            for edit in variation:
                edit.effects(self._anatomy)
        return alternative

    def _open_edit(self, words: Words) -> _OpenEdit:
        choices = tuple(self._choices(target, words) for target in words.targets)
        low, high = words.low, words.value
        if low is None or high is None:
            return _OpenEdit(words, False, choices)
        if not math.isfinite(high - low):
            raise UserError(f"A range must be finite, got {low:g}..{high:g}.", "Write for example 0.5..2.")
        if low > high:
            raise UserError(
                f"A range goes from the smaller to the larger number, got {low:g}..{high:g}.",
                f"Write {high:g}..{low:g}.",
            )
        example = words._replace(targets=tuple(names[0] for names in choices))
        whole = any(isinstance(edit, ActionDelay) for edit in edits_of(example, self._conditions))
        if whole and low != int(low):
            raise UserError(f"A delay is drawn among whole steps, got {low:g}..{high:g}.", "Write 0..2.")
        return _OpenEdit(words, whole, choices)

    def _choices(self, target: str, words: Words) -> tuple[str, ...]:
        """The names of which a target is one; what takes no names says so itself when it is built."""
        form, chosen = KEYWORDS.get(words.name), OPEN_TARGET.fullmatch(target)
        if form is None or not form.kind or chosen is None:
            return (target,)
        globs = between_commas(chosen["globs"])
        names = tuple(dict.fromkeys(name for one in globs for name in self._anatomy.choices(form.kind, one)))
        if chosen["how"] == "each":
            return names[self._whose.member % len(names) :: self._whose.members]
        return names


def deals_parts(text: str) -> bool:
    """Whether members train in different worlds."""
    return any(found["how"] == "each" for found in OPEN_TARGET.finditer(text))


def listed_variations(text: str) -> list[str]:
    """The variations between the commas of a text."""
    return [part for part in between_commas(text) if part]
