"""What the mesh says of a run: the strongest evaluation of it, as rows for charts and tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polygait.errors import UserError
from polygait.evaluation import read_rows
from polygait.report.condition_words import condition_words
from polygait.report.names import counted
from polygait.resilience import (
    MeasuredEpisodes,
    Resilience,
    chosen,
    episodes_of,
    resilience,
    stands_still,
    survival,
)
from polygait.storage.files import read_bounded

_LARGEST_FILE = 2**30
_SETTINGS = ["episodes", "seed", "made_with"]


class MeshEvidence(NamedTuple):
    """The strongest evaluation of the mesh, and what it says."""

    frame: pl.DataFrame
    source: str
    episodes: MeasuredEpisodes
    by_return: Resilience
    by_progress: Resilience


def mesh_evidence(run: Path, weights: Mapping[int, str], suite: str) -> MeshEvidence | None:
    """What the run's own mesh, or another such suite, says of whole members; None where it was not measured.

    Of several evaluations: the one of the most members and conditions, then of the most episodes, then of the
    first seed. A file that cannot be read is told by whoever reads all evaluations.
    """
    try:
        frame = read_rows(read_bounded(run / "evaluations" / f"{suite}.parquet", _LARGEST_FILE))
    except (UserError, OSError, pl.exceptions.PolarsError):
        return None
    own = [weights.get(member) == one for member, one in frame.select("member", "weights").iter_rows()]
    parts = frame.filter(pl.Series(own, dtype=pl.Boolean)).partition_by(_SETTINGS, maintain_order=True)
    if not parts:
        return None
    strongest = max(parts, key=lambda one: (one.height, one["episodes"][0], -one["seed"][0]))
    episodes = episodes_of(strongest)
    if not episodes.conditions:
        return None
    told = f"{counted(strongest['episodes'][0], 'episode')} each, seed {strongest['seed'][0]}"
    return MeshEvidence(
        strongest,
        f"evaluation of suite {suite} ({told})",
        episodes,
        resilience(strongest, "return"),
        resilience(strongest, "progress"),
    )


def mesh_cells(mesh: MeshEvidence) -> list[dict[str, Any]]:
    """A cell per condition and member, for the map."""
    fastest = mesh.episodes.best_nominal_speed
    rows = {(row["world"], row["member"]): row for row in mesh.frame.iter_rows(named=True)}
    best = np.argmax(mesh.episodes.returns.mean(axis=2), axis=0)
    cells = []
    for place, world in enumerate(mesh.episodes.conditions):
        words = condition_words(world)
        for index, member in enumerate(mesh.episodes.members):
            row = rows[world, member]
            speed = row["mean_speed"]
            still = stands_still(speed, row["falls"], fastest)
            cells.append(
                {
                    **words._asdict(),
                    "member": member,
                    "value": row["mean_return"] if speed is None else speed,
                    "speed": speed,
                    "mean_return": row["mean_return"],
                    "falls": row["falls"],
                    "chosen": bool(index == best[place]),
                    "still": still,
                    "told": _does(row, still),
                }
            )
    return cells


def _does(row: Mapping[str, Any], still: bool) -> str:
    if row["mean_speed"] is None:
        return f"{row['mean_length']:.0f} steps"
    moved = f"{row['mean_progress']:.1f} m in {row['mean_length']:.0f} steps"
    return f"stands still ({moved})" if still else moved


def mesh_worlds(mesh: MeshEvidence) -> list[dict[str, Any]]:
    """What the member chosen in each condition keeps on fresh episodes."""
    found = mesh.episodes
    reference = found.best_nominal_speed
    kept = chosen(found.returns, found.speeds)[:, -1] / reference
    survives = survival(found.returns, found.speeds, reference)[:, -1]
    return [
        {**condition_words(world)._asdict(), "kept": _known(kept[place]), "survives": _known(survives[place])}
        for place, world in enumerate(found.conditions)
    ]


def growth(mesh: MeshEvidence) -> dict[str, tuple[list[dict[str, Any]], str, str]]:
    """Charts of what further members add, by name: their rows, title and number format."""
    by_return, by_progress = mesh.by_return, mesh.by_progress
    curves = {
        "survival": (
            {"chosen by return": by_return.survival, "chosen by progress": by_progress.survival},
            "survival",
            "%",
        ),
        "speed": (
            {"fresh episodes": by_progress.chosen_speed, "best on all episodes": by_progress.best_speed},
            "speed (m/s)",
            ".1f",
        ),
        "return": (
            {"fresh episodes": by_return.chosen_return, "best on all episodes": by_return.best_return},
            "return",
            ",.0f",
        ),
    }
    drawn = {}
    for name, (lines, title, form) in curves.items():
        rows = [
            {"members": size, "value": float(value), "line": line}
            for line, values in lines.items()
            for size, value in enumerate(values, start=1)
            if not np.isnan(value)
        ]
        if rows:
            drawn[name] = (rows, title, form)
    return drawn


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
