"""Charts of what members are like: the population map, and which foot is down when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import altair as alt
import numpy as np

from polygait.charts import INK, PAPER
from polygait.report.feet import foot_colours, stretches
from polygait.report.run.panels import AnyChart, Width, inline, member_scale, selected

_FOOT_HEIGHT = 34
SHOWN_SECONDS = 6.0
"""Of a contact pattern beside pictures."""


class Descriptor(NamedTuple):
    """One thing that can be said about a gait in a number."""

    key: str
    title: str
    """With its unit, as an axis says it."""
    format: str = ",.2f"


@runtime_checkable
class Pattern(Protocol):
    """Which foot is on the ground when."""

    @property
    def feet(self) -> Sequence[str]:
        """Their names."""
        ...

    @property
    def down(self) -> np.ndarray:
        """(time, foot) Whether the foot touches the ground."""
        ...

    @property
    def seconds_per_step(self) -> float:
        """How long a step takes."""
        ...


def population_map(
    episodes: Sequence[Mapping[str, Any]],
    x: Descriptor,
    y: Descriptor,
    member: int | None = None,
    width: Width = 420,
) -> AnyChart:
    """Every member at the mean of its episodes, numbered; the episodes themselves are small dots.

    A row of `episodes` has `member` and a number for each descriptor.
    """
    chart = alt.Chart(inline(episodes), width=width, height=340)
    axes = {"x": _axis(alt.X, x), "y": _axis(alt.Y, y)}
    dots = chart.mark_circle(size=26, opacity=0.45).encode(
        **axes, color=alt.Color("member:O", scale=member_scale(episodes), legend=None)
    )
    averaged = [
        alt.AggregatedFieldDef(op="mean", field=one.key, **{"as": one.key}) for one in dict.fromkeys((x, y))
    ]
    means = chart.transform_aggregate(averaged, groupby=["member"]).encode(
        **axes,
        tooltip=[
            alt.Tooltip("member:O", title="member"),
            alt.Tooltip(f"{x.key}:Q", title=x.title, format=x.format),
            alt.Tooltip(f"{y.key}:Q", title=y.title, format=y.format),
        ],
    )
    chosen = "datum.member == selected"
    discs = means.mark_circle(fill=PAPER, opacity=1, cursor="pointer").encode(
        stroke=alt.Stroke("member:O", scale=member_scale(episodes), legend=None),
        strokeWidth=alt.condition(chosen, alt.value(5.5), alt.value(2.2)),
        size=alt.condition(chosen, alt.value(900), alt.value(520)),
    )
    numbers = means.mark_text(fontSize=12, fontWeight=600, color=INK, cursor="pointer").encode(
        text="member:O"
    )
    return (dots + discs + numbers).add_params(selected(member)).properties(description=_spoken(x, y))


def contact_chart(
    pattern: Pattern, window: tuple[float, float] | None = None, width: Width = 640
) -> AnyChart:
    """A bar wherever a foot touches the ground; the window, in seconds, is what pictures show.

    With a window, only a few seconds around it are drawn: strides of a long episode would be hairlines.
    """
    feet = list(pattern.feet)
    colours = foot_colours(feet)
    begin, end = _shown_time(pattern, window)
    bars = [
        bar | {"start": max(bar["start"], begin), "end": min(bar["end"], end)}
        for bar in contact_bars(pattern)
        if bar["end"] > begin and bar["start"] < end
    ]
    time = alt.X("start:Q", title="time (s)", scale=alt.Scale(domain=[begin, end], nice=False))
    drawn = (
        alt.Chart(inline(bars))
        .mark_bar(height=alt.RelativeBandSize(0.72), cornerRadius=1)
        .encode(
            x=time,
            x2="end:Q",
            y=alt.Y(
                "foot:N", sort=feet, title=None, scale=alt.Scale(domain=feet), axis=alt.Axis(labelFontSize=13)
            ),
            color=alt.Color(
                "foot:N", legend=None, scale=alt.Scale(domain=feet, range=list(colours.values()))
            ),
            tooltip=[
                alt.Tooltip("foot:N", title="foot down"),
                alt.Tooltip("start:Q", title="from (s)", format=".2f"),
                alt.Tooltip("end:Q", title="to (s)", format=".2f"),
            ],
        )
    )
    layers = [drawn]
    if window is not None:
        band = [{"start": window[0], "end": window[1]}]
        layers.insert(
            0, alt.Chart(inline(band)).mark_rect(opacity=0.16, color="#7F7F7F").encode(x=time, x2="end:Q")
        )
    return alt.layer(*layers).properties(
        width=width,
        height=_FOOT_HEIGHT * max(1, len(feet)),
        description=f"When each foot touches the ground: {', '.join(feet)}",
    )


def _shown_time(pattern: Pattern, window: tuple[float, float] | None) -> tuple[float, float]:
    """From when to when a contact chart goes."""
    seconds = len(pattern.down) * pattern.seconds_per_step
    if window is None or seconds <= SHOWN_SECONDS:
        return 0.0, round(seconds, 3)
    begin = min(max(sum(window) / 2 - SHOWN_SECONDS / 2, 0.0), seconds - SHOWN_SECONDS)
    return round(begin, 3), round(begin + SHOWN_SECONDS, 3)


def contact_bars(pattern: Pattern) -> list[dict[str, Any]]:
    """Each stretch of time during which a foot stays down."""
    bars = []
    for column, foot in enumerate(pattern.feet):
        for begin, end in stretches(pattern.down[:, column]):
            bars.append(
                {
                    "foot": foot,
                    "start": begin * pattern.seconds_per_step,
                    "end": end * pattern.seconds_per_step,
                }
            )
    return bars


def _axis(channel: Any, descriptor: Descriptor) -> Any:
    return channel(
        f"{descriptor.key}:Q",
        title=descriptor.title,
        scale=alt.Scale(zero=False, padding=24),
        axis=alt.Axis(format=descriptor.format, tickCount=6),
    )


def _spoken(x: Descriptor, y: Descriptor) -> str:
    return f"Members by {x.title} and {y.title}"
