"""metrics.jsonl: one JSON object a line, each with a checksum of its own, appended as training goes."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from typing import Any

from polygait.errors import UserError
from polygait.population.files import explaining_writes, read_bounded, sync_folder, write_all
from polygait.population.strict_json import canonical, from_plain, parse, to_plain

SIZE_LIMIT = 2**30
_LINE = re.compile(rb'(.*?),?"crc32":"([0-9a-f]{8})"\}', re.DOTALL)


class MetricsLog:
    """The log of one run. A line goes to the system whole, so it outlives the process that wrote it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._size = 0

    def append(self, record: dict[str, Any]) -> None:
        """Add one line; when the disk refuses, the log stays as it was."""
        line = _encode(record)
        with explaining_writes(self._path):
            descriptor = self._opened()
            try:
                write_all(descriptor, line)
                self._size += len(line)
            except BaseException:
                os.ftruncate(descriptor, self._size)
                raise

    def sync(self) -> None:
        """Record every line on disk, so that a checkpoint never remembers a line that power loss took."""
        with explaining_writes(self._path):
            os.fsync(self._opened())

    def size(self) -> int:
        """The bytes of all whole lines; a checkpoint remembers it for truncate()."""
        return self._size if self._descriptor is not None else self._whole().rfind(b"\n") + 1

    def truncate(self, size: int) -> None:
        """Cut the log back to a size that size() once gave.

        A log that is missing altogether starts anew: deleting it is the user's way out of a damaged one.
        """
        whole = self._whole()
        if whole and (len(whole) < size or (size > 0 and whole[size - 1 : size] != b"\n")):
            raise UserError(
                f"Damaged: {self._path} does not have the lines that the checkpoint remembers.",
                "Restore it from a copy of the run, or delete it to go on with an empty log.",
            )
        with explaining_writes(self._path):
            descriptor = self._opened()
            self._size = min(size, len(whole))
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
            return read_bounded(self._path, SIZE_LIMIT)
        except FileNotFoundError:
            return b""

    def _opened(self) -> int:
        """The descriptor to append to; a torn last line is cut off first."""
        if self._descriptor is None:
            size = self.size()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self._path, flags, 0o666)
            try:
                os.ftruncate(descriptor, size)
                sync_folder(self._path.parent)
            except BaseException:
                os.close(descriptor)
                raise
            self._descriptor, self._size = descriptor, size
        return self._descriptor

    def _decode(self, line: bytes, number: int) -> dict[str, Any]:
        parts = _LINE.fullmatch(line)
        if parts and zlib.crc32(parts[1] + b"}") == int(parts[2], 16):
            try:
                return from_plain(parse(parts[1] + b"}"))
            except ValueError:
                pass
        raise UserError(
            f"Damaged: line {number} of {self._path} was altered.",
            "Delete that line or restore the file from a copy of the run.",
        )


def _encode(record: dict[str, Any]) -> bytes:
    if "crc32" in record:
        raise UserError("No metric may be called 'crc32'.", "Rename it; each line's checksum has that name.")
    body = canonical(to_plain(record, "metrics"))
    comma = b"," if record else b""
    return b'%s%s"crc32":"%08x"}\n' % (body[:-1], comma, zlib.crc32(body))
