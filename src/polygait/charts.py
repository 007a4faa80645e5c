"""What all charts share: one look, colours that colour-blind readers can tell apart, and how to save them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygait.errors import UserError
from polygait.storage.file_names import file_name

if TYPE_CHECKING:
    import altair

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")
"""Okabe and Ito's palette, the darker ones first."""
MEMBER_COLOURS = (*COLOURS, "#882255", "#44AA99")
"""For the members of a population; ten, as the paper has."""
SHADES = ("#9EC9E2", "#6C96BA", "#3A6393", "#08306B")
"""For things with an order: one hue from light to dark."""
FORMATS = (".html", ".svg", ".png", ".pdf")
FONT = "system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif"
INK, PAPER = "#333333", "white"
_GRID = "#e4e4e4"

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": PAPER,
    "padding": 12,
    "title": {"anchor": "start", "fontSize": 15, "fontWeight": 600, "color": INK, "offset": 12},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": _GRID,
        "domainColor": "#999999",
        "tickColor": "#999999",
        "titlePadding": 8,
        "labelLimit": 240,
    },
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 240},
    "header": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": INK, "titleColor": INK},
    "view": {"stroke": "transparent", "continuousWidth": 420, "continuousHeight": 260},
    "range": {"category": list(COLOURS)},
    "line": {"strokeWidth": 2},
    "bar": {"cornerRadiusEnd": 2},
}


def themed(chart: Any) -> altair.TopLevelMixin:
    """A chart with polygait's look; nothing global is changed."""
    import altair

    dressed = chart.copy()
    dressed.config = altair.Config.from_dict(CONFIG)
    return dressed


def save_charts(
    charts: Mapping[str, Any], folder: Path, formats: Sequence[str] = (".svg", ".png")
) -> list[Path]:
    """Write charts by their names, each in every form."""
    return [
        save_chart(chart, folder / f"{file_name(name)}{ending}")
        for name, chart in charts.items()
        for ending in formats
    ]


def save_chart(chart: Any, path: str | Path, scale: float = 2.0) -> Path:
    """Write a chart as HTML that needs no network, SVG, PNG or PDF, by the ending of its name."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise UserError(
            f"Cannot write a chart as {path.suffix or 'a file without an ending'}.",
            f"End its name in one of {', '.join(FORMATS)}.",
        )
    dressed = themed(chart)
    options = {".html": {"inline": True}, ".png": {"scale_factor": scale}}.get(path.suffix, {})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        dressed.save(str(path), **options)
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}.", "Choose another folder.") from error
    return path
