"""The paper's figures of performance, ours above the published ones, and how sure they are.

Lines are means over seeds; bands are 95 % intervals of that mean, or all seeds where these are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from jaxtyping import Float

from polygait.evaluation import percentile_performance
from polygait.report import names
from polygait.report.names import counted, method_title, ordered_methods, title_of
from polygait.report.study.significance import comparisons, relative_values
from polygait.report.study.sources import (
    Place,
    Source,
    best_values,
    by,
    member_grid,
    methods_of,
    ordered,
    paper_order,
    tasks_of,
)
from polygait.study.statistics import FEWEST_SEEDS, best_members, mean_interval, performance_profile

PERCENTILES = tuple(float(place) for place in range(0, 101, 5))
_PANEL = {"width": 220, "height": 140}
_SPACING = {"row": 92, "column": 72}
"""Room for titles and axes: plots stand in line, whatever their labels need."""


def percentile_figure(sources: Sequence[Source]) -> alt.ConcatChart | None:
    """What the members of a population reach, from its worst (0) to its best (100), undamaged."""
    rows = []
    for source in sources:
        for (task, method), cells in by(source.returns.filter(condition="nominal"), "task", "method"):
            grid = member_grid(cells)
            if grid.shape[1] > 1:
                curves = np.stack([percentile_performance(row, PERCENTILES) for row in grid])
                rows += _band_rows(curves, PERCENTILES, panel=task, source=source.label, method=method)
    panels = ordered({row["panel"] for row in rows}, tasks_of(sources))
    return _panels(
        rows, [(task, title_of(task)) for task in panels], sources, ("percentile of the population", "return")
    )


def sweep_figure(sources: Sequence[Source]) -> alt.ConcatChart | None:
    """What the best member reaches while a mass or a friction is scaled; the rule is the training world."""
    rows, places = [], {}
    for source in sources:
        swept = source.returns.filter(pl.col("scale").is_not_null())
        for (task, condition, method), cells in by(swept, "task", "condition", "method"):
            seeds = cells["seed"].n_unique()
            scales = [
                scale
                for scale in sorted(cells["scale"].unique())
                if cells.filter(scale=scale)["seed"].n_unique() == seeds  # a mean is over all seeds
            ]
            if not scales:
                continue
            best = np.stack(
                [best_members(member_grid(cells.filter(scale=scale))) for scale in scales], axis=1
            )
            panel = f"{task} {condition}"
            places[panel] = Place(task, condition)
            rows += _band_rows(best, scales, panel=panel, source=source.label, method=method)
    order = sorted(places, key=lambda panel: paper_order(places[panel]))
    panels = [(panel, str(places[panel]).replace(" - ", ", ")) for panel in order]
    return _panels(rows, panels, sources, ("scale", "return of the best"), rule=1.0)


def _band_rows(
    curves: Float[np.ndarray, "seed point"], points: Sequence[float], **about: str
) -> list[dict[str, Any]]:
    """One row per point of a mean curve and its band."""
    mean, low, high = mean_interval(curves)
    if len(curves) < 2:
        low, high = mean, mean
    return [
        {**about, "x": float(x), "y": float(y), "low": float(bottom), "high": float(top)}
        for x, y, bottom, top in zip(points, mean, low, high, strict=True)
    ]


def _panels(
    rows: list[dict[str, Any]],
    panels: Sequence[tuple[str, str]],
    sources: Sequence[Source],
    axes: tuple[str, str],
    rule: float | None = None,
) -> alt.ConcatChart | None:
    """A panel per task or condition, one source below the other with the same vertical axis."""
    if not rows:
        return None
    frame = pl.DataFrame(rows)
    methods = ordered_methods(frame["method"].unique())
    named = _with_titles(frame)
    columns = min(len(panels), 4 if len(panels) == 4 else 3)
    cells = []
    for begin in range(0, len(panels), columns):
        for source in sources:
            for panel, title in panels[begin : begin + columns]:
                data = named.filter(panel=panel, source=source.label)
                vertical = axes[1] if panel == panels[begin][0] else None
                chart = _bands(data, methods, (axes[0], vertical), rule, _reach(named.filter(panel=panel)))
                cells.append(chart.properties(**_PANEL, title=_panel_title(title, source)))
    whole = alt.concat(*cells, columns=columns, bounds="flush", spacing=_SPACING)
    return whole.resolve_scale(color="shared")


def _reach(data: pl.DataFrame) -> list[float]:
    """A vertical axis for all sources, from zero or below."""
    low, high = data["low"].to_numpy().min(), data["high"].to_numpy().max()
    return [min(0.0, float(low)), float(high)]


def _panel_title(title: str, source: Source) -> alt.Title:
    """Where numbers come from, and whether they are of too few seeds to decide anything."""
    few = [f"{counted(source.seeds, 'seed')}: too few to decide"] if source.seeds < FEWEST_SEEDS else []
    return alt.Title(
        title,
        subtitle=[source.label, *few],
        fontSize=12,
        frame="group",
        subtitleFontSize=11,
        subtitleColor="#777777",
        offset=6,
    )


def _with_titles(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(method=pl.col("method").map_elements(method_title, return_dtype=pl.String))


def _bands(
    data: pl.DataFrame,
    methods: Sequence[str],
    axes: tuple[str | None, str | None],
    rule: float | None,
    reach: list[float],
) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart(data).encode(
        x=alt.X("x:Q", title=axes[0], scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(tickCount=5)),
        color=method_colour(methods),
    )
    vertical = alt.Y("low:Q", title=axes[1], scale=alt.Scale(domain=reach), axis=alt.Axis(tickCount=5))
    band = base.mark_area(opacity=0.15).encode(y=vertical, y2="high:Q")
    line = base.mark_line(strokeWidth=1.8).encode(
        y=alt.Y("y:Q", title=axes[1]), tooltip=["method", "x", "y", "low", "high"]
    )
    if rule is None or data.is_empty():
        return alt.layer(band, line)
    mark = alt.Chart(pl.DataFrame({"x": [rule]})).mark_rule(strokeDash=[3, 3], color="#999999")
    return alt.layer(mark.encode(x="x:Q"), band, line)


def method_colour(methods: Sequence[str]) -> alt.Color:
    """Every method has its colour in all figures."""
    colours = [names.method_colour(method) for method in methods]
    titles = [method_title(method) for method in methods]
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, symbolSize=160)
    scale = alt.Scale(domain=titles, range=colours)
    return alt.Color("method:N", title=None, scale=scale, sort=titles, legend=legend)


def improvement_figure(sources: Sequence[Source]) -> alt.HConcatChart | None:
    """The probability that a seed of DiR is better than one of another method, under every damage."""
    rows = [row for source in sources for row in _improvements(source)]
    if not rows:
        return None
    frame = pl.DataFrame(rows)
    methods = ordered_methods(frame["method"].unique())
    named = _with_titles(frame)
    places = [str(place) for place in sorted({Place(*row["place"]) for row in rows}, key=paper_order)]
    charts = []
    for source in sources:
        data = named.filter(source=source.label).drop("place")
        if data.is_empty():
            continue
        rule = alt.Chart(pl.DataFrame({"x": [0.5]})).mark_rule(strokeDash=[3, 3], color="#999999")
        base = alt.Chart(data).encode(
            y=alt.Y(
                "condition:N",
                title=None,
                scale=alt.Scale(domain=places),
                axis=alt.Axis(labels=not charts, ticks=not charts),
            ),
            yOffset=alt.YOffset("method:N", sort=[method_title(method) for method in methods]),
            color=method_colour(methods),
        )
        bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="P(DiR is better)"), x2="high:Q")
        dots = base.mark_point(filled=True, size=45, opacity=1).encode(
            x=alt.X("value:Q", scale=alt.Scale(domain=[0, 1])),
            tooltip=["condition", "method", "value", "low", "high"],
        )
        layered = alt.layer(rule.encode(x="x:Q"), bars, dots)
        charts.append(
            layered.properties(width=260, height=alt.Step(13), title=_panel_title("Under damage", source))
        )
    return alt.hconcat(*charts).resolve_scale(color="shared")


def _improvements(source: Source) -> list[dict[str, Any]]:
    return [
        {"source": source.label, "place": list(place), "condition": str(place), "method": other}
        | {name: float(value) for name, value in result.improvement._asdict().items()}
        for other, found in comparisons(source).items()
        for place, result in found.items()
    ]


def profile_figure(sources: Sequence[Source], reference: str = "multi") -> alt.HConcatChart | None:
    """Performance profiles under damage: the share of seeds above so many times Multi's mean."""
    charts, methods = [], methods_of(*(best_values(source.returns, "damage") for source in sources))
    levels = np.linspace(0.0, 2.0, 81)
    for source in sources:
        rows = []
        for method, scores in relative_values(source, reference).items():
            estimate = scores.estimate(lambda drawn: performance_profile(drawn, levels.tolist()), 500)
            bands = zip(levels, *estimate, strict=True)
            rows += [
                {
                    "method": method_title(method),
                    "x": float(x),
                    "y": float(y),
                    "low": float(low),
                    "high": float(high),
                }
                for x, y, low, high in bands
            ]
        if rows:
            axes = (f"return, in units of {method_title(reference)}'s mean", "share of seeds above")
            chart = _bands(pl.DataFrame(rows), methods, axes, 1.0, [0.0, 1.0])
            charts.append(chart.properties(width=300, height=200, title=_panel_title("Under damage", source)))
    return alt.hconcat(*charts).resolve_scale(color="shared") if charts else None
