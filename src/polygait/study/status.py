"""How far a study is, for those who look while it runs."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polygait.progress import duration
from polygait.study.grid import StudyJob
from polygait.study.jobs import JobFolder

STALE_SECONDS = 30.0
"""A job that has said nothing for so long is not running."""
STATES = ("done", "running", "failed", "stopped", "waiting")


class JobStatus(NamedTuple):
    """How far one job is."""

    name: str
    task: str
    method: str
    seed: int
    state: str
    phase: str
    share: float
    """Of the whole job, from 0 to 1."""
    steps_per_second: float
    episode_return: float
    reason: str
    """Why it failed or was last interrupted."""
    log: str


def job_status(job: StudyJob, out: Path) -> JobStatus:
    """Read from the job's folder; whoever runs it is not asked."""
    folder = JobFolder.of(out, job)
    said = folder.status()
    phase = str(said.get("phase", ""))
    state = _state(folder, said, phase)
    return JobStatus(
        name=job.name,
        task=job.run.task,
        method=job.label,
        seed=job.run.seed,
        state=state,
        phase=phase if state == "running" else "",
        share=1.0 if state == "done" else min(1.0, max(0.0, _number(said, "share", 0.0))),
        steps_per_second=_number(said, "steps_per_second", 0.0) if state == "running" else 0.0,
        episode_return=_number(said, "return", math.nan),
        reason=str(said.get("reason", "")) if state != "done" else "",
        log=str(folder.log) if folder.log.exists() else "",
    )


def study_status(jobs: Sequence[StudyJob], out: Path) -> list[JobStatus]:
    """Of all jobs."""
    return [job_status(job, out) for job in jobs]


def _state(folder: JobFolder, said: dict[str, Any], phase: str) -> str:
    if folder.done:
        return "done"
    if phase == "failed":
        return "failed"
    if not said:
        return "waiting"
    age = time.time() - (folder.path / "status.json").stat().st_mtime
    process = said.get("process")
    alive = type(process) is int and (said.get("host") != socket.gethostname() or _exists(process))
    return "running" if phase not in ("stopped", "crashed") and age < STALE_SECONDS and alive else "stopped"


def _number(said: dict[str, Any], name: str, otherwise: float) -> float:
    value = said.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return otherwise
    return float(value) if abs(value) <= sys.float_info.max else otherwise  # NaN is not smaller either


def _exists(process: int) -> bool:
    if process < 1:  # 0 and below name groups of processes
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


class Overview:
    """One line about the whole study, and how long the rest will take at this pace."""

    def __init__(self, jobs: Sequence[StudyJob], out: Path) -> None:
        self._jobs = jobs
        self._out = out
        self._begun = time.monotonic()
        self._first: float | None = None

    def __call__(self) -> tuple[float, str]:
        """The share done, and the line."""
        statuses = study_status(self._jobs, self._out)
        weights = [job.training_steps for job in self._jobs]
        share = sum(w * status.share for w, status in zip(weights, statuses, strict=True)) / sum(weights)
        self._first = share if self._first is None else self._first
        states = Counter(status.state for status in statuses)
        pace = sum(status.steps_per_second for status in statuses if status.state == "running")
        words = [f"{states['done']}/{len(statuses)} jobs", f"{states['running']} running"]
        words += [f"{states['failed']} failed"] if states["failed"] else []
        words += [f"{pace:,.0f} steps/s"] if pace else []
        if share > self._first + 1e-3:
            seconds = (time.monotonic() - self._begun) * (1 - share) / (share - self._first)
            words.append(f"{duration(seconds)} left")
        return share, "  ".join(words)
