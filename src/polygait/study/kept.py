"""What a study measured, kept in a few files: from them alone its report can be made again.

DATA/results.json          the study, its jobs, the versions that made them
DATA/returns.parquet, …    a frame of Results each
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from polygait.errors import UserError
from polygait.storage.files import START_AGAIN, read_bounded, refuse_links, write_atomically
from polygait.storage.strict_json import from_plain, parse, to_plain
from polygait.study.grid import Measures, Study
from polygait.study.results import FRAMES, WHOSE, Results

FORMAT = 1
DATA = "data"
"""Inside the folder of a report."""
_ABOUT, _PATTERNS = "results.json", "patterns"
_LATER = ("unforeseen", "variance", "effort")
"""Frames that earlier reports do not have."""
_LIMIT, _FRAME_LIMIT = 2**20, 2**28
_PATTERN = {**WHOSE, "time_step": pl.Float64, "member": pl.Int64, "foot": pl.String, "down": pl.String}


class KeptStudy(NamedTuple):
    """A study as it was when its results were kept."""

    study: Study
    results: Results


def is_kept(path: str | Path) -> bool:
    """Whether this is the folder of a report that holds its data."""
    return (Path(path) / DATA / _ABOUT).is_file()


def keep_results(study: Study, results: Results, folder: Path) -> list[Path]:
    """Write everything that was measured into a report's folder."""
    refuse_links(folder, DATA)
    about = {
        "format": FORMAT,
        "study": dataclasses.asdict(dataclasses.replace(study, file=Path(study.file).name)),
        **{name: getattr(results, name) for name in ("jobs", "done", "versions", "damaged")},
    }
    frames = {name: getattr(results, name) for name in FRAMES} | {_PATTERNS: _pattern_frame(results.patterns)}
    files = {f"{name}.parquet": _bytes_of(frame) for name, frame in frames.items()}
    # Last: with it the data are whole. In the order of the study's file, in which pages show it.
    files[_ABOUT] = (json.dumps(to_plain(about), indent=1, allow_nan=False) + "\n").encode()
    for name, content in files.items():
        write_atomically(folder / DATA / name, content, START_AGAIN)
    return [folder / DATA / name for name in files]


def read_kept(path: str | Path) -> KeptStudy:
    """The study and its results from a report's folder."""
    data = Path(path) / DATA
    try:
        about = from_plain(parse(read_bounded(data / _ABOUT, _LIMIT)))
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']!r} is not {FORMAT}")
        there = [name for name in FRAMES if name not in _LATER or (data / f"{name}.parquet").exists()]
        frames = {name: _frame_of(data / f"{name}.parquet") for name in (*there, _PATTERNS)}
        patterns = _patterns_of(frames.pop(_PATTERNS))
        study = about["study"]
        study["measures"] = Measures(**_tuples(study["measures"]))
        own = study.get("task_measures", {})  # reports of before had none
        study["task_measures"] = {task: Measures(**_tuples(one)) for task, one in own.items()}
        results = Results(
            **frames,
            patterns=patterns,
            versions=about["versions"],
            done=about["done"],
            jobs=about["jobs"],
            damaged=tuple(about["damaged"]),
        )
        return KeptStudy(Study(**_tuples(study)), results)
    except (KeyError, TypeError, ValueError, OSError, pl.exceptions.PolarsError) as error:
        raise UserError(
            f"Damaged: {data} does not hold a study's results: {error}.",
            "Restore it from a copy, or make the report again from the study's jobs.",
        ) from error


def _bytes_of(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=19)
    return buffer.getvalue()


def _frame_of(path: Path) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(read_bounded(path, _FRAME_LIMIT)))


def _pattern_frame(patterns: Mapping[tuple[str, str, int], Mapping[str, Any]]) -> pl.DataFrame:
    rows = [
        (*whose, found["time_step"], member, foot, down)
        for whose, found in patterns.items()
        for member, feet in enumerate(found["down"])
        for foot, down in zip(found["feet"], feet, strict=True)
    ]
    return pl.DataFrame(rows, schema=_PATTERN, orient="row")


def _patterns_of(frame: pl.DataFrame) -> dict[tuple[str, str, int], dict[str, Any]]:
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for task, method, seed, time_step, member, foot, down in frame.iter_rows():
        of_job = found.setdefault((task, method, seed), {"feet": [], "time_step": time_step, "down": []})
        of_job["feet"] += [foot] if member == 0 else []
        of_job["down"] += [[]] if member == len(of_job["down"]) else []
        of_job["down"][member].append(down)
    return found


def _tuples(section: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no tuples; choices of a study are never lists."""
    return {name: _tuple(value) for name, value in section.items()}


def _tuple(value: Any) -> Any:
    if isinstance(value, dict):
        return _tuples(value)
    return tuple(value) if isinstance(value, list) else value
