"""Jobs on a Ray cluster: one that is started here, reachable from here alone, or one that exists.

A task on a node runs the same worker process as the local engine, in a private folder, and sends what changed
to the head every few seconds. A lost node costs the work since then: the head's copy goes to the next node.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from polygait.errors import UserError
from polygait.study.engines import Ended, Engine, start_worker, stop_workers, why
from polygait.study.grid import Measures, StudyJob
from polygait.study.jobs import JobFolder
from polygait.study.mirror import Copy, Stamps, copy_of, put_down
from polygait.study.worker import CRASH, MISTAKE
from polygait.versions import versions

SYNC_SECONDS = 10.0
"""Between two messages of a job to the head."""
_STARTS = 4
"""How often to try to start a cluster of our own."""
_POLL_SECONDS = 0.2


class Message(NamedTuple):
    """From a job to the head."""

    copy: Copy | None
    """What changed in its folder; None if the folder is shared, or changes too fast just now."""
    code: int | None = None
    """Of its worker, when that has ended."""
    reason: str = ""


class Errand(NamedTuple):
    """What a node is asked to do."""

    name: str
    measures: Measures
    folder: str | None
    """A shared folder; None for a private one."""
    threads: int
    versions: dict[str, str]
    """Of the head."""
    seconds: float
    """Between two messages."""


class RayEngine(Engine):
    """Runs jobs as Ray tasks."""

    def __init__(
        self,
        address: str | None = None,
        cores: int | None = None,
        cpus_per_job: int = 1,
        shared: bool = False,
    ) -> None:
        if problems := [
            f"{name} must be at least 1, got {value}."
            for name, value in (("jobs", cores), ("cpus_per_job", cpus_per_job))
            if value is not None and value < 1
        ]:
            raise UserError("\n".join(problems))
        self._ray = _connect(address, cores)
        self._cpus = cpus_per_job
        self._shared = shared
        self._running: dict[str, tuple[Any, JobFolder]] = {}
        self._task = self._ray.remote(run_errand)

    @property
    def slots(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)) // self._cpus)

    @property
    def running(self) -> int:
        return len(self._running)

    def start(self, job: StudyJob, folder: JobFolder) -> None:
        shared = str(folder.path.absolute()) if self._shared else None
        errand = Errand(job.name, job.measures, shared, self._cpus, versions(), SYNC_SECONDS)
        begun = None if self._shared else copy_of(folder.path, {})
        # Ray itself must not repeat a task: it would begin from the copy of the first time.
        task = self._task.options(num_cpus=self._cpus, max_retries=0, name=job.name)
        self._running[job.name] = (task.remote(errand, begun.copy if begun else None), folder)

    def ended(self) -> list[Ended]:
        gone = []
        waiting = {id(stream): name for name, (stream, _) in self._running.items()}
        if not waiting:
            return []
        streams = [stream for stream, _ in self._running.values()]
        ready, _ = self._ray.wait(streams, num_returns=len(streams), timeout=0.0)
        for stream in ready:
            name = waiting[id(stream)]
            message = self._next(stream)
            folder = self._running[name][1]
            if message.copy is not None:
                put_down(folder.path, message.copy)
            if message.code is not None:
                del self._running[name]
                gone.append(Ended(name, message.code, message.reason or why(message.code, folder)))
        return gone

    def stop(self) -> None:
        for stream, _ in self._running.values():
            self._ray.cancel(stream)
        self._running.clear()
        self._ray.shutdown()

    def _next(self, stream: Any) -> Message:
        try:
            return self._ray.get(next(stream))
        except StopIteration:
            return Message(None, CRASH, "the task ended without a word")
        except self._ray.exceptions.RayError as error:
            return Message(None, CRASH, f"lost: {type(error).__name__}: {str(error).strip().splitlines()[0]}")


def run_errand(errand: Errand, begun: Copy | None) -> Iterator[Message]:
    """What a node does: run the worker, and tell the head what changed until it ends."""
    here = versions()
    if unlike := sorted(name for name, version in errand.versions.items() if here.get(name) != version):
        differ = ", ".join(f"{name} {here.get(name)} instead of {errand.versions[name]}" for name in unlike)
        yield Message(None, MISTAKE, f"a node has {differ}: install the same versions on all nodes")
        return
    private = None if errand.folder else Path(tempfile.mkdtemp(prefix=f"polygait-{errand.name}-"))
    path = private or Path(str(errand.folder))
    if private and begun is not None:
        put_down(private, begun)
    child = start_worker(path, errand.threads)
    known: Stamps = {}
    try:
        due = time.monotonic() + errand.seconds
        while child.poll() is None:
            time.sleep(_POLL_SECONDS)
            if private and time.monotonic() > due:
                copied = copy_of(private, known)
                due = time.monotonic() + errand.seconds
                if copied is not None:
                    known = copied.stamps
                    yield Message(copied.copy)
        last = copy_of(private, known) if private else None
        reason = why(child.returncode, JobFolder(path, errand.measures))
        yield Message(last.copy if last else None, child.returncode, reason)
    finally:
        stop_workers([child])
        if private:
            shutil.rmtree(private, ignore_errors=True)


def _connect(address: str | None, cores: int | None) -> Any:
    """Ray, connected to an existing cluster, or to a new one that only this machine can reach."""
    if address is None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # what makes Ray keep to the loopback address
    try:
        import ray
    except ModuleNotFoundError:
        raise UserError(
            "The engine ray needs the package ray.", 'Install it: pip install "polygait[ray]"'
        ) from None
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        options |= {"num_cpus": cores, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    _init(ray, address, options)
    if address is None and not (found := ray.util.get_node_ip_address()).startswith("127."):
        ray.shutdown()
        raise UserError(
            f"Ray would listen on {found}, which others can reach.",
            "Start the study in a process that has not imported ray before.",
        )
    return ray


def _init(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    """Begin; a cluster of our own gets more than the half minute that Ray gives a busy machine."""
    for attempt in range(_STARTS):
        try:
            ray.init(address=address or "local", **options)
            return
        except Exception as error:  # Ray raises whatever it met, often as a bare Exception
            ray.shutdown()
            if address is None and attempt < _STARTS - 1:
                continue
            raise UserError(
                f"Cannot reach a Ray cluster at {address or 'this machine'}: {error}",
                "Give --address auto, HOST:6379 or ray://HOST:10001, or leave it out to start one here.",
            ) from error
