"""The mesh on a run's page: who keeps going in which changed world, and what each further member adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polygait.report.names import counted
from polygait.report.run.chart import MESH
from polygait.report.run.contents import PageCharts
from polygait.report.run.findings import Findings
from polygait.report.run.mesh_evidence import MeshEvidence, mesh_cells
from polygait.report.web.html import Html, joined, table, tag
from polygait.report.web.parts import tiles
from polygait.resilience import KEPT_SHARE


def mesh_section(findings: Findings, charts: PageCharts) -> Html | None:
    """The figures at a glance, the map of all conditions, and what each further member adds."""
    mesh, unforeseen = findings.mesh, findings.unforeseen
    if mesh is None:
        return None
    cells = mesh_cells(mesh)
    return joined(
        [
            tag("p", _lead(mesh), class_="lead"),
            tiles(_numbers(mesh, cells)),
            charts.take("mesh"),
            tag("h3", "What each further member adds"),
            charts.others(MESH),
            tag("p", _explained(mesh), class_="caption"),
            tag("h3", "Damages unlike these") if unforeseen else None,
            tag("p", f"{_lead(unforeseen)} Source: {unforeseen.source}.") if unforeseen else None,
            tag("details", tag("summary", "The mesh as a table"), _table(cells)),
        ]
    )


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
