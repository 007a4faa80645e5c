"""Trials that somebody makes on a robot: ask whom to try, tell what came out, and lose nothing in between."""

from __future__ import annotations

import contextlib
import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polygait.adaptation.choosing import make_selector
from polygait.adaptation.logbook import Log, Logbook, Told
from polygait.adaptation.loop import AskTell
from polygait.config import AdaptConfig, TrialsConfig, from_options
from polygait.errors import UserError
from polygait.population.population import PopulationLike, as_population

BUDGET = 10
"""Trials when nothing else is said."""
SELECTOR = "informed"


class Trials:
    """Which member to try next, and what is known so far; kept in the run's folder after every trial.

        trials = pg.Trials(population, selector="informed", budget=10, name="afternoon")
        while (member := trials.ask()) is not None:
            trials.tell(member, value=metres(member), fell=False)
        trials.best

    A value may be anything that is better when larger. Whoever makes Trials with the same name again, in
    another process or on another day, goes on where the last ones ended.
    """

    def __init__(self, population: PopulationLike, **options: Any) -> None:
        """For a population or the path of its run; the options are those of TrialsConfig."""
        self.population = as_population(population)
        config = from_options(TrialsConfig, options)
        if problems := config.problems():
            raise UserError("\n".join(problems), "Nothing was started.")
        if not self.population.lasting:
            raise UserError(
                "Trials are kept for as long as a robot needs, but this population has no folder.",
                "Give one: Population.from_policies(…, out='runs/mine').",
            )
        weights = tuple(self.population.weights(place) for place in range(len(self.population)))
        self._logbook = Logbook(self.population.path / "trials", config.name)
        self._log = self._logbook.open() or Log(
            task=self.population.config.task,
            selector=config.selector or SELECTOR,
            budget=config.budget or BUDGET,
            settings=tuple(config.settings),
            weights=weights,
        )
        self._require_same(config, weights)
        self._loop = self._repeated(self._log.told)
        if not self._log.told:
            self._logbook.write(self._log)

    @property
    def name(self) -> str:
        """What the trials are kept under."""
        return self._logbook.name

    @property
    def path(self) -> Path:
        """The file in which they are kept."""
        return self._logbook.path

    @property
    def selector(self) -> str:
        """Who says what to try next."""
        return self._log.selector

    @property
    def budget(self) -> int:
        """The most trials of all members together."""
        return self._log.budget

    @property
    def told(self) -> tuple[Told, ...]:
        """Every trial so far, in order."""
        return self._log.told

    @property
    def best(self) -> int | None:
        """The member to take after what was told; None before the first trial."""
        return self._loop.choose().best if self._loop.record.num_trials else None

    def ask(self) -> int | None:
        """The member to try next, the same until it is told; None when nothing is left to try."""
        return self._loop.ask()

    def tell(self, member: int, value: float, fell: bool = False) -> None:
        """What a trial of the member that was asked for came to; kept on disk when this returns."""
        self.population.require_member(member)
        told = Told(int(member), _checked_value(value), _checked_fall(fell), _now())
        self._loop.require_asked(told.member)
        self._keep((*self._log.told, told))
        self._loop.tell(told.member, told.value, told.fell)

    def take_back(self) -> Told:
        """Forget the last trial, for a slip of the hand; what was forgotten."""
        if not self._log.told:
            raise UserError("There is no trial to take back.")
        *before, last = self._log.told
        loop = self._repeated(before)
        self._keep(tuple(before))
        self._loop = loop
        return last

    def report(self) -> pl.DataFrame:
        """What is known of every member so far: its trials, and what its selector expects of it."""
        record, belief = self._loop.record, self._loop.selector.belief(self._loop.record)
        tried = [row[np.isfinite(row)] for row in record.returns]
        return pl.DataFrame(
            {
                "member": range(record.num_members),
                "trials": record.counts,
                "mean": [float(row.mean()) if len(row) else None for row in tried],
                "falls": record.falls,
                "expected": belief.mean,
                "uncertainty": belief.std,
                "best": [member == self.best for member in range(record.num_members)],
            },
            schema={
                "member": pl.Int64,
                "trials": pl.Int64,
                "mean": pl.Float64,
                "falls": pl.Int64,
                "expected": pl.Float64,
                "uncertainty": pl.Float64,
                "best": pl.Boolean,
            },
        )

    def _keep(self, told: tuple[Told, ...]) -> None:
        log = replace(self._log, told=told)
        self._logbook.write(log)
        self._log = log

    def _repeated(self, told: Sequence[Told]) -> AskTell:
        """A selector that has seen these trials."""
        config = AdaptConfig(selector=self._log.selector, settings=self._log.settings)
        selector = make_selector(config, self.population, self._log.budget)
        loop = AskTell(selector, len(self.population), self._log.budget)
        for one in told:
            loop.repeat(one.member, one.value, one.fell)
        return loop

    def _require_same(self, config: TrialsConfig, weights: tuple[str, ...]) -> None:
        """Trials go on under the same rules, with the same members."""
        another = "begin under another name."
        if self._log.weights != weights:
            raise UserError(
                f"The trials {self.name!r} were made with other members than this population has.",
                f"Give the population that they were begun with, or {another}",
            )
        for wish in ("selector", "budget", "settings"):
            asked, kept = getattr(config, wish), getattr(self._log, wish)
            if asked and (tuple(asked) if wish == "settings" else asked) != kept:
                raise UserError(
                    f"The trials {self.name!r} were begun with `{wish}={kept!r}`, not {asked!r}.",
                    f"Leave `{wish}` out to go on, or {another}",
                )


def _checked_value(value: Any) -> float:
    """A finite number; anything else would poison every comparison."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    with contextlib.suppress(OverflowError):
        if number and math.isfinite(value):
            return float(value)
    raise UserError(
        f"A trial's value must be a finite number, got {value!r}.",
        "Tell what is better when larger, such as a return or metres; nothing was recorded.",
    )


def _checked_fall(fell: Any) -> bool:
    if not isinstance(fell, bool | np.bool_):
        raise UserError(f"`fell` must be True or False, got {fell!r}.", "Nothing was recorded.")
    return bool(fell)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
