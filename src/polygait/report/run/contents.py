"""Every chart of a run, found in the modules `charts_….py` beside this one."""

from __future__ import annotations

import importlib
import pkgutil

import altair as alt

from polygait.report import run
from polygait.report.run.chart import RunChart, Shown
from polygait.report.web.frame import Charts
from polygait.report.web.html import Html, tag


def registered_charts() -> list[RunChart]:
    """Every chart that a module lists."""
    modules = [module.name for module in pkgutil.iter_modules(run.__path__, f"{run.__name__}.")]
    listed = (importlib.import_module(name) for name in modules if ".charts_" in name)
    return [chart for module in listed for chart in module.CHARTS]


def charts_for_papers(shown: Shown) -> dict[str, alt.TopLevelMixin]:
    """Every chart for which there is something to show, by name."""
    return {
        _name(chart, part): drawn
        for chart in registered_charts()
        for part, drawn in chart.draw(shown).items()
    }


class PageCharts:
    """The charts of a page; a section takes those it places itself, and shows the others of its topic."""

    def __init__(self, shown: Shown) -> None:
        self.frame = Charts()
        self._waiting: dict[str, tuple[str, Html]] = {}
        for chart in registered_charts():
            for part, drawn in chart.draw(shown).items():
                name = _name(chart, part)
                placed = self.frame.add(name, drawn, chart.caption_of(shown), chart.role)
                self._waiting[name] = (chart.topic, placed)

    def take(self, name: str) -> Html | None:
        """One chart, for a place of its own."""
        return self._waiting.pop(name, ("", None))[1]

    def others(self, topic: str) -> Html | None:
        """All charts of a topic that have no place of their own."""
        here = [name for name, (mine, _) in self._waiting.items() if mine == topic]
        return tag("div", *map(self.take, here), class_="grid") if here else None

    @property
    def topics_left(self) -> list[str]:
        """Topics of charts that no section took: a page gives each a section."""
        return list(dict.fromkeys(topic for topic, _ in self._waiting.values()))


def _name(chart: RunChart, part: str) -> str:
    return f"{chart.name}-{part}" if part else chart.name
