"""Charts of how members do when the world changes: the map of all conditions, and sweeps of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from polygait.charts import INK, PAPER
from polygait.report.run.chart import CONDITIONS, RunChart, Shown
from polygait.report.run.evidence import does
from polygait.report.run.findings import Findings
from polygait.report.run.panels import (
    CHOSEN,
    RETURNS,
    SELECTED,
    AnyChart,
    Width,
    emphasised,
    inline,
    member_colour,
    selected,
)

_ROW = 27
_TEXT_NEEDS = 44  # pixels of a cell's width


def condition_map(
    cells: Sequence[Mapping[str, Any]], member: int | None = None, width: Width = 520
) -> AnyChart:
    """Mean return of every member in every condition, the member chosen in each framed.

    A cell has `condition`, `member`, `mean_return`, `falls`, `told`, `chosen` and `source`.
    """
    conditions = list(dict.fromkeys(cell["condition"] for cell in cells))
    members = sorted({cell["member"] for cell in cells})
    returns = [cell["mean_return"] for cell in cells]
    low, high = min(returns), max(returns)
    rows = [
        cell | {"share": (cell["mean_return"] - low) / max(high - low, 1e-9)} for cell in map(dict, cells)
    ]
    base = alt.Chart(inline(rows), width=width, height=_ROW * len(conditions)).encode(
        x=alt.X(
            "member:O", title="member", axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False)
        ),
        y=alt.Y("condition:N", sort=conditions, title=None, axis=alt.Axis(domain=False, ticks=False)),
    )
    tiles = base.mark_rect(cursor="pointer", stroke=PAPER, strokeWidth=1).encode(
        color=alt.Color(
            "mean_return:Q",
            title="mean return",
            scale=alt.Scale(scheme=RETURNS),
            legend=alt.Legend(orient="bottom", direction="horizontal", gradientLength=120, format=",.0f"),
        ),
        tooltip=[
            alt.Tooltip("condition:N"),
            alt.Tooltip("member:O"),
            alt.Tooltip("mean_return:Q", title="mean return", format=",.0f"),
            alt.Tooltip("told:N", title="does"),
            alt.Tooltip("falls:Q", title="episodes with a fall", format=".0%"),
            alt.Tooltip("chosen:N", title="chosen here"),
            alt.Tooltip("source:N", title="measured by"),
        ],
    )
    frames = base.transform_filter("datum.chosen").mark_rect(fill=None, stroke=CHOSEN, strokeWidth=3)
    room = alt.ExprRef(f"width / {len(members)} > {_TEXT_NEEDS} ? 1 : 0")
    numbers = base.mark_text(fontSize=11, cursor="pointer", opacity=room).encode(
        text=alt.Text("mean_return:Q", format=",.0f"),
        color=alt.condition("datum.share > 0.6", alt.value("#111111"), alt.value("#ffffff")),
    )
    column = base.transform_filter(f"datum.member == {SELECTED}").mark_rect(
        fill=None, stroke=INK, strokeWidth=1.2, strokeDash=[3, 2]
    )
    return (
        (tiles + column + numbers + frames)
        .add_params(selected(member))
        .properties(description="Mean return of every member in every condition")
    )


def sweep_chart(
    rows: Sequence[Mapping[str, Any]], condition: str, member: int | None = None, width: Width = 420
) -> AnyChart:
    """Mean return of every member against the factor of one property; nominal is 1.

    A row has `member`, `scale` and `mean_return`.
    """
    base = alt.Chart(inline(rows), width=width, height=230).encode(
        x=alt.X("scale:Q", title=f"{condition} (× nominal)", scale=alt.Scale(zero=False, nice=False)),
        y=alt.Y("mean_return:Q", title="mean return", axis=alt.Axis(format=",.0f", tickCount=5)),
        color=member_colour(rows),
    )
    lines = base.mark_line().encode(strokeWidth=emphasised(2.6, 1.2), opacity=emphasised(1.0, 0.55))
    points = base.mark_circle(size=34, cursor="pointer").encode(
        opacity=emphasised(1.0, 0.5),
        tooltip=[
            alt.Tooltip("member:O"),
            alt.Tooltip("scale:Q", title="× nominal", format=".1f"),
            alt.Tooltip("mean_return:Q", title="mean return", format=",.0f"),
        ],
    )
    nominal = (
        alt.Chart(inline([{"scale": 1.0}])).mark_rule(strokeDash=[4, 3], color="#999999").encode(x="scale:Q")
    )
    return (
        (nominal + lines + points)
        .add_params(selected(member))
        .properties(description=f"Mean return of every member against {condition}")
    )


def heat_cells(findings: Findings) -> list[dict[str, Any]]:
    """A cell per condition and member; a sweep is one condition, with the mean over its scales."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in findings.cells:
        groups.setdefault((_label(cell), cell["member"]), []).append(cell)
    means = {key: sum(cell["mean_return"] for cell in group) / len(group) for key, group in groups.items()}
    chosen: dict[str, int] = {}
    for (label, _), (cell, *_) in groups.items():
        choice = None if cell["scale"] is not None else findings.choice(cell["where"], cell["variation"])
        here = [member for name, member in means if name == label]
        chosen[label] = choice.member if choice else max(here, key=lambda member: means[label, member])
    return [
        {
            "condition": label,
            "member": member,
            "mean_return": means[label, member],
            "falls": sum(cell["falls"] for cell in group) / len(group),
            "told": does(group, findings.nominal.best_speed),
            "chosen": member == chosen[label],
            "source": group[0]["source"],
        }
        for (label, member), group in groups.items()
    ]


def sweep_rows(findings: Findings) -> dict[str, list[dict[str, Any]]]:
    """The rows of every sweep, by its name."""
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for cell in findings.cells:
        if cell["scale"] is not None:
            row = {"member": cell["member"], "scale": cell["scale"], "mean_return": cell["mean_return"]}
            sweeps.setdefault(place_name(cell["condition"], cell["where"]), []).append(row)
    return sweeps


def place_name(condition: str, where: str) -> str:
    """A condition, and the task if it is not the population's own."""
    return f"{condition} on {where}" if where else condition


def _label(cell: dict[str, Any]) -> str:
    name = place_name(cell["condition"], cell["where"])
    return f"{name} (sweep)" if cell["scale"] is not None else name


def _map(shown: Shown) -> dict[str, AnyChart]:
    return {"": condition_map(heat_cells(shown.findings), **shown.look)} if shown.findings.cells else {}


def _map_caption(shown: Shown) -> str:
    sources = list(dict.fromkeys(cell["source"] for cell in heat_cells(shown.findings)))
    measured = (
        f"Mean return: {sources[0]}." if len(sources) == 1 else "Mean return; sources in the table below."
    )
    return f"{measured} Framed: the member that is chosen; of a sweep, the best over all its scales."


def _sweeps(shown: Shown) -> dict[str, AnyChart]:
    sweeps = sweep_rows(shown.findings)
    return {name.replace(" ", "-"): sweep_chart(rows, name, **shown.look) for name, rows in sweeps.items()}


CHARTS = (
    RunChart("conditions", CONDITIONS, _map, _map_caption),
    RunChart("sweep", CONDITIONS, _sweeps),
)
