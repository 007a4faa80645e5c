"""Figures of studies: what is drawn is what was measured."""

import altair as alt
import polars as pl
import pytest
from tests.report.study.made_up import made_up

from polygait.charts import save_chart, save_charts, themed
from polygait.errors import UserError
from polygait.report.study import figures, figures_gait
from polygait.report.study.contents import study_sources
from polygait.report.study.sources import Source, no_diversity, published


@pytest.fixture(scope="module")
def source():
    theirs = published()
    return theirs._replace(returns=theirs.returns.filter(pl.col("task").is_in(["hopper", "walker"])))


def rows_of(chart):
    """All data of a chart's panels, in their order."""
    drawn = themed(chart).to_dict()
    return [one for data in drawn["datasets"].values() for one in data]


def test_percentiles_are_drawn_from_worst_to_best(source):
    rows = [row for row in rows_of(figures.percentile_figure([source])) if row["panel"] == "walker"]
    dir_ = {row["x"]: row for row in rows if row["method"] == "DiR"}
    assert dir_[0]["y"] == pytest.approx(1079, abs=1) and dir_[100]["y"] == pytest.approx(3501, abs=1)
    assert all(row["low"] <= row["y"] <= row["high"] for row in rows)
    assert {row["method"] for row in rows} == {"Multi", "DvD", "SMERL", "DiR"}


def test_sweeps_are_drawn_over_all_scales(source):
    rows = [
        row for row in rows_of(figures.sweep_figure([source])) if row.get("panel") == "walker foot-friction"
    ]
    dir_ = {row["x"]: row["y"] for row in rows if row["method"] == "DiR"}
    best = source.returns.filter(task="walker", condition="foot-friction", method="dir", scale=1.5)
    assert len(dir_) == 20
    assert dir_[1.5] == pytest.approx(
        best.group_by("seed").agg(pl.col("mean_return").max())["mean_return"].mean()
    )


def test_improvements_and_profiles(source):
    rows = [row for row in rows_of(figures.improvement_figure([source])) if "condition" in row]
    multi = {row["condition"]: row["value"] for row in rows if row["method"] == "Multi"}
    assert multi["Walker - broken foot"] == pytest.approx(0.797, abs=0.001) and len(multi) == 4
    rows = [row for row in rows_of(figures.profile_figure([source])) if "method" in row]
    assert {row["y"] for row in rows if row["x"] == 0.0 and row["method"] == "Multi"} == {1.0}


def test_contacts_have_a_point_per_episode_and_a_colour_per_member():
    rows = rows_of(figures_gait.contact_figure(made_up(), "walker"))
    assert [(row["member"], row["first"], row["second"]) for row in rows] == [
        (0, 0.0, 0.05), (0, 0.0, 0.05), (1, 0.1, pytest.approx(0.15)), (1, 0.1, pytest.approx(0.15)),
    ]  # fmt: skip
    four = figures_gait.contact_figure(made_up(feet=("a", "b", "c", "d")), "walker")
    assert four is not None and len(four.vconcat) == 2  # two pairs of neighbours
    assert figures_gait.contact_figure(made_up(feet=("only",)), "walker") is None


def test_open_ended_figure_shows_returns_and_feet():
    rows = rows_of(figures_gait.open_ended_figure(made_up(), "walker"))
    placed = [(row["member"], row["total"]) for row in rows if "total" in row]
    assert placed == [(0, 64e-6), (0, 128e-6), (1, 192e-6), (1, 256e-6)]
    strips = [(row["member"], row["foot"], row["start"], row["end"]) for row in rows if "foot" in row]
    assert strips == [(0, "right foot", 0.5, 1.5), (0, "left foot", 0.0, 0.5), (1, "left foot", 0.0, 2.0)]
    assert figures_gait.open_ended_figure(made_up("multi"), "walker") is None


def test_nothing_measured_nothing_drawn():
    empty = published()
    empty = Source("none", empty.returns.clear(), no_diversity())
    for draw in (
        figures.percentile_figure,
        figures.sweep_figure,
        figures.improvement_figure,
        figures.profile_figure,
    ):
        assert draw([empty]) is None


def test_ours_stands_beside_fresh_and_published():
    labels = [source.label for source in study_sources(made_up())]
    assert labels == ["ours, 1 seed, 2 members", "ours, fresh episodes", "published"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".html", ".svg", ".png", ".pdf"])
def test_figures_are_written_in_every_form(ending, source, tmp_path):
    drawn = {
        "sweeps": figures.sweep_figure([source]),
        "feet": figures_gait.open_ended_figure(made_up(), "walker"),
    }
    for name, chart in drawn.items():
        path = save_chart(chart, tmp_path / f"{name}{ending}")
        start = path.read_bytes()[:200]
        assert path.stat().st_size > 3000
        assert {".html": b"<!DOCTYPE", ".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}[ending] in start


def test_a_file_where_a_folder_should_be_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    with pytest.raises(UserError, match="Cannot write"):
        save_chart(chart, tmp_path / "file" / "chart.svg")


def test_no_name_leads_out_of_the_folder_of_figures(tmp_path):
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    folder = tmp_path / "a" / "figures"
    saved = save_charts({"contacts-/../../../x": chart}, folder, (".svg",))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == saved == [*folder.iterdir()]
