"""Where a study's jobs run, and who looks after them: `local` is one process per core, `ray` a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from polygait.config import StudyRunConfig
from polygait.errors import UserError
from polygait.interruption import Interruption
from polygait.storage.files import explaining_writes, make_folder
from polygait.storage.lock import RunLock
from polygait.study.grid import StudyJob
from polygait.study.jobs import JobFolder
from polygait.study.worker import BUSY, DONE, GRACE_SECONDS, MISTAKE, environment

POLL_SECONDS = 0.2


class Ended(NamedTuple):
    """A job whose process is gone."""

    name: str
    code: int
    """The worker's; negative for a signal."""
    reason: str


class Engine(ABC):
    """Something that runs jobs."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many jobs it can run at once."""

    @property
    @abstractmethod
    def running(self) -> int:
        """How many it runs now."""

    @abstractmethod
    def start(self, job: StudyJob, folder: JobFolder) -> None:
        """Begin a job, or go on with it."""

    @abstractmethod
    def ended(self) -> list[Ended]:
        """The jobs that ended since the last call, for whatever reason; does not wait."""

    @abstractmethod
    def stop(self) -> None:
        """End all jobs, after they have saved if they do so soon."""


class StudyOutcome(NamedTuple):
    """What came of a study's jobs."""

    done: tuple[str, ...]
    failed: dict[str, str]
    """Why, by name."""


def run_jobs(
    jobs: Sequence[StudyJob],
    out: Path,
    engine: Engine,
    retries: int = StudyRunConfig.retries,
    watch: Callable[[], None] = lambda: None,
) -> StudyOutcome:
    """Do what is not done yet. A job that fails does not stop the others; one that crashes is tried again.

    Ctrl-C lets jobs save, then raises KeyboardInterrupt.
    """
    with explaining_writes(out, "run the study again"):
        make_folder(out)
    with RunLock(out / "lock", "run the study again").hold(), Interruption() as stop:
        try:
            return _supervise(jobs, out, _Patience(engine, stop), retries, watch)
        finally:
            engine.stop()


class _Patience(NamedTuple):
    """An engine, and the wish to stop it."""

    engine: Engine
    stop: Interruption


def _supervise(
    jobs: Sequence[StudyJob], out: Path, patience: _Patience, retries: int, watch: Callable[[], None]
) -> StudyOutcome:
    engine, stop = patience
    by_name = {job.name: job for job in jobs}
    folders = {job.name: JobFolder.of(out, job) for job in jobs}
    waiting = deque(name for name, folder in folders.items() if not folder.done)
    attempts = dict.fromkeys(waiting, 0)
    running: set[str] = set()
    failed: dict[str, str] = {}
    while waiting or running:
        if stop.requested:
            raise KeyboardInterrupt
        while waiting and engine.running < engine.slots:
            name = waiting.popleft()
            folders[name].prepare(by_name[name])
            attempts[name] += 1
            engine.start(by_name[name], folders[name])
            running.add(name)
        for name, code, reason in engine.ended():
            running.discard(name)
            if code == DONE and folders[name].done:
                continue
            if code != MISTAKE and attempts[name] <= retries:
                waiting.append(name)
                continue
            failed[name] = reason
            if code != BUSY:  # the status is that of whoever has the job
                told = {"phase": "failed", "reason": reason, "attempts": attempts[name]}
                folders[name].write_status({**folders[name].status(), **told})
        watch()
        time.sleep(POLL_SECONDS)
    return StudyOutcome(tuple(name for name, folder in folders.items() if folder.done), failed)


class LocalEngine(Engine):
    """One process per job on this machine, each single-threaded: the most steps per second of all cores."""

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise UserError(f"`jobs` must be at least 1, got {jobs}.", "Leave it out for one per core.")
        self._slots = jobs or available_cores()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._folders: dict[str, JobFolder] = {}

    @property
    def slots(self) -> int:
        return self._slots

    @property
    def running(self) -> int:
        return len(self._running)

    def start(self, job: StudyJob, folder: JobFolder) -> None:
        self._running[job.name] = start_worker(folder.path, 1)
        self._folders[job.name] = folder

    def ended(self) -> list[Ended]:
        gone = {name: child for name, child in self._running.items() if child.poll() is not None}
        for name, child in gone.items():
            del self._running[name]
            if child.stdin:
                child.stdin.close()
        return [
            Ended(name, child.returncode, why(child.returncode, self._folders[name]))
            for name, child in gone.items()
        ]

    def stop(self) -> None:
        stop_workers(list(self._running.values()))
        self._running.clear()


def start_worker(folder: Path, threads: int) -> subprocess.Popen[bytes]:
    """A job's process: in a group of its own, so that only we interrupt it, and ending when we end."""
    command = [sys.executable, "-m", "polygait.study.worker", str(folder), str(threads)]
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | environment(threads),
            start_new_session=True,
        )


def stop_workers(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ask processes to save and end, and end those that take too long."""
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    until = time.monotonic() + GRACE_SECONDS
    for child in children:
        try:
            child.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdin:
            child.stdin.close()


def why(code: int, folder: JobFolder) -> str:
    """Why a worker ended, in words."""
    if code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"ended by {names.get(-code, f'signal {-code}')}"
    if code == BUSY:
        return "another process has the job"
    return str(folder.status().get("reason") or f"exit code {code}")


def available_cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
