"""What breaks in every episode of one environment or of many, when, and what is told about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polygait.config import is_whole
from polygait.errors import UserError
from polygait.faults.reach import Reach
from polygait.tasks.randomness import CounterRandom, Draws
from polygait.tasks.schedule import Schedule, Scheduled, of_kind
from polygait.variations import (
    LAST_STEP,
    PHYSICS,
    ActionLag,
    ActionPlay,
    Effect,
    SensorFault,
    TrainingWorlds,
    Variation,
    deals_parts,
)


class Script:
    """The variations of some environments (rows), given or drawn for every episode from a mixture of worlds.

    All that is random follows from a row's seed, its episode and its step. Nothing here touches what breaks.
    """

    def __init__(self, reach: Reach, seeds: Sequence[int]) -> None:
        self.reach = reach
        self._rows = range(len(seeds))
        self._random = CounterRandom()
        self._keys = np.zeros((len(seeds), 2), dtype=np.uint64)
        self._keys[:, 0] = np.array(seeds, dtype=np.uint64)
        self._episode = np.full(len(seeds), -1, dtype=np.int64)
        self._worlds: TrainingWorlds | None = None
        self.give([Variation()] * len(seeds))

    def open(self, variations: Sequence[Variation] | None, worlds: str | None) -> None:
        """Begin with one variation for each row, or with a mixture for all; nothing is the nominal world."""
        if variations is not None and worlds is not None:
            told = ", ".join(dict.fromkeys(map(str, variations)))
            raise UserError(
                f"A variation ({told}) and worlds ({worlds}) exclude each other.", "Give the one you mean."
            )
        if worlds is not None:
            self._worlds = self._mixture(worlds)
            for possible in self._worlds.extremes():  # what cannot be done here is refused now
                self.reach.check(possible)
        elif variations is not None:
            self.give(variations)

    def give(self, variations: Sequence[Variation]) -> None:
        """Let other things break from now on, one variation for each row; worlds are drawn no more."""
        for one in variations:
            self.reach.check(one)
        schedule = Schedule(len(self._rows), self.reach.anatomy).with_variations(self._rows, variations)
        self._worlds = None
        self._use(schedule, list(variations))
        self._draw_onsets(np.array(self._rows))

    def move(self, reach: Reach) -> None:
        """Go on in an environment whose parts have become others."""
        self.reach, worlds = reach, self._worlds
        self.give(self.variations if worlds is None else [Variation()] * len(self._rows))
        self._worlds = None if worlds is None else self._mixture(worlds.text)

    def begin(self, rows: np.ndarray, seeds: Sequence[int | None]) -> np.ndarray:
        """Begin rows' next episodes, or the first of a new seed; the rows in which other things break now."""
        self._episode[rows] += 1
        for row, seed in zip(rows.tolist(), seeds, strict=True):
            if seed is not None:
                self._keys[row, 0], self._episode[row] = int(seed) % 2**64, 0
        changed: set[int] = set()
        if self._worlds is not None:
            variations = list(self.variations)
            for row in rows.tolist():
                variations[row] = self._worlds.draw(self.random(row, Draws.WORLDS))
            changed = {row for row in self._rows if variations[row] != self.variations[row]}
            if changed:
                drawn = [variations[row] for row in sorted(changed)]
                self._use(self._schedule.with_variations(sorted(changed), drawn), variations)
        return np.array(sorted(changed | self._draw_onsets(rows)), dtype=np.intp)

    def truth(self, before: np.ndarray, after: np.ndarray) -> list[str]:
        """Of every row the edits that act in a step, which goes from one count of steps to another.

        A sensor spoils what is seen after the step; everything else acts during it.
        """
        acting: list[set[int]] = [set() for _ in self._rows]
        for one in self.effects:
            for row in one.due(after if isinstance(one.effect, SensorFault) else before).tolist():
                acting[row].add(one.edit)
        return [
            "+".join(self._texts[row][edit] for edit in sorted(edits)) or "nominal"
            for row, edits in enumerate(acting)
        ]

    def random(self, row: int, purpose: int, step: int = 0) -> np.random.Generator:
        """A row's own random numbers in this episode."""
        return self._random.at(self._keys[row], max(int(self._episode[row]), 0), purpose, step)

    def _use(self, schedule: Schedule, variations: list[Variation]) -> None:
        self._schedule, self.variations = schedule, variations
        self._texts = [[str(edit) for edit in one] for one in variations]
        self.effects: list[Scheduled[Effect]] = schedule.effects
        self.spoils = bool(of_kind(self.effects, SensorFault))
        """Whether any effect is on observations."""
        self.meddles = any(not isinstance(one.effect, (*PHYSICS, SensorFault)) for one in self.effects)
        """Whether any effect is on actions."""
        # A delay and a play remember actions before they begin, a sensor that loses packets what it showed.
        loses = any(one.effect.mode == "drop" for one in of_kind(self.effects, SensorFault))
        self.remembers = loses or any(isinstance(one.effect, ActionLag | ActionPlay) for one in self.effects)

    def _draw_onsets(self, rows: np.ndarray) -> set[int]:
        limit = LAST_STEP if self.reach.limit is None else self.reach.limit
        return self._schedule.draw_onsets(
            rows, lambda row, edit: self.random(row, Draws.ONSETS + edit), limit
        )

    def _mixture(self, worlds: Any) -> TrainingWorlds:
        if not isinstance(worlds, str):
            raise UserError(
                f"`worlds` is a text, got {worlds!r}.",
                'Write for example "nominal*4, sensor(any(*)), delay=0..2".',
            )
        if deals_parts(worlds):
            raise UserError(
                f"each(…) deals parts out to a population's members, got {worlds!r} for environments.",
                "Write any(…): one of the parts in every episode.",
            )
        try:
            return TrainingWorlds(worlds, {}, self.reach.anatomy)
        except UserError as error:
            # Where kinds of parts are lacking, the language's own examples may not work.
            remedies = [one.remedy for one in self.reach.refusals.values()]
            raise UserError(error.problem, remedies[-1] if remedies else error.remedy) from error


def seeds_per_row(seed: Any, count: int) -> list[int]:
    """A seed for each environment: from the given one on, or of its own where none is given."""
    if seed is None:
        return np.random.SeedSequence().generate_state(count, np.uint64).tolist()
    if not is_whole(seed):
        raise UserError(
            f"`seed` must be a whole number or None, got {seed!r}.",
            "Give for example seed=0, or leave it out.",
        )
    return [(int(seed) + row) % 2**64 for row in range(count)]
