"""The run folder: everything one training leaves behind, safe to kill, safe to open.

    RUN/manifest.json                      what the run is, which members it has, their checksums
    RUN/members/000.safetensors            finished members
    RUN/origin.safetensors                 the member of another run from which all of these started, if any
    RUN/metrics.jsonl                      the log, one JSON object a line
    RUN/checkpoints/00001234.safetensors   the newest two states of training, by iteration
    RUN/lock                               held while a process writes

Every write happens inside `with run.writing():`; reading needs no lock. A run with a symbolic link inside can
be read but is not written to: what lies behind the link is not the run's.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from polygait.errors import UserError
from polygait.population.checkpoints import (
    Checkpoint,
    newest_checkpoint,
    remove_checkpoints,
    write_checkpoint,
)
from polygait.population.manifest import (
    MemberEntry,
    encode_manifest,
    member_entries,
    read_manifest,
    with_member,
)
from polygait.population.metrics import RESTORE_OR_DELETE, LogMark, MetricsLog
from polygait.storage.files import (
    START_AGAIN,
    explaining_writes,
    make_folder,
    read_bounded,
    refuse_links,
    remove_leftovers,
    write_atomically,
)
from polygait.storage.lock import RunLock
from polygait.storage.tensors import FILE_LIMIT, pack, unpack
from polygait.zoo import is_zoo

_ORIGIN = "origin.safetensors"
_WRITTEN = re.compile(r"manifest\.json|[0-9]{3,}(-rewritten)?\.safetensors")
_OWN_FIELDS = frozenset({"format", "sha256", "members", "log", "created", "updated"})


class RunFolder:
    """One run on disk. Open it with RunFolder.open(), begin one with RunFolder.create()."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self._manifest = manifest
        self._lock = RunLock(path / "lock")
        self._metrics = MetricsLog(path / "metrics.jsonl")

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        description: dict[str, Any],
        start: Mapping[str, np.ndarray] | None = None,
    ) -> RunFolder:
        """Begin a run in a new or empty folder.

        The description holds config, task, layout, filter, versions and seeds, and what else the
        caller wants to remember; the members, the times and `complete` are added here. With the arrays of
        a finished member to start from, the folder keeps a copy: it needs no other run.
        """
        run = Path(path)
        _refuse_own_fields(description)
        now = _now()
        log = MetricsLog(run / "metrics.jsonl").mark()._asdict()
        manifest = {"complete": False, **description, "members": [], "log": log}
        copied = None if start is None else pack(start)
        if copied is not None:
            seal = {"sha256": hashlib.sha256(copied).hexdigest(), "size": len(copied)}
            manifest["origin"] = {**description.get("origin", {}), **seal}
        data = encode_manifest(manifest | {"created": now, "updated": now})
        with explaining_writes(run, START_AGAIN):
            cls.require_unused(run)
            make_folder(run)
        refuse_links(run)
        with RunLock(run / "lock", START_AGAIN).hold():
            cls.require_unused(run)
            if copied is not None:  # before the manifest that lists it: a run without its start never exists
                write_atomically(run / _ORIGIN, copied, START_AGAIN)
            write_atomically(run / "manifest.json", data, START_AGAIN)
        return cls.open(run)

    @staticmethod
    def require_unused(path: str | os.PathLike[str]) -> None:
        """Stop before a folder that holds a run or somebody's files."""
        if is_zoo(path):
            raise UserError(f"{path} names a population of the zoo, which stays as it is.", "Give a folder.")
        run = Path(path)
        if not run.exists():
            return
        if not run.is_dir():
            raise UserError(f"Cannot begin a run in {run}: it is a file.", "Choose another --out.")
        if (run / "manifest.json").exists():
            raise UserError(
                f"There is a run in {run} already.",
                f"Go on with `polygait resume {run}` or choose another --out.",
            )
        leftovers = {"lock", ".manifest.json.tmp", _ORIGIN, f".{_ORIGIN}.tmp"}
        if others := sorted(entry.name for entry in run.iterdir() if entry.name not in leftovers):
            raise UserError(
                f"Cannot begin a run in {run}: the folder is not empty ({others[0]!r}).",
                "Choose another --out.",
            )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Open a run for reading; enter writing() to change it."""
        run = Path(path)
        return cls(run, read_manifest(run))

    @property
    def manifest(self) -> dict[str, Any]:
        """A copy of the manifest as last read or written."""
        return copy.deepcopy(self._manifest)

    @property
    def members(self) -> dict[int, MemberEntry]:
        """The finished members by index."""
        return member_entries(self.manifest)

    @property
    def complete(self) -> bool:
        """Whether training reached its end."""
        return self._manifest["complete"]

    @contextlib.contextmanager
    def writing(self) -> Iterator[RunFolder]:
        """Hold the run's lock: clean up after a killed writer, see its last manifest, then write."""
        refuse_links(self.path)
        with self._lock.hold():
            for folder in (self.path, self.path / "members", self.path / "checkpoints"):
                remove_leftovers(folder, _WRITTEN)
            self._manifest = read_manifest(self.path)
            try:
                yield self
            finally:
                self._metrics.close()

    def update_manifest(self, changes: dict[str, Any]) -> None:
        """Replace some of the description's fields, or set `complete`."""
        _refuse_own_fields(changes)
        self._write_manifest(self._manifest | changes)

    def save_member(
        self, index: int, tensors: Mapping[str, np.ndarray], steps: int, summary: dict[str, Any]
    ) -> None:
        """Add a finished member: its file first, then the manifest that lists it.

        Saving a listed member again replaces it, and at every moment one of the two is whole.
        """
        self._lock.require()
        listed = self.members.get(index)
        data = pack(tensors)
        entry = replace(MemberEntry.describing(index, data, listed), steps=steps, summary=summary)
        write_atomically(self.path / entry.file, data)
        self._write_manifest(with_member(self._manifest, entry))
        if listed and listed.file != entry.file:
            with explaining_writes(self.path / listed.file):
                (self.path / listed.file).unlink(missing_ok=True)

    def load_member(self, index: int) -> dict[str, np.ndarray]:
        """A member's arrays, exactly as saved; a missing, truncated or altered file is named."""
        members = self.members
        if index not in members:
            known = ", ".join(map(str, members)) or "none yet"
            raise UserError(f"{self.path} has no member {index}.", f"Finished members: {known}.")
        entry = members[index]
        remedy = "Restore it from a copy of the run; the other members are not affected."
        return _sealed_arrays(self.path / entry.file, entry.size, entry.sha256, remedy)

    def load_origin(self) -> dict[str, np.ndarray] | None:
        """The arrays of the finished member from which the run's members start; None where from nothing."""
        origin = self._manifest.get("origin")
        if origin is None:
            return None
        remedy = "Restore it from a copy of the run; finished members are not affected."
        return _sealed_arrays(self.path / _ORIGIN, origin["size"], origin["sha256"], remedy)

    def save_checkpoint(
        self, iteration: int, tensors: Mapping[str, np.ndarray], metadata: dict[str, Any]
    ) -> None:
        """Keep the state of training after an iteration; iterations count upwards, the newest two stay."""
        self._lock.require()
        checkpoint = Checkpoint(iteration, dict(tensors), metadata, self._metrics.mark())
        write_checkpoint(self._checkpoints, checkpoint)

    def load_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint that is good and whose lines of the log are, or None.

        Its `skipped` says why newer ones were passed over.
        """
        return newest_checkpoint(self._checkpoints, self._metrics)

    def clear_checkpoints(self) -> None:
        """Delete all checkpoints, when training is complete."""
        self._lock.require()
        remove_checkpoints(self._checkpoints, keep=set())

    def append_metrics(self, record: dict[str, Any]) -> None:
        """Add one line to the log."""
        self._lock.require()
        self._metrics.append(record)

    def sync_metrics(self) -> None:
        """Record the log on disk; call it before save_checkpoint()."""
        self._lock.require()
        self._metrics.sync()

    def metrics_size(self) -> int:
        """The log's size in bytes, for a checkpoint to remember."""
        return self._metrics.size()

    def truncate_metrics(self, size: int) -> None:
        """Cut the log back to the size a checkpoint remembers, so a resumed log equals an unbroken one."""
        self._lock.require()
        self._metrics.truncate(size)

    def rewind_metrics(self) -> None:
        """Cut the log back to the finished members, where no checkpoint is left to go on from."""
        self._lock.require()
        if "log" in self._manifest:
            mark = LogMark.from_json(self._manifest["log"])
        else:
            mark = LogMark(self._metrics.size(), None)
        if problem := self._metrics.problem(mark):
            raise UserError(problem, RESTORE_OR_DELETE)
        self._metrics.truncate(mark.size)

    def metrics(self) -> list[dict[str, Any]]:
        """The log's whole lines."""
        return self._metrics.read()

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        self._lock.require()
        log = {"log": self._metrics.mark()._asdict()} if self._metrics.writing else {}
        data = encode_manifest(manifest | log | {"updated": _now()})
        try:
            write_atomically(self.path / "manifest.json", data)
        finally:  # an interrupt may come after the file was replaced; what is on disk holds
            self._manifest = read_manifest(self.path)


def _sealed_arrays(path: Path, size: int, sha256: str, remedy: str) -> dict[str, np.ndarray]:
    """The arrays of a file that the manifest lists; one that is not as listed is named."""
    try:
        data = read_bounded(path, FILE_LIMIT)
    except FileNotFoundError:
        raise UserError(f"Damaged: {path} is missing.", remedy) from None
    if len(data) < size:
        raise UserError(f"Damaged: {path} is truncated: {len(data):,} of {size:,} bytes are left.", remedy)
    if hashlib.sha256(data).hexdigest() != sha256 or len(data) > size:
        raise UserError(f"Damaged: {path} was altered; its checksum does not fit.", remedy)
    return unpack(data, path)[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _refuse_own_fields(fields: dict[str, Any]) -> None:
    if own := sorted(_OWN_FIELDS & fields.keys()):
        raise UserError(f"The run folder itself keeps {', '.join(own)}.", "Leave these fields out.")
