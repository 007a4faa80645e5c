"""The frame of every page: one HTML file that needs no network, light and dark, for desk and phone.

A run's page and a study's page differ only in their sections.
"""

from __future__ import annotations

import functools
import importlib.resources
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from polygait.charts import CONFIG
from polygait.report.web.html import Html, joined, script_data, tag

_POLICY = (
    "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'"
)
"""The browser itself forbids every request; charts are small programs that Vega compiles."""


_TOGETHER = ("concat", "hconcat", "vconcat")
"""Charts of several panels keep their size and scroll sideways where they do not fit."""


class Section(NamedTuple):
    """One part of a page."""

    anchor: str
    title: str
    body: Html

    @classmethod
    def titled(cls, title: str, body: Html) -> Section:
        """With an anchor made of its title."""
        return cls(title.lower().replace(" ", "-"), title, body)


class Charts:
    """The charts of a page, drawn by the browser; one of a single panel is as wide as there is room."""

    def __init__(self) -> None:
        self._specs: dict[str, dict[str, Any]] = {}

    def add(self, name: str, chart: Any, caption: str | Html = "", role: str | None = None) -> Html:
        """Keep a chart for the browser; the place where it will stand."""
        spec = _without_nan(chart.to_dict())
        for foreign in ("config", "$schema"):
            spec.pop(foreign, None)
        together = any(kind in spec for kind in _TOGETHER)
        self._specs[name] = (
            spec if together else spec | {"autosize": {"type": "fit-x", "contains": "padding"}}
        )
        plot = tag("div", class_="plot", id=f"plot-{name}", data_chart=name, data_role=role)
        if together:
            plot = tag("div", plot, class_="wide", tabindex=0, role="region", aria_label=name)
        return tag("figure", plot, tag("figcaption", caption) if caption else None, class_="chart")

    @property
    def specs(self) -> dict[str, dict[str, Any]]:
        """Every chart in Vega-Lite's terms, by its name."""
        return self._specs


def page(title: str, subtitle: str, sections: Sequence[Section], charts: Charts, data: Any = None) -> str:
    """A whole page; `data` is what its program may need beside the charts."""
    header = tag(
        "header",
        tag("div", tag("h1", title), tag("p", subtitle, class_="subtitle")),
        tag("button", "◐ theme", type="button", id="theme", aria_label="change between light and dark"),
    )
    links = tag(
        "nav",
        *(tag("a", section.title, href=f"#{section.anchor}") for section in sections),
        aria_label="sections of this page",
    )
    body = [tag("section", tag("h2", section.title), section.body, id=section.anchor) for section in sections]
    noscript = tag(
        "noscript",
        tag("p", "Charts need JavaScript, which is switched off; pictures and tables do not.", class_="note"),
        tag("style", Html("[role=tabpanel][hidden]{display:block}")),
    )
    programs = [_vega(), _text("page.js")] if charts.specs or data is not None else [_text("page.js")]
    return "".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            '<meta name="color-scheme" content="light dark">',
            tag("title", title),
            tag("style", Html(_text("page.css"))),
            "</head><body>",
            header,
            links,
            tag("main", noscript, *body),
            tag("footer", "Made by polygait. This file is complete: it loads nothing from elsewhere."),
            script_data("charts", charts.specs),
            script_data("config", CONFIG),
            script_data("data", data),
            joined(tag("script", Html(program)) for program in programs),
            "</body></html>",
        ]
    )


def _without_nan(value: Any) -> Any:
    """A chart may lack numbers, such as the interval of a single seed; JSON has null for them."""
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(name: str) -> str:
    return importlib.resources.files("polygait.report.web").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed in one piece, from the package that also draws charts for papers."""
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
