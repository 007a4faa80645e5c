"""The motivation experiment as a picture (Figure 1, left) and as a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl

from polygait.charts import INK, SHADES, save_chart
from polygait.experiments.motivation import Result

UNIT = "(share of full torque)²"


def table(result: Result) -> pl.DataFrame:
    """One row per model and action dimension: variance and squared error, in (share of full torque)²."""
    rows = [
        {"model": number, "sees": name, "action": action, "variance": variance, "error": error}
        for number, (name, one) in enumerate(result.models.items(), start=1)
        for action, variance, error in zip(
            result.actions, one.variance.tolist(), one.error.tolist(), strict=True
        )
    ]
    return pl.DataFrame(rows)


def chart(result: Result) -> Any:
    """Left the mean variance of every model, right each joint's."""
    import altair as alt

    frame = table(result).with_columns(
        label=pl.format("{}  {}", "model", "sees"), joint=pl.col("action").map_elements(_words, pl.String)
    )
    labels = frame["label"].unique(maintain_order=True).to_list()
    colour = alt.Color(
        "label:N",
        scale=alt.Scale(domain=labels, range=list(SHADES)),
        sort=labels,
        legend=None,
    )
    mean = frame.group_by("label", maintain_order=True).agg(pl.col("variance").mean())
    bars = alt.Chart(mean).encode(
        x=alt.X(
            "variance:Q",
            title=["Inference variance, mean of all joints", UNIT],
            axis=alt.Axis(tickCount=4, labelFlush=False),
        ),
        y=alt.Y(
            "label:N",
            sort=labels,
            title=None,
            axis=alt.Axis(labelLimit=300, labelPadding=8, ticks=False, domain=False),
        ),
        tooltip=[alt.Tooltip("label:N", title="model"), alt.Tooltip("variance:Q", format=".4f")],
    )
    values = bars.mark_text(align="left", dx=5, color=INK, fontSize=12).encode(
        text=alt.Text("variance:Q", format=".3f")
    )
    left = (bars.mark_bar(size=26, cornerRadiusEnd=3).encode(color=colour) + values).properties(
        width=240, height=190
    )

    joints = list(dict.fromkeys(frame["joint"]))
    base = alt.Chart(frame).encode(
        y=alt.Y("joint:N", sort=joints, title=None, axis=alt.Axis(labelPadding=8, ticks=False, domain=False))
    )
    span = base.mark_rule(color="#CBD2D9", strokeWidth=2).encode(x="min(variance):Q", x2="max(variance):Q")
    dots = base.mark_circle(size=150, opacity=1, stroke="white", strokeWidth=1).encode(
        x=alt.X(
            "variance:Q",
            title=["Inference variance of each joint", UNIT],
            axis=alt.Axis(tickCount=4, labelFlush=False),
        ),
        color=colour,
        tooltip=["joint:N", alt.Tooltip("label:N", title="model"), alt.Tooltip("variance:Q", format=".4f")],
    )
    numbers = base.mark_text(fontSize=9, fontWeight="bold").encode(
        x="variance:Q",
        text="model:N",
        color=alt.condition("datum.model > 2", alt.value("white"), alt.value(INK)),
    )
    right = (span + dots + numbers).properties(width=300, height=190)
    title = alt.TitleParams(
        "What the state no longer shows, the model no longer knows",
        subtitle="Walker: four models read the actions of a Soft Actor-Critic agent from (f(s), f(s′)); "
        f"{len(result.returns)} episodes, {result.num_transitions:,} transitions",
        subtitleColor="#666666",
        subtitlePadding=6,
    )
    return alt.hconcat(left, right, spacing=36).properties(title=title)


def write_result(result: Result, folder: str | os.PathLike[str]) -> list[Path]:
    """The chart as motivation.html, .svg and .png and the table as motivation.csv; their paths."""
    home, drawn = Path(folder), chart(result)
    paths = [save_chart(drawn, home / f"motivation.{kind}") for kind in ("html", "svg", "png")]
    table(result).write_csv(home / "motivation.csv")
    return [*paths, home / "motivation.csv"]


def _words(name: str) -> str:
    """The joint as people say it: thigh_left_joint is the left thigh, thigh_joint the right one."""
    words = name.removesuffix("_joint").split("_")
    return f"left {words[0]}" if "left" in words else f"right {words[0]}"
