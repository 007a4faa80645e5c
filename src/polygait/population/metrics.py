"""metrics.jsonl: one JSON object a line, each with a checksum of its own, appended as training goes."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from polygait.errors import UserError
from polygait.storage.files import explaining_writes, read_bounded, sync_folder, write_all
from polygait.storage.strict_json import canonical, from_plain, parse, to_plain

SIZE_LIMIT = 2**30
RESTORE_OR_DELETE = "Restore it from a copy of the run, or delete it to go on with an empty log."
_LINE = re.compile(rb'(.*?),?"crc32":"([0-9a-f]{8})"\}', re.DOTALL)


class LogMark(NamedTuple):
    """How much of a log there was at some moment, and how to recognise it."""

    size: int
    sha256: str | None
    """None where polygait 0.1 wrote the mark: then each line only vouches for itself."""

    @classmethod
    def from_json(cls, data: Any) -> LogMark:
        """The mark whose fields these are; ValueError when they are not."""
        if not isinstance(data, dict) or data.keys() != {"size", "sha256"}:
            raise ValueError("must have size and sha256")
        size, digest = data["size"], data["sha256"]
        if type(size) is not int or size < 0 or not isinstance(digest, str):
            raise ValueError("must have a size of at least 0 and a checksum")
        return cls(size, digest)


class MetricsLog:
    """The log of one run. A line goes to the system whole, so it outlives the process that wrote it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._size = 0
        self._digest = hashlib.sha256()

    def append(self, record: dict[str, Any]) -> None:
        """Add one line; when the disk refuses, the log stays as it was."""
        line = _encode(record)
        with explaining_writes(self.path):
            descriptor = self._opened()
            try:
                write_all(descriptor, line)
                self._size += len(line)
            except BaseException:
                os.ftruncate(descriptor, self._size)
                raise
            self._digest.update(line)

    def sync(self) -> None:
        """Record every line on disk, so that a checkpoint never remembers a line that power loss took."""
        with explaining_writes(self.path):
            os.fsync(self._opened())

    def size(self) -> int:
        """The bytes of all whole lines; a checkpoint remembers it for truncate()."""
        return self.mark().size

    @property
    def writing(self) -> bool:
        """Whether lines are being added."""
        return self._descriptor is not None

    def mark(self) -> LogMark:
        """All whole lines there are, for a checkpoint or a manifest to remember."""
        if self.writing:
            return LogMark(self._size, self._digest.hexdigest())
        whole = self._whole()
        size = whole.rfind(b"\n") + 1
        return LogMark(size, hashlib.sha256(whole[:size]).hexdigest())

    def problem(self, mark: LogMark) -> str:
        """What is wrong with the lines that a mark remembers, in words; empty when they are all there.

        A log that is missing altogether starts anew: deleting it is the user's way out of a damaged one.
        """
        if not self.path.exists():
            return ""
        whole = self._whole()
        lines = whole[: mark.size]
        if hashlib.sha256(lines).hexdigest() == mark.sha256:
            return ""
        if len(whole) < mark.size:
            return f"Damaged: {self.path} has lost lines: {len(whole):,} of {mark.size:,} bytes are left."
        if number := _altered_line(lines):
            return f"Damaged: line {number} of {self.path} was altered."
        if mark.sha256 is None:
            return ""
        return f"Damaged: lines of {self.path} were added, removed or exchanged."

    def truncate(self, size: int) -> None:
        """Cut the log back to a size that size() once gave; what is cut off will be written again."""
        missing, whole = not self.path.exists(), self._whole()
        if not missing and (len(whole) < size or (size > 0 and whole[size - 1 : size] != b"\n")):
            raise UserError(
                f"Damaged: {self.path} does not have the lines that the checkpoint remembers.",
                RESTORE_OR_DELETE,
            )
        if missing and size > 0:
            warnings.warn(f"{self.path} is missing: the log begins anew.", stacklevel=2)
        elif number := _altered_line(whole[size : whole.rfind(b"\n") + 1]):
            line = number + whole.count(b"\n", 0, size)
            warnings.warn(
                f"Damaged: line {line} of {self.path} was altered. "
                "Training goes on from before that line and writes it again.",
                stacklevel=2,
            )
        with explaining_writes(self.path):
            descriptor = self._opened()
            self._size = min(size, len(whole))
            self._digest = hashlib.sha256(whole[: self._size])
            os.ftruncate(descriptor, self._size)
            os.fsync(descriptor)

    def read(self) -> list[dict[str, Any]]:
        """All whole lines; a torn last line, left by a killed writer, is passed over."""
        lines = self._whole().split(b"\n")[:-1]
        return [self._decode(line, number) for number, line in enumerate(lines, start=1)]

    def close(self) -> None:
        """Stop writing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _whole(self) -> bytes:
        try:
            return read_bounded(self.path, SIZE_LIMIT)
        except FileNotFoundError:
            return b""

    def _opened(self) -> int:
        """The descriptor to append to; a torn last line is cut off first."""
        if self._descriptor is None:
            whole = self._whole()
            size = whole.rfind(b"\n") + 1
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self.path, flags, 0o666)
            try:
                os.ftruncate(descriptor, size)
                sync_folder(self.path.parent)
            except BaseException:
                os.close(descriptor)
                raise
            self._descriptor, self._size = descriptor, size
            self._digest = hashlib.sha256(whole[:size])
        return self._descriptor

    def _decode(self, line: bytes, number: int) -> dict[str, Any]:
        record = _decoded(line)
        if record is None:
            raise UserError(
                f"Damaged: line {number} of {self.path} was altered.",
                "Delete that line or restore the file from a copy of the run.",
            )
        return record


def _altered_line(lines: bytes) -> int:
    """The number of the first line that is not what was written, 0 when there is none."""
    *whole, rest = lines.split(b"\n")
    altered = (number for number, line in enumerate(whole, start=1) if _decoded(line) is None)
    return next(altered, len(whole) + 1 if rest else 0)


def _decoded(line: bytes) -> dict[str, Any] | None:
    """The record of a line, None when its checksum does not fit."""
    parts = _LINE.fullmatch(line)
    if parts and zlib.crc32(parts[1] + b"}") == int(parts[2], 16):
        try:
            return from_plain(parse(parts[1] + b"}"))
        except ValueError:
            return None
    return None


def _encode(record: dict[str, Any]) -> bytes:
    if "crc32" in record:
        raise UserError("No metric may be called 'crc32'.", "Rename it; each line's checksum has that name.")
    body = canonical(to_plain(record, "metrics"))
    comma = b"," if record else b""
    return b'%s%s"crc32":"%08x"}\n' % (body[:-1], comma, zlib.crc32(body))
