"""Jobs on a Ray cluster: one that is started here, reachable from here alone, or one that exists.

A task on a node runs the same worker process as the local engine, in a private folder, and sends what changed
to the head every few seconds. A lost node costs the work since then: the head's copy goes to the next node.
While a job is away, the head holds its lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from polygait.errors import UserError
from polygait.study.engines import Ended, Engine, start_worker, stop_workers, why
from polygait.study.grid import Measures, StudyJob
from polygait.study.jobs import JobFolder
from polygait.study.mirror import Copy, copy_of, put_down, stamps
from polygait.study.worker import BUSY, CRASH, GRACE_SECONDS, MISTAKE, alone
from polygait.versions import versions

SYNC_SECONDS = 10.0
"""Between two messages of a job to the head."""
_STARTS = 4
"""How often to try to start a cluster of our own."""
_POLL_SECONDS = 0.2


class Message(NamedTuple):
    """From a job to the head."""

    copy: Copy | None
    """What changed in its folder; None if it has only begun, is shared, or changes too fast just now."""
    code: int | None = None
    """Of its worker, when that has ended."""
    reason: str = ""


class RemoteJob(NamedTuple):
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


class StopSignal:
    """An actor that tells all remote jobs at once to come home."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    async def ring(self) -> None:
        """Call them home."""
        self._rung.set()

    async def heard(self) -> None:
        """Wait for the call."""
        await self._rung.wait()


@dataclass
class _Away:
    """A job that a node is asked to do."""

    stream: Any
    """Of its messages."""
    folder: JobFolder
    lock: contextlib.ExitStack
    names: tuple[str, ...]
    """The files of its newest copy."""
    begun: bool = False
    """Whether a node has taken it."""


class RayEngine(Engine):
    """Runs jobs as Ray tasks; `jobs` at once if the cluster is ours, as many as fit if it is not."""

    def __init__(
        self,
        address: str | None = None,
        jobs: int | None = None,
        cpus_per_job: int = 1,
        shared: bool = False,
    ) -> None:
        if problems := [
            f"`{name}` must be at least 1, got {value}."
            for name, value in (("jobs", jobs), ("cpus_per_job", cpus_per_job))
            if value is not None and value < 1
        ]:
            raise UserError("\n".join(problems))
        self._ray = _connect(address, None if jobs is None else jobs * cpus_per_job)
        self._cpus = cpus_per_job
        self._shared = shared
        self._task = self._ray.remote(run_remote_job)
        self._away: dict[str, _Away] = {}
        self._refused: list[Ended] = []
        self._stop_signal: Any = None
        if self.slots == 0:
            most = max(self._node_cores(), default=0)
            self._ray.shutdown()
            raise UserError(
                f"A job that asks for {cpus_per_job} cores fits on no node: the largest has {most}.",
                "Give a smaller --cpus-per-job.",
            )

    @property
    def slots(self) -> int:
        return sum(cores // self._cpus for cores in self._node_cores())

    @property
    def running(self) -> int:
        return len(self._away)

    def start(self, job: StudyJob, folder: JobFolder) -> None:
        lock = contextlib.ExitStack()
        try:
            begun = None if self._shared else _taken(folder.path, lock)
        except UserError as error:
            lock.close()
            self._refused.append(Ended(job.name, BUSY, str(error)))
            return
        shared = str(folder.path.absolute()) if self._shared else None
        remote_job = RemoteJob(job.name, job.measures, shared, self._cpus, versions(), SYNC_SECONDS)
        # Ray itself must not repeat a task: it would begin from the copy of the first time.
        task = self._task.options(num_cpus=self._cpus, max_retries=0, name=job.name)
        self._stop_signal = self._stop_signal or self._hang_stop_signal()
        stream = task.remote(remote_job, begun, self._stop_signal)
        self._away[job.name] = _Away(stream, folder, lock, begun.names if begun else ())

    def ended(self) -> list[Ended]:
        gone, self._refused = self._refused, []
        for name, job in list(self._away.items()):
            if not self._ray.wait([job.stream], timeout=0.0)[0]:
                continue
            message = self._next(job.stream)
            job.begun = True
            if message.copy is not None:
                put_down(job.folder.path, message.copy, job.names)
                job.names = message.copy.names
            if message.code is not None:
                self._forget(name)
                gone.append(Ended(name, message.code, message.reason or why(message.code, job.folder)))
        return gone

    def stop(self) -> None:
        try:
            if self._away:
                self._call_home()
        finally:
            for name in list(self._away):
                self._cancel(name)
            self._ray.shutdown()

    def _call_home(self) -> None:
        """Let jobs save, and wait for their last messages."""
        self._stop_signal.ring.remote()
        for name in [name for name, job in self._away.items() if not job.begun]:
            self._cancel(name)
        until = time.monotonic() + GRACE_SECONDS + SYNC_SECONDS
        while self._away and time.monotonic() < until:
            self.ended()
            time.sleep(_POLL_SECONDS)

    def _cancel(self, name: str) -> None:
        self._ray.cancel(self._away[name].stream)
        self._forget(name)

    def _forget(self, name: str) -> None:
        self._away.pop(name).lock.close()

    def _node_cores(self) -> list[int]:
        return [int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]]

    def _hang_stop_signal(self) -> Any:
        """Where the study runs, since other nodes may be lost."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        return self._ray.remote(StopSignal).options(num_cpus=0, scheduling_strategy=here).remote()

    def _next(self, stream: Any) -> Message:
        try:
            return self._ray.get(next(stream))
        except StopIteration:
            return Message(None, CRASH, "the task ended without a word")
        except self._ray.exceptions.RayError as error:
            return Message(None, CRASH, f"lost: {type(error).__name__}: {str(error).strip().splitlines()[0]}")


def _taken(path: Path, lock: contextlib.ExitStack) -> Copy:
    """A copy of a job's folder to take along, under a lock that is held until the job is back."""
    lock.enter_context(alone(path))
    copied = copy_of(path, {})
    if copied is None:
        raise UserError(
            f"{path} changes although its lock is held.", "Keep other programs from writing there."
        )
    return copied.copy


def run_remote_job(remote_job: RemoteJob, begun: Copy | None, stop_signal: Any) -> Iterator[Message]:
    """What a node does: run the worker, and tell the head what changed until it ends."""
    here = versions()
    if unlike := sorted(name for name, version in remote_job.versions.items() if here.get(name) != version):
        differ = ", ".join(
            f"{name} {here.get(name)} instead of {remote_job.versions[name]}" for name in unlike
        )
        yield Message(None, MISTAKE, f"a node has {differ}: install the same versions on all nodes")
        return
    with contextlib.ExitStack() as place:
        private = place.enter_context(_private_folder(remote_job.name, begun)) if begun is not None else None
        path = private or Path(str(remote_job.folder))
        known = stamps(private) if private else {}
        called = place.enter_context(_listening(stop_signal))
        child = start_worker(path, remote_job.threads)
        place.callback(stop_workers, [child])
        yield Message(None)
        due = time.monotonic() + remote_job.seconds
        while child.poll() is None:
            if called.wait(_POLL_SECONDS):
                stop_workers([child])
            elif private and time.monotonic() > due:
                copied = copy_of(private, known)
                due = time.monotonic() + remote_job.seconds
                if copied is not None:
                    known = copied.stamps
                    yield Message(copied.copy)
        last = copy_of(private, known) if private else None
        reason = why(child.returncode, JobFolder(path, remote_job.measures))
    # The last word comes after tidying up: the head may end this process as soon as it has it.
    yield Message(last.copy if last else None, child.returncode, reason)


@contextlib.contextmanager
def _private_folder(name: str, begun: Copy) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=f"polygait-{name}-", ignore_cleanup_errors=True) as folder:
        put_down(Path(folder), begun)
        yield Path(folder)


@contextlib.contextmanager
def _listening(stop_signal: Any) -> Iterator[threading.Event]:
    """An event that is set when the stop signal is set.

    A thread waits for it: the main one would lend its cores to other tasks whenever it waits for Ray.
    """
    import ray

    called, over = threading.Event(), threading.Event()
    heard = stop_signal.heard.remote()

    def listen() -> None:
        while not over.is_set():
            if ray.wait([heard], timeout=1.0)[0]:
                called.set()
                return

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield called
    finally:
        over.set()


def _connect(address: str | None, cores: int | None) -> Any:
    """Ray, connected to an existing cluster, or to a new one that only this machine can reach."""
    if address is not None and address.startswith("ray://"):
        raise UserError(
            f"A study cannot run through Ray Client: {address}.",
            "Run it on a node of the cluster, with --address auto or --address HOST:6379.",
        )
    if address is None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # what makes Ray keep to the loopback address
    try:
        import ray
    except ModuleNotFoundError:
        raise UserError(
            "The engine ray needs the package ray.", 'Install it: pip install "polygait[ray]"'
        ) from None
    if ray.is_initialized():
        raise UserError("This process already uses Ray.", "Run the study in a process of its own.")
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
                "Give --address auto or HOST:6379 on a node of the cluster; leave it out to start one here.",
            ) from error
