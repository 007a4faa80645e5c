"""What learn.py measures and makes of it: learning curves on disk, statistics over seeds, table, chart."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from polygait.population.results import file_name
from polygait.storage.files import write_atomically
from polygait.study.statistics import Estimate, bootstrap, pooled_interquartile_mean

MARKS = (250_000, 500_000, 1_000_000, 2_000_000)
"""Steps at which learners are compared."""
GOALS = {"hopper": 2500.0, "walker": 3000.0, "ant": 2000.0}
"""Mean-action returns whose minutes are counted."""


class Point(NamedTuple):
    """How able a learner was after so many steps, with mean actions."""

    steps: int
    seconds: float
    """Of learning alone, the clock stopped while the learner was tested."""
    mean_return: float
    falls: float
    """The share of test episodes that ended before their time."""
    progress: float = 0.0
    """Metres in an episode, where they were counted."""


class Key(NamedTuple):
    """One learner: who learned what for how long, as which member of which seed."""

    learner: str
    task: str
    steps: int
    seed: int
    member: int


Curve = list[Point]


class Curves:
    """One file per learner in a folder; what is there is not measured again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, key: Key, settings: Sequence[str], curve: Curve) -> None:
        """Keep a finished curve beside the settings it was made with."""
        record = {**key._asdict(), "settings": list(settings), "curve": curve}
        write_atomically(self._path(key), json.dumps(record).encode())

    def load(self, key: Key, settings: Sequence[str]) -> Curve | None:
        """A kept curve, or None; one that was made with other settings under the same name is refused."""
        path = self._path(key)
        if not path.exists():
            return None
        record = json.loads(path.read_bytes())
        if record["settings"] != list(settings):
            raise SystemExit(
                f"{path} was made with {record['settings']}, now asked for {list(settings)}: "
                "give the settings another name or choose another --out."
            )
        return [Point(*point) for point in record["curve"]]

    def _path(self, key: Key) -> Path:
        return self._folder / f"{file_name('-'.join(map(str, key)))}.json"


class Summary(NamedTuple):
    """All seeds of one learner after so many steps."""

    returns: np.ndarray
    falls: float
    middle: Estimate
    """The interquartile mean and its bootstrap interval."""

    @classmethod
    def at(cls, curves: Sequence[Curve], steps: int) -> "Summary":
        """At the first test that comes no sooner, or at the last."""
        found = [next((point for point in curve if point.steps >= steps), curve[-1]) for curve in curves]
        returns = np.array([point.mean_return for point in found])
        falls = float(np.mean([point.falls for point in found]))
        return cls(returns, falls, bootstrap([returns], pooled_interquartile_mean))


def minutes_to(curves: Sequence[Curve], goal: float) -> list[float]:
    """When each seed first reached a return, in minutes; infinite where it did not."""
    seconds = [next((one.seconds for one in curve if one.mean_return >= goal), math.inf) for curve in curves]
    return [one / 60 for one in seconds]


def gain(ours: Sequence[Curve], theirs: Sequence[Curve], steps: int) -> Estimate:
    """The mean difference of returns, seed by seed, and its bootstrap interval."""
    difference = Summary.at(ours, steps).returns - Summary.at(theirs, steps).returns
    return bootstrap([difference], lambda strata: strata[0].mean(axis=-1))


def print_table(task: str, learners: Mapping[str, Sequence[Curve]]) -> None:
    """One row per learner and mark; gains are against the first learner."""
    goal = GOALS[task]
    print(
        f"\n| {task} | steps | mean | worst | interquartile mean | falls | gain on the first | minutes to "
        f"{goal:,.0f}, median (reached) |\n|---|---|---|---|---|---|---|---|"
    )
    first = next(iter(learners.values()))
    for name, curves in learners.items():
        minutes = minutes_to(curves, goal)
        reached = sum(map(math.isfinite, minutes))
        told = f"{_median_minutes(curves, minutes)} ({reached} of {len(minutes)})"
        last = min(curve[-1].steps for curve in curves)
        for steps in (*(mark for mark in MARKS if mark < last), last):
            found = Summary.at(curves, steps)
            difference = None if curves is first or len(curves) != len(first) else gain(curves, first, steps)
            mean, worst = found.returns.mean(), found.returns.min()
            print(
                f"| {name} | {steps / 1000:,.0f}k | {mean:,.0f} | {worst:,.0f} | "
                f"{_interval(found.middle)} | {found.falls:.0%} | {_interval(difference)} | {told} |",
                flush=True,
            )


def _median_minutes(curves: Sequence[Curve], minutes: Sequence[float]) -> str:
    """Of those who reached the goal when half of all did; otherwise longer than half of them tried."""
    median = float(np.median(minutes))
    if math.isfinite(median):
        return f"{median:.1f}"
    return f"> {np.median([curve[-1].seconds for curve in curves]) / 60:.1f}"


def _interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    return f"{estimate.value:,.0f} ({estimate.low:,.0f} … {estimate.high:,.0f})"


def chart(results: Mapping[str, Mapping[str, Sequence[Curve]]]) -> Any:
    """Interquartile mean over seeds against steps, with its interval; a panel per task."""
    rows = [
        row
        for task, learners in results.items()
        for name, curves in learners.items()
        for row in _rows(task, name, curves)
    ]
    names = list(dict.fromkeys(row["learner"] for row in rows))
    steps = alt.X("steps:Q", title="environment steps", axis=alt.Axis(format="~s", tickCount=5))
    colour = alt.Color("learner:N", title=None, sort=names)
    base = alt.Chart(width=300, height=240).encode(x=steps, color=colour)
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title="return, mean actions"), y2="high:Q")
    layers = alt.layer(band, base.mark_line().encode(y="middle:Q"), data=alt.Data(values=rows))
    return layers.facet(column=alt.Column("task:N", title=None, sort=list(results))).resolve_scale(
        y="independent"
    )


def _rows(task: str, learner: str, curves: Sequence[Curve]) -> list[dict[str, Any]]:
    rows = []
    for points in zip(*curves, strict=False):
        returns = np.array([point.mean_return for point in points])
        middle = bootstrap([returns], pooled_interquartile_mean, resamples=1000)
        low, high = (middle.value if math.isnan(one) else one for one in (middle.low, middle.high))
        rows.append(
            {
                "task": task,
                "learner": learner,
                "steps": points[0].steps,
                "middle": float(middle.value),
                "low": float(low),
                "high": float(high),
            }
        )
    return rows
