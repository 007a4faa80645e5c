"""Where populations of the zoo are: whole in the package, and in copies of a user's own, to be written."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from polygait.errors import UserError
from polygait.storage.files import make_folder, read_bounded, write_atomically
from polygait.storage.lock import RunLock
from polygait.zoo.cards import Card, decode_card, encode_card

PREFIX = "zoo:"
CARD = "card.json"
HOME = "POLYGAIT_HOME"
_RESULTS = "evaluations/"
"""Files that a user's own measurements add to; all others stay as they came."""
_COPY = re.compile(r"([a-z0-9-]+)-[0-9a-f]{12}")
_LARGEST_FILE = 2**30
_TURN_SECONDS = 120.0
_TRY_AGAIN = "try again; the zoo itself is untouched"
_REINSTALL = "Install polygait again: pip install --force-reinstall --no-deps polygait"


def is_zoo(path: object) -> bool:
    """Whether a population of the zoo is meant by what may be a run folder."""
    return isinstance(path, str | os.PathLike) and str(path).startswith(PREFIX)


def names() -> list[str]:
    """Every population there is."""
    shelf = _shelf()
    return (
        sorted(entry.name for entry in shelf.iterdir() if (entry / CARD).is_file()) if shelf.is_dir() else []
    )


def card(name: str) -> Card:
    """What is known of a population, by its name with or without zoo: before it."""
    name = name.removeprefix(PREFIX)
    if name not in (known := names()):
        raise UserError(f"The zoo has no population {name!r}.", f"It has {', '.join(known) or 'none'}.")
    path = _shelf() / name / CARD
    try:
        found = decode_card(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"Damaged: {path}: {error}.", _REINSTALL) from error
    return found


def packaged_files(card: Card) -> dict[str, bytes]:
    """All files of a population in the package, each as its card has it."""
    files = {}
    for name, sha256 in card.files.items():
        path = _shelf().joinpath(card.name, *name.split("/"))
        try:
            files[name] = path.read_bytes()
        except OSError as error:
            raise UserError(f"Damaged: {path}: {error.strerror}.", _REINSTALL) from error
        if hashlib.sha256(files[name]).hexdigest() != sha256:
            raise UserError(f"Damaged: {path} was altered; its checksum does not fit.", _REINSTALL)
    return files


def own_copy(name: str) -> Path:
    """The run folder that stands for a population: the user's copy, made when first asked for, and whole."""
    found = card(name)
    folder = _copies() / f"{found.name}-{found.seal[:12]}"
    if not (folder / CARD).exists():
        _make(found, folder)
    for file, sha256 in found.files.items():
        if not file.startswith(_RESULTS) and _digest(folder / file) != sha256:
            raise UserError(
                f"Damaged: {folder / file} is not as the zoo has it.",
                f"Delete the folder {folder}: it is made anew. Keep what you measured in it.",
            )
    return folder


def spoken(path: str | os.PathLike[str]) -> str:
    """How to name a run to its user: a copy by its name in the zoo, any other by its path."""
    folder = Path(path)
    copied = _COPY.fullmatch(folder.name)
    return f"{PREFIX}{copied[1]}" if copied and folder.parent == _copies() else str(path)


def _make(card: Card, folder: Path) -> None:
    """Write a copy; its card comes last, so that whoever finds it finds everything."""
    files = packaged_files(card)
    try:
        make_folder(folder)
    except OSError as error:
        raise UserError(
            f"Cannot write {folder}, where results about {PREFIX}{card.name} are kept: {error.strerror}.",
            f"Name a folder that can be written: {HOME}=/path/to/folder.",
        ) from error
    with RunLock(folder.parent / ".lock", _TRY_AGAIN).hold(_TURN_SECONDS):
        if (folder / CARD).exists():
            return
        for name, data in (files | {CARD: encode_card(card)}).items():
            write_atomically(folder / name, data, _TRY_AGAIN)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(read_bounded(path, _LARGEST_FILE)).hexdigest()
    except FileNotFoundError:
        return None


def _copies() -> Path:
    """Where a user's copies are: results of trials cannot be made again, so they are data and no cache."""
    if home := os.environ.get(HOME):
        return Path(home).absolute() / "zoo"
    shared = os.environ.get("XDG_DATA_HOME", "")
    try:
        data = Path(shared) if Path(shared).is_absolute() else Path.home() / ".local" / "share"
    except RuntimeError as error:
        raise UserError(
            "There is no home folder in which results about the zoo can be kept.",
            f"Name a folder: {HOME}=/path/to/folder.",
        ) from error
    return data / "polygait" / "zoo"


@functools.cache
def _shelf() -> Traversable:
    return resources.files("polygait.zoo") / "populations"
