"""The mesh in figures: which method survives what, and what each further member adds."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from polygait.report.condition_words import GROUPS, condition_words
from polygait.report.names import counted_range, method_colour, method_title, ordered_methods, title_of
from polygait.report.study.mesh import populations
from polygait.report.study.sources import by
from polygait.resilience import episodes_of, survival
from polygait.study.results import Results
from polygait.study.statistics import FEWEST_SEEDS, bootstrap, mean_of_means

_ROW, _CELL = 18, 74


def survival_figure(results: Results, task: str) -> alt.LayerChart | alt.FacetChart | None:
    """Survival against the number of members, a line per method with its interval over seeds."""
    methods = populations(results.mesh.filter(task=task)).get(task, {})
    rows = []
    for method in ordered_methods(methods):
        curves = np.array([own.survival for own, _ in methods[method].values()])
        for size in range(curves.shape[1] if not np.isnan(curves).any() else 0):
            found = bootstrap([curves[:, size]], mean_of_means)
            row = {"method": method_title(method), "members": size + 1, "value": float(found.value)}
            known = {} if np.isnan(found.low) else {"low": float(found.low), "high": float(found.high)}
            rows.append({**row, "low": None, "high": None, **known})
    if not rows:
        return None
    frame = pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})
    base = alt.Chart(frame).encode(
        x=alt.X("members:O", title="members to choose from", axis=alt.Axis(labelAngle=0)),
        color=_colours(ordered_methods(methods)),
    )
    y = alt.Y("value:Q", title="survival", axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0))
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="survival"), y2="high:Q")
    lines = base.mark_line().encode(y=y)
    points = base.mark_circle(size=50, opacity=1).encode(
        y=y, tooltip=["method", "members", alt.Tooltip("value:Q", format=".0%", title="survival")]
    )
    title = _title(f"{title_of(task)}: share of changed worlds survived", results.mesh.filter(task=task))
    return (band + lines + points).properties(width=440, height=260, title=title)


def worlds_figure(results: Results, task: str) -> alt.LayerChart | alt.FacetChart | None:
    """The share of seeds that survive each condition, a column per method."""
    frame = results.mesh.filter(task=task)
    rows = _survived(frame)
    if not rows:
        return None
    labels: list[str] = []
    for group in GROUPS:
        found = dict.fromkeys(str(row["label"]) for row in rows if row["group"] == group)
        labels += [group, *found] if found else []
    methods = ordered_methods(frame["method"].unique())
    headings = " || ".join(f"datum.label == '{group}'" for group in GROUPS)
    base = alt.Chart(pl.DataFrame(rows), width=_CELL * len(methods), height=_ROW * len(labels)).encode(
        x=alt.X(
            "method:N",
            title=None,
            sort=[method_title(one) for one in methods],
            axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False),
        ),
        y=alt.Y(
            "label:N",
            title=None,
            scale=alt.Scale(domain=labels),
            axis=alt.Axis(
                domain=False,
                ticks=False,
                labelFontWeight=alt.condition(headings, alt.value("bold"), alt.value("normal")),
            ),
        ),
    )
    tiles = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.Color(
            "survives:Q",
            title="seeds that survive",
            scale=alt.Scale(scheme="blues", domain=[0, 1]),
            legend=alt.Legend(orient="bottom", direction="horizontal", gradientLength=140, format="%"),
        ),
        tooltip=["label", "method", alt.Tooltip("survives:Q", format=".0%")],
    )
    numbers = base.mark_text(fontSize=10).encode(
        text=alt.Text("survives:Q", format=".0%"),
        color=alt.condition("datum.survives > 0.55", alt.value("white"), alt.value("#333333")),
    )
    return (tiles + numbers).properties(title=_title(f"{title_of(task)}: what is survived", frame))


def _title(text: str, mesh: pl.DataFrame) -> alt.Title:
    """A figure's title, how many seeds each method has, and whether they are too few."""
    seeds = [cells["seed"].n_unique() for _, cells in by(mesh, "method")]
    few = f": fewer than {FEWEST_SEEDS} decide nothing" if min(seeds) < FEWEST_SEEDS else ""
    told = f"{counted_range(seeds, 'seed')}{few}"
    return alt.Title(text, subtitle=told, subtitleFontSize=11, subtitleColor="#777777")


def _survived(frame: pl.DataFrame) -> list[dict[str, object]]:
    """A row per condition and method: in which share of seeds the chosen member keeps going."""
    found: dict[tuple[str, str], list[float]] = {}
    for (method, _), cells in frame.partition_by("method", "seed", as_dict=True, maintain_order=True).items():
        episodes = episodes_of(cells)
        kept = survival(episodes.speeds, episodes.speeds, episodes.best_nominal_speed)[:, -1]
        for world, value in zip(episodes.conditions, kept.tolist(), strict=True):
            found.setdefault((world, str(method)), []).append(value)
    return [
        {
            **condition_words(world)._asdict(),
            "method": method_title(method),
            "survives": float(np.mean(values)),
        }
        for (world, method), values in found.items()
        if not np.isnan(values).any()
    ]


def _colours(methods: list[str]) -> alt.Color:
    titles: Mapping[str, str] = {method_title(one): method_colour(one) for one in methods}
    scale = alt.Scale(domain=list(titles), range=list(titles.values()))
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)
    return alt.Color("method:N", title=None, scale=scale, legend=legend)
