"""The paper's figures of behaviour: how long feet touch the ground, and how gaits were found one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from polygait.charts import MEMBER_COLOURS
from polygait.report.feet import foot_title, stretches
from polygait.report.names import method_title, ordered_methods, title_of
from polygait.report.study.sources import OURS
from polygait.study.results import Results

_SHOWN_STEPS = 250
"""Of an episode, in the strips of foot contacts."""
_MOST_STRIPS = 5


def contact_figure(results: Results, task: str) -> alt.VConcatChart | None:
    """The shares of time in which two feet touch the ground: a point per episode, a colour per member.

    Walker's two feet; for more, each pair of neighbours in the order of the robot's file.
    """
    frame = results.contacts.filter(task=task)
    feet = frame["foot"].unique(maintain_order=True).to_list()
    if len(feet) < 2:
        return None
    frame = frame.filter(seed=frame["seed"].min())
    members = sorted(frame["member"].unique())
    wide = frame.pivot("foot", index=["method", "member", "episode"], values="down")
    pairs = list(zip(feet[::2], feet[1::2], strict=False))
    rows = []
    for pair in pairs:
        columns = []
        for method in ordered_methods(frame["method"].unique()):
            data = wide.filter(method=method).select("member", "episode", first=pair[0], second=pair[1])
            scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
            chart = (
                alt.Chart(data)
                .mark_point(filled=True, size=28, opacity=0.75)
                .encode(
                    x=alt.X("first:Q", title=foot_title(pair[0]), scale=scale, axis=axis),
                    y=alt.Y("second:Q", title=foot_title(pair[1]), scale=scale, axis=axis),
                    color=member_colour(members),
                    tooltip=["member", "episode", "first", "second"],
                )
            )
            title = {"title": alt.Title(method_title(method), fontSize=12)} if pair == pairs[0] else {}
            columns.append(chart.properties(width=170, height=170, **title))
        rows.append(alt.hconcat(*columns))
    return (
        alt.vconcat(*rows)
        .resolve_scale(color="shared")
        .properties(title=f"{title_of(task)}: share of time on the ground, seed {frame['seed'][0]}")
    )


def open_ended_figure(results: Results, task: str, method: str = OURS) -> alt.VConcatChart | None:
    """Returns of members as they were found one after another, with the foot contacts of some of them."""
    curves = results.curves.filter(task=task, method=method)
    if curves.is_empty():
        return None
    seed = curves["seed"].min()
    curves = curves.filter(seed=seed).filter(pl.col("return").is_finite())
    each = int(curves["steps"].max() or 1)  # type: ignore[arg-type] - steps are whole numbers
    members = sorted(curves["member"].unique())
    placed = curves.with_columns(total=(pl.col("member") * each + pl.col("steps")) / 1e6)
    returns = (
        alt.Chart(placed)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X(
                "total:Q",
                title="million steps, members one after another",
                scale=alt.Scale(nice=False),
                axis=alt.Axis(tickCount=8),
            ),
            y=alt.Y("return:Q", title="return in training", axis=alt.Axis(tickCount=5)),
            color=member_colour(members),
            tooltip=["member", "steps", "return"],
        )
    )
    top = returns.properties(width=640, height=190)
    title = f"{title_of(task)}, {method_title(method)}, seed {seed}: found one after another"
    pattern = results.patterns.get((task, method, int(seed)))  # type: ignore[arg-type] - seeds are whole numbers
    if pattern is None:
        return alt.vconcat(top).properties(title=title)
    strips = _strips(pattern, members)
    return alt.vconcat(top, strips).resolve_scale(color="shared").properties(title=title)


def _strips(pattern: dict[str, Any], members: Sequence[int]) -> alt.FacetChart:
    """Which feet are down over the first steps of an episode, for some members from first to last."""
    count = len(pattern["down"])
    chosen = sorted({round(place * (count - 1) / max(1, _MOST_STRIPS - 1)) for place in range(_MOST_STRIPS)})
    seconds = pattern["time_step"]
    unit = seconds or 1.0
    rows = [
        {"member": member, "foot": foot_title(foot), "start": begin * unit, "end": end * unit}
        for member in chosen
        if member < count
        for foot, text in zip(pattern["feet"], pattern["down"][member], strict=True)
        for begin, end in stretches(np.array(list(text[:_SHOWN_STEPS])) == "1")
    ]
    frame = pl.DataFrame(
        rows, schema={"member": pl.Int64, "foot": pl.String, "start": pl.Float64, "end": pl.Float64}
    )
    axis = (
        "seconds of an episode (shaded: the foot is down)" if seconds else "steps (shaded: the foot is down)"
    )
    bars = (
        alt.Chart(frame)
        .mark_bar(height=9, cornerRadius=0)
        .encode(
            x=alt.X(
                "start:Q",
                title=axis,
                scale=alt.Scale(domain=[0, _SHOWN_STEPS * unit], nice=False),
                axis=alt.Axis(tickCount=8),
            ),
            x2="end:Q",
            y=alt.Y("foot:N", title=None, sort=[foot_title(foot) for foot in pattern["feet"]]),
            color=member_colour(members),
        )
    )
    return bars.properties(width=640, height=alt.Step(13)).facet(
        row=alt.Row(
            "member:N",
            title=None,
            header=alt.Header(labelExpr="'member ' + datum.value", labelAngle=0, labelAlign="left"),
        ),
        spacing=6,
    )


def member_colour(members: Sequence[int]) -> alt.Color:
    """Every member of a population has its colour."""
    colours = [MEMBER_COLOURS[member % len(MEMBER_COLOURS)] for member in members]
    return alt.Color("member:N", title="member", scale=alt.Scale(domain=list(members), range=colours))
