"""Charts of how members were learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from polygait.report.run.chart import TRAINING, RunChart, Shown
from polygait.report.run.panels import AnyChart, Width, emphasised, inline, member_colour, selected


def learning_curves(
    log: Sequence[Mapping[str, Any]], member: int | None = None, width: Width = 520
) -> AnyChart:
    """Return while training, with exploration and without the bonus, of every member."""
    return _curves(log, ("return", "return in training", ",.0f"), member, width)


def bonus_curves(log: Sequence[Mapping[str, Any]], member: int | None = None, width: Width = 520) -> AnyChart:
    """How large the diversity bonus was against the task's own reward."""
    return _curves(log, ("bonus_ratio", "diversity bonus ÷ task reward", ".0%"), member, width)


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


def _bonus(shown: Shown) -> dict[str, AnyChart]:
    """Only where some member had one."""
    log = shown.findings.log
    return (
        {"": bonus_curves(log, **shown.look)} if any(np.isfinite(row["bonus_ratio"]) for row in log) else {}
    )


CHARTS = (
    RunChart(
        "learning-curves",
        TRAINING,
        lambda shown: {"": learning_curves(shown.findings.log, **shown.look)} if shown.findings.log else {},
        "Return of recent episodes, with exploration, without the bonus.",
    ),
    RunChart("bonus", TRAINING, _bonus, "Size of the diversity bonus against the task's reward."),
)
