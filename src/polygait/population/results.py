"""Files of results beside a population: small, named after what was asked, replaced as a whole.

Several processes may leave results in one folder at once: each waits for its turn to write.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polygait.storage.file_names import file_name
from polygait.storage.files import (
    explaining_writes,
    make_folder,
    refuse_links,
    remove_leftovers,
    write_atomically,
)
from polygait.storage.lock import RunLock
from polygait.storage.strict_json import canonical, to_plain

_TURN_SECONDS = 120.0  # a turn takes milliseconds; whoever holds it for so long is stuck
_WRITTEN = re.compile(r".+\.(json|parquet|csv)")
_TRY_AGAIN = "ask again; the population itself is untouched"


def save_result(folder: Path, name: str, result: dict[str, Any]) -> Path:
    """Write a result as JSON under a name made from what was asked; who asks the same again replaces it."""
    return save_bytes(folder, f"{file_name(name)}.json", canonical(to_plain(result)))


def save_bytes(folder: Path, name: str, data: bytes) -> Path:
    """Write one file of results."""
    with writing_results(folder):
        return replace_result(folder / name, data)


@contextlib.contextmanager
def writing_results(folder: Path) -> Iterator[None]:
    """Wait for one's turn to write in a folder of results; who adds to a file reads it again in here.

    Results have a lock of their own, for training may go on beside them.
    """
    make_results_folder(folder)
    with RunLock(folder / ".lock", _TRY_AGAIN).hold(_TURN_SECONDS):
        remove_leftovers(folder, _WRITTEN)
        yield


def replace_result(path: Path, data: bytes) -> Path:
    """Replace one file as a whole; inside writing_results()."""
    write_atomically(path, data, _TRY_AGAIN)
    return path


def make_results_folder(folder: Path) -> None:
    """Where results will go; long work asks for it before it begins."""
    refuse_links(folder.parent, folder.name)
    with explaining_writes(folder, _TRY_AGAIN):
        make_folder(folder)
