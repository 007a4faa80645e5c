"""Charts: what they show, checked in their data; and that they can be drawn."""

import math
import re
from typing import NamedTuple

import numpy as np
import pytest

from polygait.charts import COLOURS, save_chart
from polygait.report.feet import FOOT_COLOURS
from polygait.report.run.charts_conditions import condition_map, sweep_chart
from polygait.report.run.charts_population import (
    contact_bars,
    contact_chart,
    member_means,
    population_map,
)
from polygait.report.run.charts_training import bonus_curves, learning_curves
from polygait.report.run.descriptors import Descriptor
from polygait.report.run.findings import curve_rows
from polygait.report.run.panels import inline, member_scale


class Pattern(NamedTuple):
    feet: tuple[str, ...]
    down: np.ndarray
    seconds_per_step: float


PATTERN = Pattern(
    feet=("right", "left"),
    down=np.array([[1, 0], [1, 0], [0, 1], [1, 1], [0, 0]], dtype=bool),
    seconds_per_step=0.5,
)
EPISODES = [
    {"member": member, "a": 0.1 * member, "b": 1.0 - member} for member in (0, 1, 2) for _ in range(2)
]
AXES = (Descriptor("a", "right foot (share of time)", ".0%"), Descriptor("b", "speed (m/s)"))
CELLS = [
    {"condition": name, "member": member, "mean_return": 100.0 * member, "falls": 0.1, "chosen": member == 1}
    for name in ("nominal", "broken-foot")
    for member in (0, 1)
]
SWEEP = [{"member": member, "scale": scale, "mean_return": 10.0} for member in (0, 1) for scale in (0.5, 1.0)]
LOG = [
    {"member": member, "steps": 10.0 * step, "return": 1.0, "bonus_ratio": 0.1 if member else float("nan")}
    for member in (0, 1)
    for step in (1, 2)
]


def values(spec, part):
    """The rows of a part of a chart, which Altair keeps by name at the top."""
    return spec["datasets"][part["data"]["name"]]


def test_members_at_one_place_are_moved_apart_on_every_map():
    rows = [{"member": member, "a": 0.5, "b": float(member == 2)} for member in (0, 1, 2) for _ in range(2)]
    means = {row["member"]: row for row in member_means(rows, AXES)}
    first, second, alone = (np.array(means[member]["shift"].get("a b", [0, 0])) for member in (0, 1, 2))
    assert np.linalg.norm(first - second) > 28 and not alone.any()
    assert set(means[0]["shift"]) == {"a a", "a b", "b a", "b b"}
    assert (means[2]["a"], means[2]["b"]) == (0.5, 1.0)


def test_moved_members_hang_on_a_line(tmp_path):
    rows = [{"member": member, "a": 0.5, "b": 0.0} for member in (0, 1)]
    svg = save_chart(population_map(rows, AXES), tmp_path / "map.svg").read_text()
    marks = r'aria-roledescription="{}"[^>]* transform="translate\(([\d.]+),([\d.]+)\)"'
    discs = {tuple(map(float, place)) for place in re.findall(marks.format("circle"), svg)}
    numbers = {float(place[0]) for place in re.findall(marks.format("text mark"), svg)}
    assert len(discs) == 3 and len(numbers) == 2  # two discs, and the episodes where both should be
    lines = re.findall(r'aria-roledescription="rule mark"[^>]* x2="(-?[\d.]+)" y2="(-?[\d.]+)"', svg)
    assert len(lines) == 2 and all(abs(float(x)) + abs(float(y)) > 10 for x, y in lines)


@pytest.mark.parametrize(
    ("values", "bounds", "domain"),
    [
        ([0.0, 2.0], (0.0, math.inf), [0.0, 2.14]),
        ([0.0, 0.0], (0.0, math.inf), [0.0, 1.0]),
        ([0.2, 1.0], (0.0, 1.0), [0.144, 1.0]),
        ([-1.0, 1.0], (-math.inf, math.inf), [-1.14, 1.14]),
        ([5.0, math.nan], (0.0, math.inf), [4.5, 5.5]),
    ],
)
def test_an_axis_shows_only_what_can_be(values, bounds, domain):
    rows = [{"member": 0, "a": value} for value in values]
    assert Descriptor("a", "strikes per second", bounds=bounds).domain(rows) == pytest.approx(domain)


@pytest.mark.parametrize("most", [0.0, 0.05, 0.3, 2.0])
def test_no_foot_strikes_less_often_than_never_and_no_tick_reads_like_another(tmp_path, most):
    rows = [{"member": member, "a": 0.5, "b": most * member} for member in (0, 1)]
    strikes = Descriptor("b", "left foot: strikes per second", ".1f", (0.0, math.inf))
    svg = save_chart(population_map(rows, [AXES[0], strikes]), tmp_path / "map.svg").read_text()
    assert "−" not in svg
    ticks = re.findall(r">(\d\.\d)<", svg)
    assert ticks and len(ticks) == len(set(ticks))


@pytest.mark.parametrize(
    ("form", "step"), [(".1f", 0.1), (",.0f", 1.0), (",.2f", 0.01), (".1~%", 0.001), (".0%", 0.01)]
)
def test_ticks_are_as_far_apart_as_their_format_shows(form, step):
    assert Descriptor("a", "anything", form).step == pytest.approx(step)


def test_bars_are_the_stretches_in_which_a_foot_stays_down():
    assert contact_bars(PATTERN) == [
        {"foot": "right", "start": 0.0, "end": 1.0},
        {"foot": "right", "start": 1.5, "end": 2.0},
        {"foot": "left", "start": 1.0, "end": 2.0},
    ]


def test_feet_have_the_colours_of_their_legs():
    spec = contact_chart(PATTERN, (0.5, 1.0)).to_dict()
    bars = spec["layer"][-1]
    assert bars["encoding"]["color"]["scale"] == {
        "domain": ["right", "left"],
        "range": list(FOOT_COLOURS[:2]),
    }
    assert bars["encoding"]["x"]["title"] == "time (s)"
    assert values(spec, spec["layer"][0]) == [{"start": 0.5, "end": 1.0}]
    assert len(contact_chart(PATTERN).to_dict()["layer"]) == 1


def test_only_the_time_around_the_pictures_is_drawn(monkeypatch):
    monkeypatch.setattr("polygait.report.run.charts_population.SHOWN_SECONDS", 1.0)
    spec = contact_chart(PATTERN, (1.0, 1.5)).to_dict()  # from 0.75 s to 1.75 s of 2.5 s
    bars = spec["layer"][-1]
    assert bars["encoding"]["x"]["scale"]["domain"] == [0.75, 1.75]
    assert [tuple(bar.values()) for bar in values(spec, bars)] == [
        ("right", 0.75, 1.0), ("right", 1.5, 1.75), ("left", 1.0, 1.75),
    ]  # fmt: skip


def test_a_log_becomes_a_row_per_member_and_stretch(monkeypatch):
    monkeypatch.setattr("polygait.report.run.findings.POINTS", 2)
    records = [
        {"members": [0, 2], "steps": 10, "return": [1.0, 5.0], "bonus": [0.0, float("nan")]},
        {"members": [0, 2], "steps": 20, "return": [3.0, 7.0], "bonus": [0.0, 4.0]},
        {"members": [0, 2], "steps": 30, "return": [8.0, 9.0]},
        {"members": [2, 3], "steps": 10, "return": [2.0], "bonus": [1.0]},
    ]
    rows = curve_rows(records, ("return", "bonus"))
    expected = [
        (0, 20.0, 2.0, 0.0),
        (0, 30.0, 8.0, np.nan),
        (1, 20.0, 6.0, 4.0),
        (1, 30.0, 9.0, np.nan),
        (2, 10.0, 2.0, 1.0),
    ]
    np.testing.assert_equal([tuple(row.values()) for row in rows], expected)


def test_a_member_has_one_colour_in_all_charts():
    bonus, learning = bonus_curves(LOG).to_dict(), learning_curves(LOG).to_dict()
    assert len(values(bonus, bonus)) == 2
    scales = [chart["layer"][0]["encoding"]["color"]["scale"] for chart in (bonus, learning)]
    assert scales[0] == scales[1] == {"domain": [0, 1], "range": list(COLOURS[:2])}
    many = member_scale([{"member": member} for member in range(12)]).to_dict()
    assert many["domain"] == list(range(12)) and many["scheme"]["name"] == "plasma"


def test_numbers_are_short_and_holes_are_null():
    values = inline([{"a": 1 / 3, "b": float("nan"), "c": 7, "d": float("inf"), "e": "x"}]).to_dict()[
        "values"
    ]
    assert values == [{"a": 0.333333, "b": None, "c": 7, "d": None, "e": "x"}]


def test_the_chosen_member_is_framed_and_the_selected_one_stands_out():
    spec = condition_map(CELLS, member=1).to_dict()
    assert {"name": "selected", "value": 1} in spec["params"]
    assert any({"filter": "datum.chosen"} in layer.get("transform", []) for layer in spec["layer"])
    axis = spec["layer"][0]["encoding"]["y"]
    assert axis["sort"] == ["nominal", "broken-foot"]
    assert {"name": "selected", "value": -1} in condition_map(CELLS).to_dict()["params"]


@pytest.mark.parametrize(
    ("name", "chart", "words"),
    [
        (
            "map",
            lambda: population_map(EPISODES, AXES, member=2),
            ["right foot (share of time)", "speed (m/s)"],
        ),
        ("contacts", lambda: contact_chart(PATTERN, (0.5, 1.0)), ["time (s)", "right", "left"]),
        ("learning", lambda: learning_curves(LOG), ["environment steps of the member", "return in training"]),
        ("bonus", lambda: bonus_curves(LOG), ["diversity bonus ÷ task reward"]),
        ("conditions", lambda: condition_map(CELLS), ["broken-foot", "mean return", "member"]),
        ("sweep", lambda: sweep_chart(SWEEP, "foot-mass"), ["foot-mass (× nominal)", "mean return"]),
    ],
)
def test_every_chart_is_drawn_for_paper_with_its_axes_named(tmp_path, name, chart, words):
    svg = save_chart(chart(), tmp_path / f"{name}.svg").read_text()
    shown = re.sub(r"<[^>]+>", "|", svg)
    for word in words:
        assert word in shown, word
