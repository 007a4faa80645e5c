"""Checkpoints: the newest two states of training, each a safetensors file that knows its own checksum."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from polygait.errors import UserError
from polygait.population.metrics import RESTORE_OR_DELETE, LogMark, MetricsLog
from polygait.storage.files import explaining_writes, read_bounded, write_atomically
from polygait.storage.strict_json import from_plain, parse, to_plain
from polygait.storage.tensors import FILE_LIMIT, content_digest, pack, require_storable, unpack

_NAME = re.compile(r"([0-9]{8}|[1-9][0-9]{8,})\.safetensors")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of training after an iteration; `skipped` says which newer files were damaged, and how."""

    iteration: int
    tensors: dict[str, np.ndarray]
    metadata: dict[str, Any]
    log: LogMark | None = None
    """The lines of the log that belong to this state."""
    skipped: tuple[str, ...] = ()

    def section(self, prefix: str) -> dict[str, np.ndarray]:
        """The tensors whose names begin alike, under the rest of their names."""
        tensors = self.tensors.items()
        return {name.removeprefix(prefix): array for name, array in tensors if name.startswith(prefix)}


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Add a checkpoint, then drop all but it and the one before.

    Later iterations go too: whoever writes this one started behind them, because they were damaged.
    """
    require_storable(checkpoint.tensors)
    about = {"iteration": checkpoint.iteration, "metadata": to_plain(checkpoint.metadata, "metadata")}
    about |= {"log": checkpoint.log._asdict()} if checkpoint.log else {}
    sealed = about | {"sha256": content_digest(checkpoint.tensors, about)}
    data = pack(checkpoint.tensors, json.dumps(sealed, allow_nan=False))
    write_atomically(folder / f"{checkpoint.iteration:08d}.safetensors", data)
    earlier = [iteration for iteration in _files(folder) if iteration < checkpoint.iteration]
    remove_checkpoints(folder, keep={checkpoint.iteration, *earlier[:1]})


def remove_checkpoints(folder: Path, keep: set[int]) -> None:
    """Delete every checkpoint but those of the iterations to keep."""
    for iteration, path in _files(folder).items():
        if iteration not in keep:
            with explaining_writes(path):
                path.unlink(missing_ok=True)


def newest_checkpoint(folder: Path, log: MetricsLog) -> Checkpoint | None:
    """The newest good checkpoint whose lines of the log are whole, None when there is none at all.

    When the log is damaged behind an older checkpoint, that one is used: training from it writes the
    damaged lines again. UserError when none can be used. Needs no lock: when a writer deletes the files
    just listed, it has put newer ones there; look again.
    """
    skipped: list[str] = []
    for _ in range(5):
        skipped.clear()
        vanished = False
        for path in _files(folder).values():
            try:
                checkpoint = _read(path)
                problem = log.problem(checkpoint.log) if checkpoint.log else ""
                if not problem:
                    return replace(checkpoint, skipped=tuple(skipped))
                skipped.append(f"{path} needs more of the log than is whole. {problem}")
            except FileNotFoundError:
                vanished = True
            except UserError as error:
                skipped.append(error.problem)
        if not vanished:
            break
    if skipped:
        raise UserError(f"No checkpoint can be read. {' '.join(skipped)}", _remedy(skipped, log))
    return None


def _remedy(skipped: list[str], log: MetricsLog) -> str:
    if any(str(log.path) in problem for problem in skipped):
        return f"{log.path}: {RESTORE_OR_DELETE} Finished members are safe."
    return "Restore one from a copy of the run, or train in another folder; finished members are safe."


def _read(path: Path) -> Checkpoint:
    tensors, text = unpack(read_bounded(path, FILE_LIMIT), path)
    try:
        sealed = parse((text or "").encode())
        digest = sealed.pop("sha256")
        iteration, metadata = sealed["iteration"], from_plain(sealed["metadata"])
        fits = digest == content_digest(tensors, sealed) and path.stem == f"{iteration:08d}"
        if fits and type(iteration) is int and isinstance(metadata, dict):
            return Checkpoint(iteration, tensors, metadata, _log_mark(sealed, metadata))
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # not what write_checkpoint() writes
    raise UserError(f"Damaged: {path} was altered; its checksum does not fit.")


def _log_mark(sealed: dict[str, Any], metadata: dict[str, Any]) -> LogMark | None:
    """What a checkpoint says of the log; polygait 0.1 kept only a size."""
    if "log" in sealed:
        return LogMark.from_json(sealed["log"])
    size = metadata.get("metrics")
    return LogMark(size, None) if type(size) is int else None


def _files(folder: Path) -> dict[int, Path]:
    """The checkpoint files by iteration, the newest first."""
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(
            f"Cannot read {folder}: {error.strerror}.", "Check your rights to the folder."
        ) from error
    found = {int(match[1]): path for path in paths if (match := _NAME.fullmatch(path.name))}
    return dict(sorted(found.items(), reverse=True))
