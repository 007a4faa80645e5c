"""A job's folder on its way between machines: whole, consistent, and only what changed.

A copy made while a worker writes must be one from which training could go on. Training saves in an order
that makes every moment such a state (docs/architecture.md), so a copy is good if nothing but logs changed
while it was made, and it is put down in the same order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from polygait.errors import UserError
from polygait.storage.files import refuse_links, write_atomically
from polygait.study.effort import FILE as EFFORT
from polygait.study.jobs import RUN_AGAIN

GROWING = ("status.json", EFFORT, "log.txt", "run/metrics.jsonl")
"""May change while a copy is made: they only grow, or are worth nothing later."""
_TRIES = 5
_MEMBERS, _LOG, _MANIFEST, _OTHERS, _CHECKPOINTS, _RESULT = range(6)

Stamps = dict[str, tuple[int, int]]
"""Size and time of change of every file, by its name."""


class Copy(NamedTuple):
    """What changed in a folder, and all that is there."""

    changed: dict[str, bytes]
    names: tuple[str, ...]


class Copied(NamedTuple):
    """A copy, and what the folder looked like when it was made."""

    copy: Copy
    stamps: Stamps


def copy_of(folder: Path, known: Stamps) -> Copied | None:
    """What changed since a copy with these stamps; None while too much changes to make one."""
    for _ in range(_TRIES):
        before = stamps(folder)
        try:
            names = [name for name, stamp in before.items() if known.get(name) != stamp]
            # The log last: whatever a checkpoint remembers of it is there.
            ordered = sorted(names, key=lambda name: name in GROWING)
            changed = {name: (folder / name).read_bytes() for name in ordered}
        except FileNotFoundError:
            continue
        if _still(before) == _still(stamps(folder)):
            return Copied(Copy(changed, tuple(before)), before)
    return None


def put_down(folder: Path, copy: Copy, before: Iterable[str] = ()) -> None:
    """Bring a folder to the state of a copy; killed half-way, training can still go on from it.

    Only what the copy `before` had is deleted: other files are somebody else's.
    """
    for name in (*copy.changed, *copy.names):
        _require_inside(name)
    refuse_links(folder)
    for name in sorted(copy.changed, key=_rank):
        write_atomically(folder / name, copy.changed[name], RUN_AGAIN)
    for name in set(before) - set(copy.names):
        (folder / name).unlink(missing_ok=True)


def _rank(name: str) -> int:
    """Members before the manifest that lists them, the log before whatever remembers it."""
    if name.startswith("run/members/"):
        return _MEMBERS
    if name.startswith("run/checkpoints/"):
        return _CHECKPOINTS
    if name.startswith("result-"):
        return _RESULT
    return {"run/manifest.json": _MANIFEST, "run/metrics.jsonl": _LOG}.get(name, _OTHERS)


def stamps(folder: Path) -> Stamps:
    """Of all files of a folder but locks and half-written ones."""
    return dict(_files(folder, folder))


def _files(folder: Path, top: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    with contextlib.suppress(FileNotFoundError):
        for path in folder.iterdir():
            if path.is_dir():
                yield from _files(path, top)
            elif path.name not in ("lock", ".lock") and not path.name.endswith(".tmp"):
                with contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    yield path.relative_to(top).as_posix(), (status.st_size, status.st_mtime_ns)


def _still(stamps: Stamps) -> Stamps:
    return {name: stamp for name, stamp in stamps.items() if name not in GROWING}


def _require_inside(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UserError(f"A job sent a file with the name {name!r}.", "Do not trust the machine it ran on.")
