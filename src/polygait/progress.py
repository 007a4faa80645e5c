"""Long work shows itself: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

_PLAIN_SECONDS = 10.0
_WIDE = 100
"""Columns of a terminal that has room for a long bar."""


class Progress(NamedTuple):
    """Where a training stands."""

    members: str
    """The members in training, such as "3/10" or "1–10/10"."""
    share: float
    """Of the whole work, from 0 to 1."""
    steps: int
    """Of this cohort's members, each."""
    total_steps: int
    steps_per_second: float = 0.0
    """Environment steps of all members together."""
    episode_return: float = math.nan
    """Mean over recent episodes and members, without any bonus; NaN before the first episode's end."""
    bonus_ratio: float = 0.0
    """Size of the bonus relative to the task's reward."""
    seconds_left: float = math.nan
    record: Mapping[str, Any] = MappingProxyType({})
    """The log's newest line; empty before the first."""
    phase: str = ""
    """What goes on while no step is made, such as compiling; then nothing is known of pace and return."""

    def __str__(self) -> str:
        """What matters most comes first: a narrow terminal shows only the beginning."""
        words = [f"member {self.members}", f"{_thousands(self.steps)}/{_thousands(self.total_steps)} steps"]
        if self.phase:
            return "  ".join([*words, self.phase])
        unknown = math.isnan(self.episode_return)
        words += ["no episode ended yet" if unknown else f"return {amount(self.episode_return)}"]
        words += [f"{duration(self.seconds_left)} left", f"{self.steps_per_second:,.0f} steps/s"]
        words += [f"bonus/reward {self.bonus_ratio:.2f}"] if self.bonus_ratio > 0 else []
        return "  ".join(words)


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


@contextmanager
def reporting(
    report: Callable[..., None] | None, progress: bool, make: Callable[[], Callable[..., None]]
) -> Iterator[Callable[..., None]]:
    """Whom long work tells of itself: who was given, and with `progress` also the line that `make` gives."""
    if not progress:
        yield report or silent
        return
    line = make()

    def both(*news: Any) -> None:
        line(*news)
        if report is not None:
            report(*news)

    try:
        yield both
    finally:
        finish()


def printer() -> Report:
    """A reporter fit for where standard error goes."""
    return _live if sys.stderr.isatty() else _PlainLines()


def _live(progress: Progress) -> None:
    _LINE.show(progress.share, str(progress))


class _LiveLine:
    """The terminal's last line, written anew as work goes on."""

    def __init__(self) -> None:
        self._open = False

    def show(self, share: float, text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{_fitted(share, text, _columns() - 1)}")
        sys.stderr.flush()
        self._open = True

    def end(self) -> None:
        if self._open:
            sys.stderr.write("\n")
            self._open = False


_LINE = _LiveLine()


def _fitted(share: float, text: str, columns: int) -> str:
    """A bar and the words that fit; a line that breaks could not be written anew."""
    length = 20 if columns >= _WIDE else 10
    words = [f"{'█' * int(length * share):░<{length}} {100 * share:3.0f} %", *text.split("  ")]
    while len("  ".join(words)) > columns and len(words) > 1:
        words.pop()
    return "  ".join(words)[:columns]


def _columns() -> int:
    """Of the terminal that shows standard error."""
    try:
        found = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        found = 0
    return found or shutil.get_terminal_size().columns


def liner() -> Callable[[float, str], None]:
    """Shows a share of all work and a line about it, fit for where standard error goes."""
    plain = _PlainLines()
    return _LINE.show if sys.stderr.isatty() else lambda _, text: plain(text)


def finish() -> None:
    """End the live line, if there is one, so that what follows has its own."""
    _LINE.end()


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
        if total == 0:
            return  # no work, nothing to show
        self._first = done if self._first is None else self._first
        rest = ""
        if done > self._first:
            seconds = (time.monotonic() - self._begun) * (total - done) / (done - self._first)
            rest = f"  {duration(seconds)} left"
        text = f"{done:,}/{total:,} {self._noun}{rest}"
        if not sys.stderr.isatty():
            self._plain(text)
            return
        _LINE.show(done / total, text)


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
    if steps < 1000:
        return str(steps)
    return f"{steps / 1e6:.2f}M" if steps >= 1_000_000 else f"{steps / 1e3:.0f}k"
