"""The process of one job: python -m polygait.study.worker JOB_FOLDER THREADS.

It ends when the one who started it does: standard input is a pipe that the system closes then. Exit codes:
0 done, 2 a mistake that trying again does not mend, 75 another process has the job, 130 stopped and saved,
others a crash.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polygait.errors import UserError
from polygait.storage.lock import RunLock
from polygait.study.effort import Meter
from polygait.study.jobs import JobFolder, read_job, run_job, share_of_job

BEAT_SECONDS = 2.0
"""Between two signs of life in status.json."""
LOCK_SECONDS = 60.0
"""How long to wait for a predecessor that is still saving."""
_LOCK_POLL_SECONDS = 0.2
GRACE_SECONDS = 30.0
"""How long an orphan may take to save."""
DONE, MISTAKE, BUSY, STOPPED, CRASH = 0, 2, 75, 130, 1


def environment(cores: int) -> dict[str, str]:
    """What a process of its own needs so that learning uses one thread, whatever the machine has.

    The same everywhere, since the number of threads of a matrix product may change its last bits.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        **dict.fromkeys(names, "1"),
        "POLARS_MAX_THREADS": str(cores),
        "XLA_FLAGS": flags,
        "JAX_PLATFORMS": "cpu",
    }


class BusyError(UserError):
    """Another process has the job."""


class Pulse:
    """Keeps status.json and effort.json fresh while a job runs."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._meter = Meter(folder.path)
        self._status: dict[str, Any] = {"phase": "starting", "share": 0.0}
        self._told = False
        self._guard = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def tell(self, phase: str, share: float, numbers: dict[str, Any]) -> None:
        """Take note of how far the job is; the log says where this process took it up."""
        done = share_of_job(phase, share)
        if not self._told:
            self._told = True
            where = f"{os.getpid()} on {socket.gethostname()}"
            print(f"Process {where}: {phase}, {100 * done:.2f} % done.", file=sys.stderr, flush=True)
        with self._guard:
            kept = {name: value for name, value in self._status.items() if name == "return"}
            self._status = {**kept, "phase": phase, "share": done, **numbers}

    def __enter__(self) -> Pulse:
        self._write()
        self._thread.start()
        return self

    def end(self, phase: str, reason: str = "") -> None:
        """The last word."""
        self._over.set()
        self._thread.join()
        with self._guard:
            self._status |= {"phase": phase, **({"reason": reason} if reason else {})}
        self._write()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            self._write()

    def _write(self) -> None:
        """A status that cannot be written is not worth the job: the next one may be."""
        with self._guard:
            status = dict(self._status)
        with contextlib.suppress(UserError, OSError):
            self._folder.write_status(status)
            self._meter.write()


def main(arguments: list[str]) -> int:
    """Run the job of a folder; the exit code."""
    path, threads = Path(arguments[0]), int(arguments[1])
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr, flush=True)
    try:
        folder = JobFolder(path, read_job(path).measures)
        with alone(path), Pulse(folder) as pulse:
            return _run(path, threads, pulse)
    except BusyError as error:
        print(f"polygait: {error}", file=sys.stderr, flush=True)
        return BUSY
    except UserError as error:
        print(f"polygait: {error}", file=sys.stderr, flush=True)
        return MISTAKE
    except KeyboardInterrupt:
        return STOPPED


def _run(path: Path, threads: int, pulse: Pulse) -> int:
    try:
        run_job(path, threads, pulse.tell)
    except KeyboardInterrupt:
        print("Stopped; what is done is saved.", file=sys.stderr, flush=True)
        pulse.end("stopped")
        return STOPPED
    except UserError as error:
        print(f"polygait: {error}", file=sys.stderr, flush=True)
        pulse.end("failed", str(error))
        return MISTAKE
    except Exception as error:  # whatever it is, the study goes on without this job
        traceback.print_exc()
        pulse.end("crashed", f"{type(error).__name__}: {error}")
        return CRASH
    pulse.end("done")
    return DONE


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the job's lock; a predecessor that lost its parent may still be saving."""
    lock = RunLock(path / "lock", "run the study again")
    until = time.monotonic() + LOCK_SECONDS
    with contextlib.ExitStack() as held:
        while not lock.held:
            try:
                held.enter_context(lock.hold())
            except UserError as error:
                if time.monotonic() > until:
                    raise BusyError(error.problem, error.remedy) from error
                time.sleep(_LOCK_POLL_SECONDS)
        yield


def _end_with_parent() -> None:
    """Wait for the end of standard input, then save and stop."""
    while os.read(0, 4096):  # unlike sys.stdin, this holds no lock that the end of the process needs
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(STOPPED)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
