"""One writer a run: a lock that the system frees when its process dies, however it dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from polygait.errors import UserError
from polygait.storage.files import RESUME, explaining_writes, write_all

_POLL_SECONDS = 0.02
_LONGEST_NOTE = 300
_NOTE = re.compile(rb"(?:[0-9]+ [^\s]+\n?)?")
_held: set[int] = set()


class RunLock:
    """The exclusive right to write one run folder.

    An flock belongs to the open file: it is dropped with the last copy of the descriptor. Programs
    started by the holder do not get one (close-on-exec), and forked children close theirs.
    """

    def __init__(self, path: Path, afterwards: str = RESUME) -> None:
        self._path = path
        self._afterwards = afterwards
        self._descriptor = -1

    @property
    def held(self) -> bool:
        """Whether this object, in this process, holds the lock."""
        return self._descriptor in _held

    def require(self) -> None:
        """Stop a caller who writes without the lock, and one whose folder is gone.

        The first is a mistake in the program. The second would write a new folder with a part of the run.
        """
        if not self.held:
            raise RuntimeError("Writing a run needs its lock: use `with run.writing():`.")
        if not self._in_place():
            raise UserError(
                f"{self._path} is gone: the folder was deleted or moved while it was being written.",
                "If it was moved, go on with `polygait resume` in its new place; otherwise begin again.",
            )

    @contextlib.contextmanager
    def hold(self, timeout: float = 0.0) -> Iterator[None]:
        """Hold the lock for a while; after waiting so many seconds for its holder, say who that is."""
        self._descriptor = descriptor = self._acquire(time.monotonic() + timeout)
        _held.add(descriptor)
        try:
            with contextlib.suppress(OSError):  # on a full disk the lock holds without its note
                _note(descriptor, f"{os.getpid()} {socket.gethostname()}\n")
            yield
        finally:
            self._descriptor = -1
            if descriptor in _held:
                _held.discard(descriptor)
                with contextlib.suppress(OSError):
                    _note(descriptor, "")
                os.close(descriptor)

    def _in_place(self) -> bool:
        """Whether the lock that is held is still the file under its name."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.lstat(self._path))
        except FileNotFoundError:
            return False

    def _acquire(self, deadline: float) -> int:
        with explaining_writes(self._path, self._afterwards):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self._path, flags, 0o666)
            try:
                while not _locked(descriptor):
                    if time.monotonic() >= deadline:
                        note = os.pread(descriptor, _LONGEST_NOTE, 0).decode("utf-8", "replace").split()
                        raise _busy(self._path.parent, note)
                    time.sleep(_POLL_SECONDS)
            except BaseException:
                os.close(descriptor)
                raise
        return descriptor


def _locked(descriptor: int) -> bool:
    """Take the lock if nobody has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _note(descriptor: int, text: str) -> None:
    """Replace the note of who holds a lock; what is no such note is somebody else's and stays."""
    if _NOTE.fullmatch(os.pread(descriptor, _LONGEST_NOTE, 0)):
        os.ftruncate(descriptor, 0)
        write_all(descriptor, text.encode())


def _busy(run: Path, note: list[str]) -> UserError:
    """The error for a run that somebody else is writing."""
    if len(note) != 2 or not note[0].isdecimal():
        return UserError(f"Another process is writing {run}.", "Wait for it, or choose another folder.")
    process, host = note
    if host != socket.gethostname():
        return UserError(
            f"Process {process} on {host!r} is writing {run}.",
            "Wait for it or stop it there, then try again.",
        )
    if int(process) == os.getpid():
        return UserError(f"This process ({process}) is already writing {run}.", "Finish that writing first.")
    return UserError(
        f"Process {process} is writing {run}.",
        f"Wait for it, stop it (kill {process}) and try again, or choose another folder.",
    )


def _close_in_child() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)
