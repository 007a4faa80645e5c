"""Long work shows itself: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_PLAIN_SECONDS = 10.0


class Progress(NamedTuple):
    """Where a training stands."""

    members: str
    """The members in training, such as "3/10" or "1–10/10"."""
    share: float
    """Of the whole work, from 0 to 1."""
    steps: int
    """Of this cohort's members, each."""
    total_steps: int
    steps_per_second: float
    """Environment steps of all members together."""
    episode_return: float
    """Mean over recent episodes and members, without any bonus."""
    bonus_ratio: float
    """Size of the bonus relative to the task's reward."""
    seconds_left: float
    record: Mapping[str, Any]
    """The log's newest line."""

    def __str__(self) -> str:
        steps = f"{_thousands(self.steps)}/{_thousands(self.total_steps)} steps"
        bonus = f"  bonus/reward {self.bonus_ratio:.2f}" if self.bonus_ratio > 0 else ""
        return (
            f"member {self.members}  {steps}  {self.steps_per_second:,.0f} steps/s  "
            f"return {amount(self.episode_return)}{bonus}  {duration(self.seconds_left)} left"
        )


Report = Callable[[Progress], None]
Count = Callable[[int, int], None]
"""Told how many of how many pieces of work are done."""


def silent(*_: object) -> None:
    """Tells nobody."""


def all_of(*reports: Report) -> Report:
    """One reporter that serves several."""

    def report(progress: Progress) -> None:
        for one in reports:
            one(progress)

    return report


def printer() -> Report:
    """A reporter fit for where standard error goes."""
    return _live if sys.stderr.isatty() else _PlainLines()


def _live(progress: Progress) -> None:
    _write_live(progress.share, str(progress))


def _write_live(share: float, text: str) -> None:
    bar = "█" * int(20 * share)
    sys.stderr.write(f"\r\x1b[2K{bar:░<20} {100 * share:3.0f} %  {text}")
    sys.stderr.flush()


def liner() -> Callable[[float, str], None]:
    """Shows a share of all work and a line about it, fit for where standard error goes."""
    plain = _PlainLines()
    return _write_live if sys.stderr.isatty() else lambda _, text: plain(text)


def finish() -> None:
    """End the live line, so that what follows has its own."""
    if sys.stderr.isatty():
        sys.stderr.write("\n")


class _PlainLines:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, progress: object) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PLAIN_SECONDS
            print(progress, file=sys.stderr, flush=True)


class Counter:
    """Shows a count of equal pieces of work, and how long the rest will take at this pace."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._begun = time.monotonic()
        self._plain = _PlainLines()
        self._first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        self._first = done if self._first is None else self._first
        rest = ""
        if done > self._first:
            seconds = (time.monotonic() - self._begun) * (total - done) / (done - self._first)
            rest = f"  {duration(seconds)} left"
        text = f"{done:,}/{total:,} {self._noun}{rest}"
        if not sys.stderr.isatty():
            self._plain(text)
            return
        _write_live(done / total, text)


def amount(*values: float) -> str:
    """A return, or a mean and its spread, in as many digits as tell something: 3,152; 47.3 ± 19.7; 0.42."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=math.inf)
    digits = 0 if largest >= 100 else 1 if largest >= 10 else 2
    return " ± ".join(f"{value:,.{digits}f}" for value in values)


def duration(seconds: float) -> str:
    """A time for people: 45 s, 12 min, 3 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def _thousands(steps: int) -> str:
    return f"{steps / 1e6:.2f}M" if steps >= 1_000_000 else f"{steps / 1e3:.0f}k"
