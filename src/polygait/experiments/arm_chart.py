"""The two-joint arm as a picture (Figure 1, right)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from polygait.charts import COLOURS, INK
from polygait.experiments.arm import MOTORS, TURN, Revealed


def chart(revealed: list[Revealed]) -> Any:
    """Left the arm without its elbow's angle, right what the models know, against what can be known."""
    import altair as alt

    title = alt.TitleParams(
        "Hide an angle, and its motor becomes a guess",
        subtitleColor="#666666",
        subtitlePadding=6,
        subtitle=[
            "Left: the upper arm is seen to turn; with the elbow's angle hidden, the forearm may be anywhere",
            "Right: variance of each motor's action, found by a model (dot) and worked out by hand (line)",
        ],
    )
    panels = alt.hconcat(_arm_panel(), _variance_panel(revealed), spacing=48)
    return panels.resolve_scale(color="independent").properties(title=title)


def _arm_panel() -> Any:
    """One turn of the upper arm, and forearms that fit it, drawn with links of length 1."""
    import altair as alt

    before, after = 0.45, 0.45 + TURN
    hidden = np.linspace(-2.2, 2.2, 12)
    links = [
        {"link": f"{moment} {index}", "moment": moment, "order": order, "x": point[0], "y": point[1]}
        for moment, first in (("before", before), ("after", after))
        for index, second in enumerate(hidden)
        for order, point in enumerate(_forearm(first, second))
    ]
    upper = [
        {"moment": moment, "order": order, "x": point[0], "y": point[1]}
        for moment, first in (("before", before), ("after", after))
        for order, point in enumerate(((0.0, 0.0), _elbow(first)))
    ]
    colour = alt.Color(
        "moment:N", scale=alt.Scale(domain=["before", "after"], range=["#9AA5B1", COLOURS[0]]), legend=None
    )
    place: dict[str, Any] = {
        axis: kind(f"{axis}:Q", scale=alt.Scale(domain=domain), axis=None)
        for axis, kind, domain in (("x", alt.X, (-0.7, 2.1)), ("y", alt.Y, (-0.7, 2.1)))
    }
    fan = alt.Chart(pl.DataFrame(links)).mark_line(strokeWidth=2, opacity=0.35, strokeCap="round")
    arm = alt.Chart(pl.DataFrame(upper)).mark_line(strokeWidth=9, strokeCap="round")
    joints = alt.Chart(pl.DataFrame([point for point in upper if point["order"]])).mark_circle(
        size=170, opacity=1
    )
    shoulder = alt.Chart(pl.DataFrame({"x": [0.0], "y": [0.0]})).mark_circle(size=260, color=INK, opacity=1)
    names = pl.DataFrame(
        {
            "x": [
                0.12,
                *(0.62 * _elbow(angle)[0] + shift for angle, shift in ((before, 0.1), (after, -0.14))),
            ],
            "y": [
                -0.25,
                *(0.62 * _elbow(angle)[1] + shift for angle, shift in ((before, -0.2), (after, 0.14))),
            ],
            "text": ["shoulder", "before", "after"],
        }
    )
    labels = alt.Chart(names).mark_text(fontSize=12, color=INK).encode(**place, text="text:N")
    return (
        fan.encode(**place, detail="link:N", order="order:O", color=colour)
        + arm.encode(**place, order="order:O", color=colour)
        + joints.encode(**place, color=colour)
        + shoulder.encode(**place)
        + labels
    ).properties(width=260, height=260)


def _variance_panel(revealed: list[Revealed]) -> Any:
    """Variance by filter and motor."""
    import altair as alt

    rows = [
        {"filter": one.name, "motor": motor, "found": float(found), "expected": float(expected)}
        for one in revealed
        for motor, found, expected in zip(MOTORS, one.found.variance, one.expected, strict=True)
    ]
    base = alt.Chart(pl.DataFrame(rows)).encode(
        y=alt.Y("motor:N", sort=MOTORS, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8)),
        color=alt.Color(
            "motor:N", scale=alt.Scale(domain=MOTORS, range=[COLOURS[4], COLOURS[2]]), legend=None
        ),
    )
    x = alt.X(
        "found:Q",
        title="Variance of the action (share of full speed)²",
        scale=alt.Scale(domain=(0, 0.16)),
        axis=alt.Axis(tickCount=4, labelFlush=False),
    )
    hand = base.mark_tick(thickness=3, size=24, color=INK).encode(x="expected:Q", color=alt.value(INK))
    dots = base.mark_circle(size=130, opacity=1).encode(
        x=x,
        tooltip=[
            "filter",
            "motor",
            alt.Tooltip("found:Q", format=".4f"),
            alt.Tooltip("expected:Q", format=".4f"),
        ],
    )
    return (
        (hand + dots)
        .properties(width=300, height=50)
        .facet(
            row=alt.Row(
                "filter:N",
                sort=[kind.name for kind in revealed],
                title=None,
                header=alt.Header(labelAngle=0, labelAlign="left", labelPadding=12),
            ),
            spacing=10,
        )
    )


def _elbow(first: float) -> tuple[float, float]:
    return float(np.cos(first)), float(np.sin(first))


def _forearm(first: float, second: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """From the elbow to the hand."""
    x, y = _elbow(first)
    return (x, y), (x + float(np.cos(first + second)), y + float(np.sin(first + second)))
