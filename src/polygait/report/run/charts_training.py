"""Charts of how members were learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from polygait.report.run.panels import AnyChart, Width, emphasised, inline, member_colour, selected

POINTS = 160
"""Of one member's curve; more are averaged."""


def learning_curves(
    log: Sequence[Mapping[str, Any]], member: int | None = None, width: Width = 520
) -> AnyChart:
    """Return while training, with exploration and without the bonus, of every member."""
    return _curves(log, ("return", "return in training", ",.0f"), member, width)


def bonus_curves(log: Sequence[Mapping[str, Any]], member: int | None = None, width: Width = 520) -> AnyChart:
    """How large the diversity bonus was against the task's own reward."""
    return _curves(log, ("bonus_ratio", "diversity bonus ÷ task reward", ".0%"), member, width)


def curve_rows(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """A run's log as one row per member and stretch of steps.

    A line of the log holds a list per name, with a number for each member trained side by side.
    """
    curves: dict[int, list[list[float]]] = {}
    for record in records:
        first, last = record["members"]
        for place, member in enumerate(range(first, last)):
            values = [_value(record, name, place) for name in names]
            curves.setdefault(member, []).append([float(record["steps"]), *values])
    rows = []
    for member, points in curves.items():
        for stretch in np.array_split(np.array(points), min(POINTS, len(points))):
            seen = np.isfinite(stretch)
            mean = np.where(seen, stretch, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
            mean[~seen.any(axis=0)] = np.nan
            rows.append(
                {"member": member, "steps": float(stretch[-1, 0])}
                | dict(zip(names, mean[1:].tolist(), strict=True))
            )
    return rows


def _value(record: Mapping[str, Any], name: str, place: int) -> float:
    return float(record[name][place]) if name in record else float("nan")


def _curves(
    log: Sequence[Mapping[str, Any]], quantity: tuple[str, str, str], member: int | None, width: Width
) -> AnyChart:
    name, title, form = quantity
    rows = [row for row in log if np.isfinite(row[name])]
    base = alt.Chart(inline(rows), width=width, height=260).encode(
        x=alt.X(
            "steps:Q",
            title="environment steps of the member",
            scale=alt.Scale(nice=False),
            axis=alt.Axis(format="~s", tickCount=6),
        ),
        y=alt.Y(f"{name}:Q", title=title, axis=alt.Axis(format=form, tickCount=6)),
        color=member_colour(log),
    )
    lines = base.mark_line(interpolate="monotone").encode(
        strokeWidth=emphasised(2.6, 1.2), opacity=emphasised(1.0, 0.55)
    )
    # A line answers the pointer only at its first point, so invisible points lie on it.
    points = base.mark_point(size=50, opacity=0, filled=True, cursor="pointer").encode(
        tooltip=[
            alt.Tooltip("member:O", title="member"),
            alt.Tooltip("steps:Q", title="steps", format=",.0f"),
            alt.Tooltip(f"{name}:Q", title=title, format=form),
        ]
    )
    return (lines + points).add_params(selected(member)).properties(description=f"{title} of every member")
