"""Charts are registered where they are drawn: neither page nor files forget one."""

import altair as alt
import pytest

from polygait.report.run import charts_training, page
from polygait.report.run.chart import RunChart
from polygait.report.run.contents import registered_charts
from polygait.report.run.page import ReportConfig, write_report

CONFIG = ReportConfig(pictures=False)


def extra(topic: str) -> RunChart:
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    return RunChart("extra", topic, lambda shown: {"": chart}, "What nobody else mentions.")


def test_names_are_unique() -> None:
    names = [chart.name for chart in registered_charts()]
    assert len(names) == len(set(names)) >= 6


@pytest.mark.parametrize("topic", ["Conditions", "Of its own"])
def test_a_chart_that_no_section_names_is_shown(run, tmp_path, monkeypatch, topic) -> None:
    monkeypatch.setattr(charts_training, "CHARTS", (*charts_training.CHARTS, extra(topic)))
    text = write_report(run, tmp_path / "page.html", CONFIG).path.read_text()
    assert 'id="plot-extra"' in text and "What nobody else mentions." in text and f"<h2>{topic}</h2>" in text


def test_a_chart_is_saved_for_papers_too(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(charts_training, "CHARTS", (extra("Training"),))
    saved = {}
    monkeypatch.setattr(page, "save_charts", lambda drawn, folder: saved.update(drawn) or [])
    write_report(run, tmp_path / "page.html", ReportConfig(pictures=False, figures=str(tmp_path / "figures")))
    assert {"extra", "population-map", "contacts-member-0"} <= set(saved)
