"""Charts of what members are like: the population map, and which foot is down when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import altair as alt
import numpy as np

from polygait.charts import INK, PAPER
from polygait.report.feet import foot_colours, stretches
from polygait.report.pictures.video import STRIP_SECONDS, strip_window
from polygait.report.run.apart import moved_apart
from polygait.report.run.chart import MEMBERS, RunChart, Shown
from polygait.report.run.descriptors import Descriptor, described_axes
from polygait.report.run.gallery import EPISODES
from polygait.report.run.panels import SELECTED, AnyChart, Width, inline, member_scale, selected

AXES = "axes"
"""The parameter that says which two descriptors a map shows."""
_FOOT_HEIGHT = 34
_HEIGHT = 340
_ROOM = (320.0, 340.0)  # a map's pixels on most screens; on a wider one members are further apart
_APART = 33.0  # pixels between the middles of two members, of which one may stand out
SHOWN_SECONDS = 6.0
"""Of a contact pattern beside pictures."""


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
    offered: Sequence[Descriptor],
    member: int | None = None,
    width: Width = 420,
) -> AnyChart:
    """Every member at the mean of its episodes, numbered; the episodes themselves are small dots.

    A row of `episodes` has `member` and a number for each descriptor. The first two descriptors are the axes;
    a page may show any others. Members that would hide each other are moved aside, on a line to their place.
    """
    x, y, *_ = offered
    axes = {"x": _axis(alt.X, x, episodes), "y": _axis(alt.Y, y, episodes)}
    colours = member_scale(episodes)
    size: dict[str, Any] = {"width": width, "height": _HEIGHT}
    dots = (
        alt.Chart(inline(episodes), **size)
        .mark_circle(size=26, opacity=0.45)
        .encode(**axes, color=alt.Color("member:O", scale=colours, legend=None))
    )
    means = alt.Chart(inline(member_means(episodes, offered)), **size).encode(**axes)
    across, down = (alt.ExprRef(f"(datum.shift[{AXES}] || [0, 0])[{place}]") for place in (0, 1))
    lines = means.mark_rule(x2Offset=across, y2Offset=down, strokeWidth=1.5).encode(
        x2=f"{x.key}:Q", y2=f"{y.key}:Q", color=alt.Color("member:O", scale=colours, legend=None)
    )
    told = means.encode(
        tooltip=[
            alt.Tooltip("member:O", title="member"),
            alt.Tooltip(f"{x.key}:Q", title=x.title, format=x.format),
            alt.Tooltip(f"{y.key}:Q", title=y.title, format=y.format),
        ]
    )
    chosen = f"datum.member == {SELECTED}"
    moved: dict[str, Any] = {"xOffset": across, "yOffset": down, "cursor": "pointer"}
    discs = told.mark_circle(fill=PAPER, opacity=1, **moved).encode(
        stroke=alt.Stroke("member:O", scale=colours, legend=None),
        strokeWidth=alt.condition(chosen, alt.value(5.5), alt.value(2.2)),
        size=alt.condition(chosen, alt.value(900), alt.value(520)),
    )
    numbers = told.mark_text(fontSize=12, fontWeight=600, color=INK, **moved).encode(text="member:O")
    shown = alt.param(name=AXES, value=_pair(x, y))
    return (
        alt.layer(dots, lines, discs, numbers)
        .add_params(selected(member), shown)
        .properties(description=_spoken(x, y))
    )


def member_means(
    episodes: Sequence[Mapping[str, Any]], offered: Sequence[Descriptor]
) -> list[dict[str, Any]]:
    """A row per member: its mean of every descriptor, and by how many pixels it is moved on which map."""
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for row in episodes:
        rows.setdefault(row["member"], []).append(row)
    values = np.array(
        [
            [_mean(row.get(descriptor.key, math.nan) for row in mine) for descriptor in offered]
            for mine in rows.values()
        ]
    )
    low, high = np.array([descriptor.domain(episodes) for descriptor in offered]).T
    shares = (values - low) / (high - low)  # of each axis, from its lower end
    shifts: dict[int, dict[str, list[int]]] = {member: {} for member in rows}
    for across, x in enumerate(offered):
        for upwards, y in enumerate(offered):
            places = np.stack([shares[:, across] * _ROOM[0], (1 - shares[:, upwards]) * _ROOM[1]], axis=1)
            seen = np.isfinite(places).all(axis=1)
            moved = np.zeros_like(places)
            moved[seen] = moved_apart(places[seen], _APART, _ROOM) - places[seen]
            for member, (right, down) in zip(rows, moved.round().astype(int).tolist(), strict=True):
                if right or down:
                    shifts[member][_pair(x, y)] = [right, down]
    return [
        {
            "member": member,
            **dict(zip([descriptor.key for descriptor in offered], mine, strict=True)),
            "shift": shifts[member],
        }
        for member, mine in zip(rows, values.tolist(), strict=True)
    ]


def _mean(values: Iterable[float]) -> float:
    told = [value for value in values if math.isfinite(value)]
    return sum(told) / len(told) if told else math.nan


def _pair(x: Descriptor, y: Descriptor) -> str:
    """What a map with these axes is called in the shifts of members."""
    return f"{x.key} {y.key}"


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


def _axis(channel: Any, descriptor: Descriptor, episodes: Sequence[Mapping[str, Any]]) -> Any:
    return channel(
        f"{descriptor.key}:Q",
        title=descriptor.title,
        scale=alt.Scale(domain=descriptor.domain(episodes), nice=False, zero=False),
        axis=alt.Axis(format=descriptor.format, tickCount=6, tickMinStep=descriptor.step),
    )


def _spoken(x: Descriptor, y: Descriptor) -> str:
    return f"Members by {x.title} and {y.title}"


def _map(shown: Shown) -> dict[str, AnyChart]:
    """Where there are two descriptors to be its axes."""
    offered, rows = described_axes(shown.findings, shown.gallery)
    return {"": population_map(rows, offered, **shown.look)} if len(offered) > 1 else {}


def _contacts(shown: Shown) -> dict[str, AnyChart]:
    """Of every member's first episode; on a page, what its pictures show is shaded."""
    drawn = {}
    for member, (first, *_) in shown.gallery.episodes.items():
        if first.feet:
            begin, end = (moment * first.seconds_per_step for moment in strip_window(first, STRIP_SECONDS))
            drawn[str(member)] = (
                contact_chart(first, (begin, end), "container") if shown.on_page else contact_chart(first)
            )
    return drawn


CHARTS = (
    RunChart(
        "population-map",
        MEMBERS,
        _map,
        f"Every member at the mean of {EPISODES} episodes run for this page (small dots), moved aside on a "
        "line where it would hide another. Choose one here, or with the buttons above.",
        role="map",
    ),
    RunChart(
        "contacts-member",
        MEMBERS,
        _contacts,
        "When each foot touches the ground, in the colours of the legs.",
        role=None,
    ),
)
