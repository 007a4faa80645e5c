"""Files that are either whole or absent: atomic writes, size-checked reads, errors that help."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePath

from polygait.errors import UserError

RESUME = "`polygait resume` goes on from the last checkpoint, which is intact"
START_AGAIN = "start again; nothing was there to lose"

_MORE_SPACE = "Free some space on that disk"
_MORE_RIGHTS = "Make the folder writable or choose another --out"
_REMEDIES = {
    errno.ENOSPC: _MORE_SPACE,
    errno.EDQUOT: _MORE_SPACE,
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f)",
    errno.EROFS: _MORE_RIGHTS,
    errno.EACCES: _MORE_RIGHTS,
    errno.EPERM: _MORE_RIGHTS,
    errno.ELOOP: "Put a real file in the place of the symbolic link",
}


@contextlib.contextmanager
def explaining_writes(path: Path, afterwards: str = RESUME) -> Iterator[None]:
    """Turn the system's refusal to write into what failed, what was kept and what to do."""
    try:
        yield
    except OSError as error:
        fix = _REMEDIES.get(error.errno or 0, "Check the disk and the folder")
        reason = error.strerror or str(error)
        raise UserError(f"Cannot write {path}: {reason}.", f"{fix}; then {afterwards}.") from error


def write_atomically(path: Path, data: bytes, afterwards: str = RESUME) -> None:
    """Replace a file as a whole: whoever looks, and whenever power fails, sees the old or the new one.

    Only the holder of the run's lock writes, so the temporary name needs no random part.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with explaining_writes(path, afterwards):
        make_folder(path.parent)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(temporary, flags, 0o666)
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; the system may take a large write in pieces."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, each recorded on disk."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Record a folder's names on disk, so that a rename survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path, written: re.Pattern[str]) -> None:
    """Delete what a killed writer left half-written of such files; call with the run's lock held.

    Other temporary files are somebody else's.
    """
    with explaining_writes(folder):
        for temporary in folder.glob(".*.tmp"):
            if written.fullmatch(temporary.name[1:-4]):
                temporary.unlink(missing_ok=True)


def refuse_links(home: Path, inside: str = "") -> None:
    """Stop before a symbolic link on the way from a folder to `inside` it, or anywhere below.

    Whatever is written or deleted behind a link lies outside the folder and is somebody else's. The
    folder itself may be reached through links: its user named it.
    """
    path = home
    with explaining_writes(home):
        for part in PurePath(inside).parts:
            path /= part
            _refuse_link(path)
        for folder, folders, files in os.walk(path, onerror=_raise_unless_gone):
            for name in (*folders, *files):
                _refuse_link(Path(folder) / name)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise UserError(
            f"Cannot write {path}: it is a symbolic link, which may lead out of the folder.",
            "Put the real file or folder in its place; only the folder that you name may be a link.",
        )


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def read_bounded(path: Path, limit: int) -> bytes:
    """The content of an ordinary file of at most `limit` bytes; FileNotFoundError when there is none.

    A stranger's folder may hold a pipe that never ends or a file larger than memory.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UserError(f"Not an ordinary file: {path}.", "Restore it from a copy of the run.")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1) if status.st_size <= limit else None
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(str(path)) from error
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror or error}.", "Check the disk and your rights to the file."
        ) from error
    if data is None or len(data) > limit:
        raise UserError(
            f"Too large to open: {path} has more than {limit:,} bytes.",
            "polygait never writes such a file; restore it from a copy of the run.",
        )
    return data
