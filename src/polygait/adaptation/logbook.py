"""Trials on disk: one file a name, replaced as a whole after every trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from polygait.errors import UserError
from polygait.population.results import replace_result, writing_results
from polygait.storage.file_names import file_name
from polygait.storage.files import read_bounded
from polygait.storage.strict_json import canonical, from_plain, parse, to_plain

_FORMAT = 1
_LARGEST_FILE = 2**24


class Told(NamedTuple):
    """One trial, as somebody told it."""

    member: int
    value: float
    fell: bool
    time: str


@dataclass(frozen=True)
class Log:
    """All that is kept of trials."""

    task: str
    selector: str
    budget: int
    settings: tuple[str, ...]
    weights: tuple[str, ...]
    """The identity of every member that takes part."""
    told: tuple[Told, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "format": _FORMAT,
            **asdict(self),
            "settings": list(self.settings),
            "weights": list(self.weights),
            "told": [one._asdict() for one in self.told],
        }

    @classmethod
    def from_json(cls, data: Any) -> Log:
        """The log that to_json() described; ValueError for anything else."""
        try:
            if data["format"] != _FORMAT:
                raise ValueError("another format")
            return cls(
                task=str(data["task"]),
                selector=str(data["selector"]),
                budget=int(data["budget"]),
                settings=tuple(map(str, data["settings"])),
                weights=tuple(map(str, data["weights"])),
                told=tuple(_told(one, len(data["weights"])) for one in data["told"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("it is not a log of trials") from error


def _told(one: Mapping[str, Any], num_members: int) -> Told:
    told = Told(int(one["member"]), float(one["value"]), bool(one["fell"]), str(one["time"]))
    if not 0 <= told.member < num_members:
        raise ValueError(told.member)
    return told


class Logbook:
    """The file of one name. Whoever writes has seen all that is in it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._last: bytes | None = None
        self.name = name

    @property
    def path(self) -> Path:
        """Where the log is kept."""
        return self._folder / f"{file_name(self.name)}.json"

    def open(self) -> Log | None:
        """What is kept under the name; None if there is nothing yet."""
        try:
            data = read_bounded(self.path, _LARGEST_FILE)
        except FileNotFoundError:
            return None
        try:
            found = Log.from_json(from_plain(parse(data)))
        except ValueError as error:
            raise UserError(
                f"{self.path} cannot be read: {error}.",
                "Restore it from a copy, or begin under another name.",
            ) from error
        self._last = data
        return found

    def write(self, log: Log) -> None:
        """Replace the log by one that goes on from it."""
        with writing_results(self._folder):
            self._replace(log)

    def _replace(self, log: Log) -> None:
        try:
            present = read_bounded(self.path, _LARGEST_FILE)
        except FileNotFoundError:
            present = None
        if present != self._last:
            raise UserError(
                f"{self.path} was changed by another process since it was read.",
                f"Nothing is lost: open trials of the name {self.name!r} again and tell once more.",
            )
        data = canonical(to_plain(log.to_json()))
        replace_result(self.path, data)
        self._last = data
