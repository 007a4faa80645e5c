"""Files of results beside a population: small, named after what was asked, replaced as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polygait.file_names import file_name
from polygait.population.files import explaining_writes, make_folder, refuse_links, write_atomically
from polygait.population.lock import RunLock
from polygait.population.strict_json import canonical, to_plain

_TRY_AGAIN = "ask again; the population itself is untouched"


def save_result(folder: Path, name: str, result: dict[str, Any]) -> Path:
    """Write a result as JSON under a name made from what was asked; the newest answer stays."""
    return save_bytes(folder, f"{file_name(name)}.json", canonical(to_plain(result)))


def save_bytes(folder: Path, name: str, data: bytes) -> Path:
    """Write one file of results; results have a lock of their own, for training may go on beside them."""
    make_results_folder(folder)
    with RunLock(folder / ".lock", _TRY_AGAIN).hold():
        write_atomically(folder / name, data, _TRY_AGAIN)
    return folder / name


def make_results_folder(folder: Path) -> None:
    """Where results will go; long work asks for it before it begins."""
    refuse_links(folder.parent, folder.name)
    with explaining_writes(folder, _TRY_AGAIN):
        make_folder(folder)
