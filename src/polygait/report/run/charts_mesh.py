"""Charts of the mesh: who keeps going in which changed world, and what each further member adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from polygait.charts import COLOURS, INK, PAPER
from polygait.report.condition_words import GROUPS
from polygait.report.run.chart import MESH, RunChart, Shown
from polygait.report.run.mesh_evidence import MeshEvidence, growth, mesh_cells, mesh_worlds
from polygait.report.run.panels import CHOSEN, RETURNS, SELECTED, AnyChart, Width, inline, selected
from polygait.resilience import still_speed

_ROW = 19
_CELL = 52
_BARS = 170
_KEPT = ("#C3CBD3", "#7FB3D5", COLOURS[0])
"""In no half of the episodes, in one, in both."""


def mesh_map(
    cells: Sequence[Mapping[str, Any]], worlds: Sequence[Mapping[str, Any]], member: int | None = None
) -> alt.HConcatChart:
    """Every member in every condition, and what the chosen one keeps of the best nominal speed beside it.

    A cell has `group`, `label`, `member`, `value`, `mean_return`, `falls`, `chosen`, `still` and `told`; a
    world `group`, `label`, `kept` and `survives`, both null where nobody tells how far robots come.
    """
    rows = _rows(cells)
    members = sorted({cell["member"] for cell in cells})
    axis = alt.Axis(
        domain=False,
        ticks=False,
        labelLimit=260,
        labelFontWeight=alt.condition(_is_heading("datum.label"), alt.value("bold"), alt.value("normal")),
        labelPadding=6,
    )
    y = alt.Y("label:N", title=None, scale=alt.Scale(domain=rows), axis=axis)
    base = alt.Chart(inline(cells), width=_CELL * len(members), height=_ROW * len(rows)).encode(
        x=alt.X(
            "member:O", title="member", axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False)
        ),
        y=y,
    )
    told = any(world["kept"] is not None for world in worlds)
    unit = "speed (m/s)" if told else "mean return"
    values = [cell["value"] for cell in cells]
    low, top = 0.0 if told else min(values), max(values)
    tiles = base.mark_rect(cursor="pointer", stroke=PAPER, strokeWidth=1).encode(
        color=alt.Color(
            "value:Q",
            title=unit,
            scale=alt.Scale(scheme=RETURNS, domain=[low, max(top, low + 1e-9)], clamp=True),
            legend=alt.Legend(orient="bottom", direction="horizontal", gradientLength=140),
        ),
        tooltip=[
            alt.Tooltip("label:N", title="condition"),
            alt.Tooltip("member:O"),
            alt.Tooltip("told:N", title="does"),
            alt.Tooltip("mean_return:Q", title="mean return", format=",.0f"),
            alt.Tooltip("falls:Q", title="episodes with a fall", format=".0%"),
            alt.Tooltip("chosen:N", title="chosen here"),
        ],
    )
    light = f"datum.value > {low + 0.6 * (top - low)}"
    numbers = base.mark_text(fontSize=10, cursor="pointer").encode(
        text=alt.Text("value:Q", format=".1f" if told else ",.0f"),
        color=alt.condition(light, alt.value("#111111"), alt.value("#ffffff")),
    )
    still = base.transform_filter("datum.still").mark_point(
        shape="square", size=26, filled=True, color="#ffffff", opacity=0.9, xOffset=-_CELL / 2 + 8
    )
    frames = base.transform_filter("datum.chosen").mark_rect(fill=None, stroke=CHOSEN, strokeWidth=2.5)
    column = base.transform_filter(f"datum.member == {SELECTED}").mark_rect(
        fill=None, stroke=INK, strokeWidth=1.0, strokeDash=[3, 2]
    )
    heat = tiles + column + numbers + still + frames
    panels = [heat, _kept(worlds, rows)] if told else [heat]
    return (
        alt.hconcat(*panels, spacing=14)
        .resolve_scale(color="independent")
        .add_params(selected(member))
        .properties(description="Every member in every condition of the mesh")
    )


def _kept(worlds: Sequence[Mapping[str, Any]], rows: Sequence[str]) -> AnyChart:
    """What the chosen member keeps on fresh episodes, as a share of the best nominal speed."""
    base = alt.Chart(inline(worlds), width=_BARS, height=_ROW * len(rows)).encode(
        y=alt.Y("label:N", title=None, scale=alt.Scale(domain=list(rows)), axis=None)
    )
    bars = base.mark_bar(height=_ROW - 7).encode(
        x=alt.X(
            "kept:Q",
            title=["kept by the chosen one,", "of the best nominal speed"],
            axis=alt.Axis(orient="top", format="%", values=[0, 0.5, 1], grid=True, domain=False),
            scale=alt.Scale(domain=[0, 1.1], clamp=True),
        ),
        color=alt.Color("survives:O", scale=alt.Scale(domain=[0, 0.5, 1], range=list(_KEPT)), legend=None),
        tooltip=[
            alt.Tooltip("label:N", title="condition"),
            alt.Tooltip("kept:Q", title="keeps", format=".0%"),
            alt.Tooltip("survives:Q", title="survives", format=".0%"),
        ],
    )
    half = alt.Chart(inline([{"kept": 0.5}])).mark_rule(color=CHOSEN, strokeDash=[4, 3]).encode(x="kept:Q")
    return (bars + half).resolve_scale(color="independent")


def growth_chart(rows: Sequence[Mapping[str, Any]], title: str, form: str, width: Width = 420) -> AnyChart:
    """A figure against the number of members to choose from; a row has `members`, `value` and `line`."""
    lines = list(dict.fromkeys(row["line"] for row in rows))
    base = alt.Chart(inline(rows), width=width, height=220).encode(
        x=alt.X("members:O", title="members to choose from", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title=title, axis=alt.Axis(format=form, tickCount=5), scale=alt.Scale(zero=True)),
        color=alt.Color(
            "line:N",
            title=None,
            scale=alt.Scale(domain=lines, range=list(COLOURS[: len(lines)])),
            legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3),
        ),
        tooltip=[
            alt.Tooltip("line:N", title=" "),
            alt.Tooltip("members:O"),
            alt.Tooltip("value:Q", title=title, format=form),
        ],
    )
    return (base.mark_line() + base.mark_circle(size=50, opacity=1)).properties(
        description=f"{title} against the number of members"
    )


def _rows(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Labels of all rows from top to bottom, with a heading before each group."""
    rows: list[str] = []
    for group in GROUPS:
        labels = dict.fromkeys(cell["label"] for cell in cells if cell["group"] == group)
        rows += [group, *labels] if labels else []
    return rows


def _is_heading(name: str) -> str:
    return " || ".join(f"{name} == '{group}'" for group in GROUPS)


def _map(shown: Shown) -> dict[str, alt.HConcatChart]:
    mesh = shown.findings.mesh
    member = shown.findings.best if shown.on_page else None
    return {} if mesh is None else {"": mesh_map(mesh_cells(mesh), mesh_worlds(mesh), member)}


def _map_caption(shown: Shown) -> str:
    mesh = shown.findings.mesh
    return "" if mesh is None else _caption(mesh, mesh_cells(mesh))


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


def _growth(shown: Shown) -> dict[str, AnyChart]:
    mesh = shown.findings.mesh
    width: Width = "container" if shown.on_page else 420
    grown = {} if mesh is None else growth(mesh)
    return {name: growth_chart(rows, title, form, width) for name, (rows, title, form) in grown.items()}


CHARTS = (
    RunChart("mesh", MESH, _map, _map_caption),
    RunChart("mesh-growth", MESH, _growth, role=None),
)
