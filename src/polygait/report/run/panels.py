"""What the charts of a report share: plain data, a colour per member, and the member that stands out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import altair as alt

from polygait.charts import MEMBER_COLOURS

AnyChart = alt.LayerChart | alt.FacetChart
"""What Altair says a chart of several layers may be."""
Width = int | Literal["container"]
"""Pixels, or as wide as the page lets it be."""

SELECTED = "selected"
"""The parameter that names the member which stands out; −1 for none."""
CHOSEN = "#D55E00"
"""Marks the member that adaptation chose."""
RETURNS = "viridis"
_DIGITS = 6  # a return of thousands is rounded once more, to whole numbers


def selected(member: int | None) -> alt.Parameter:
    """The parameter that a page changes when a member is clicked."""
    return alt.param(name=SELECTED, value=-1 if member is None else member)


def member_scale(rows: Iterable[Mapping[str, Any]]) -> alt.Scale:
    """The colours of members, the same in every chart of these rows.

    As long as there are enough colours each has its own; more members go from purple to orange in the
    order of their discovery.
    """
    members = sorted({row["member"] for row in rows})
    if len(members) <= len(MEMBER_COLOURS):
        return alt.Scale(domain=members, range=list(MEMBER_COLOURS[: len(members)]))
    return alt.Scale(domain=members, scheme=alt.SchemeParams(name="plasma", extent=[0.0, 0.85]))


def member_colour(rows: Iterable[Mapping[str, Any]]) -> alt.Color:
    """A line's colour and its legend."""
    legend = alt.Legend(title="member", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)
    return alt.Color("member:O", scale=member_scale(rows), legend=legend)


def emphasised(strong: float, weak: float) -> Any:
    """A value for the member that stands out, or for all when none does, and another for the rest."""
    return alt.condition(f"{SELECTED} < 0 || datum.member == {SELECTED}", alt.value(strong), alt.value(weak))


def inline(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Rows as they stand in a chart: short numbers, null where there is none."""
    return alt.InlineData(values=[{name: _plain(value) for name, value in row.items()} for row in rows])


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")
