"""The mesh on a run's page: who keeps going in which changed world, and what each further member adds."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polygait.errors import UserError
from polygait.evaluation import with_all_columns
from polygait.report.condition_words import condition_words
from polygait.report.names import counted
from polygait.report.run.charts_mesh import growth_chart, mesh_map
from polygait.report.web.frame import Charts
from polygait.report.web.html import Html, joined, table, tag
from polygait.report.web.parts import tiles
from polygait.resilience import (
    KEPT_SHARE,
    MeasuredEpisodes,
    Resilience,
    chosen,
    episodes_of,
    resilience,
    stands_still,
    still_speed,
    survival,
)
from polygait.storage.files import read_bounded
from polygait.suites import MESH

_LARGEST_FILE = 2**30
_SETTINGS = ["episodes", "seed", "made_with"]


class MeshEvidence(NamedTuple):
    """The strongest evaluation of the mesh, and what it says."""

    frame: pl.DataFrame
    source: str
    episodes: MeasuredEpisodes
    by_return: Resilience
    by_progress: Resilience


def mesh_evidence(run: Path, weights: Mapping[int, str]) -> MeshEvidence | None:
    """What the run's own mesh says of the members that are whole; None where it was not measured.

    Of several evaluations: the one of the most members and conditions, then of the most episodes, then of the
    first seed. A file that cannot be read is told by whoever reads all evaluations.
    """
    try:
        read = pl.read_parquet(
            io.BytesIO(read_bounded(run / "evaluations" / f"{MESH}.parquet", _LARGEST_FILE))
        )
    except (UserError, OSError, pl.exceptions.PolarsError):
        return None
    frame = with_all_columns(read)
    if frame is None:
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
        f"evaluation of suite {MESH} ({told})",
        episodes,
        resilience(strongest, "return"),
        resilience(strongest, "progress"),
    )


def mesh_section(mesh: MeshEvidence | None, best: int, charts: Charts) -> Html | None:
    """The figures at a glance, the map of all conditions, and what each further member adds."""
    if mesh is None:
        return None
    cells, worlds = mesh_cells(mesh), mesh_worlds(mesh)
    shown = charts.add("mesh", mesh_map(cells, worlds, best), _caption(mesh, cells), role="choose")
    grown = [
        charts.add(name, growth_chart(rows, title, form, "container"))
        for name, (rows, title, form) in growth(mesh).items()
    ]
    return joined(
        [
            tag("p", _lead(mesh), class_="lead"),
            tiles(_numbers(mesh, cells)),
            shown,
            tag("h3", "What each further member adds"),
            tag("div", *grown, class_="grid three"),
            tag("p", _explained(mesh), class_="caption"),
            tag("details", tag("summary", "The mesh as a table"), _table(cells)),
        ]
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
        "mesh-survival": (
            {"chosen by return": by_return.survival, "chosen by progress": by_progress.survival},
            "survival",
            "%",
        ),
        "mesh-speed": (
            {"fresh episodes": by_progress.chosen_speed, "best on all episodes": by_progress.best_speed},
            "speed (m/s)",
            ".1f",
        ),
        "mesh-return": (
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


def _lead(mesh: MeshEvidence) -> str:
    found = mesh.by_return
    worlds = counted(found.conditions, "changed world")
    if np.isnan(found.survival).any():
        return f"In {worlds} the best of {found.members} members returns {found.best_return[-1]:,.0f}."
    return (
        f"In {100 * found.survival[-1]:.0f} % of {worlds} the chosen one of {found.members} members keeps at "
        "least half of the best nominal speed; a member taken at random in "
        f"{100 * found.survival[0]:.0f} %."
    )


def _numbers(mesh: MeshEvidence, cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    found = mesh.by_return
    numbers = [("best of all", f"{found.best_return[-1]:,.0f}", "mean return over the mesh")]
    if not np.isnan(found.survival).any():
        first = ("survival", f"{100 * found.survival[-1]:.0f} %", f"alone {100 * found.survival[0]:.0f} %")
        speed = f"{found.chosen_speed[-1]:.2f} m/s"
        numbers = [first, ("the chosen one's speed", speed, "on fresh episodes"), *numbers]
    alike = found.return_correlation if np.isnan(found.speed_correlation) else found.speed_correlation
    if not np.isnan(alike):
        numbers.append(("failures alike", f"{alike:.2f}", "mean correlation of two members"))
    if any(cell["speed"] is not None for cell in cells):
        still = sum(cell["still"] for cell in cells)
        numbers.append(("stand still", str(still), f"of {len(cells)} members in a world"))
    return numbers


def _caption(mesh: MeshEvidence, cells: Sequence[Mapping[str, Any]]) -> str:
    shown = "Mean return"
    if any(cell["speed"] is not None for cell in cells):
        shown = "Speed in metres per second of the time limit"
    still = (
        f" White square: stands still, slower than {still_speed(mesh.episodes.best_nominal_speed):.2f} m/s."
        if any(cell["still"] for cell in cells)
        else ""
    )
    bars = (
        ""
        if np.isnan(mesh.by_return.survival).any()
        else " Bars: its speed on fresh episodes; dark where it keeps half of the best nominal one whichever "
        "half of the episodes chooses it, pale where it does for one half only."
    )
    return f"{shown}: {mesh.source}. Framed: the member with the highest mean return.{bars}{still}"


def _explained(mesh: MeshEvidence) -> str:
    reference = mesh.episodes.best_nominal_speed
    kept = (
        ""
        if np.isnan(reference)
        else f"Survival is the share of conditions in which the chosen member keeps at least "
        f"{KEPT_SHARE * reference:.2f} m/s. "
    )
    return (
        f"Averages over every choice of so many members. {kept}Fresh: half of the episodes choose the member "
        "and the other half score it, then the halves change places."
    )


def _table(cells: Sequence[Mapping[str, Any]]) -> Html:
    members = sorted({cell["member"] for cell in cells})
    known = {(cell["label"], cell["member"]): cell for cell in cells}
    rows = [
        [label, *(_cell(known[label, member]) for member in members)]
        for label in dict.fromkeys(cell["label"] for cell in cells)
    ]
    numeric = [False, *(True for _ in members)]
    told = "Mean return, and what the member does"
    return table(["condition", *(f"member {member}" for member in members)], rows, told, numeric)


def _cell(cell: Mapping[str, Any]) -> str:
    speed = cell["speed"]
    return f"{cell['mean_return']:,.0f}" + (
        "" if speed is None else ", stands still" if cell["still"] else f", {speed:.2f} m/s"
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
