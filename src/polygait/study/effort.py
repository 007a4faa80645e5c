"""What a job has cost so far: processor time, and how many processes it took from its beginning to its end.

JOB/effort.json is renewed while a job runs and kept beside its result, which holds nothing of the kind: a job
that was killed and went on ends in the same bytes as one left alone.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from polygait.storage.files import read_bounded, write_atomically
from polygait.storage.strict_json import canonical, parse, to_plain
from polygait.study.jobs import RUN_AGAIN

FILE = "effort.json"
_LIMIT = 2**10


class Effort(NamedTuple):
    """Of all processes that worked on a job."""

    processes: int
    """One where nobody interrupted it."""
    seconds: float
    """Processor time, of all threads."""

    def write(self, job: Path) -> None:
        """Keep it in the job's folder."""
        write_atomically(job / FILE, canonical(to_plain(self._asdict())), RUN_AGAIN)


def read_effort(job: Path) -> Effort | None:
    """What was kept; None where nothing was, or it cannot be read: no result is worth less for that."""
    try:
        said = parse(read_bounded(job / FILE, _LIMIT))
        processes, seconds = said["processes"], said["seconds"]
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None
    known = type(processes) is int and type(seconds) in (int, float)
    return Effort(processes, float(seconds)) if known and processes > 0 and seconds >= 0 else None


class Meter:
    """Counts what this process adds."""

    def __init__(self, job: Path) -> None:
        self._job = job
        self._before = read_effort(job) or Effort(0, 0.0)

    def write(self) -> None:
        """Bring the job's file up to date."""
        processes, seconds = self._before
        Effort(processes + 1, round(seconds + time.process_time(), 1)).write(self._job)
