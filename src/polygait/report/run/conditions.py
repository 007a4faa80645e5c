"""The conditions on a run's page: all members in all of them, who is chosen in each, and who says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polygait.adaptation import Adaptation
from polygait.report.names import counted
from polygait.report.run.chart import CONDITIONS
from polygait.report.run.charts_conditions import heat_cells, place_name
from polygait.report.run.contents import PageCharts
from polygait.report.run.evidence import STANDS_STILL, adaptation_source, does
from polygait.report.run.findings import Findings
from polygait.report.run.members import number
from polygait.report.web.html import Html, joined, table, tag


def conditions_section(findings: Findings, charts: PageCharts) -> Html | None:
    """All conditions at a glance, as a map and as a table, and sweeps as curves."""
    if not findings.cells:
        return None
    cells = heat_cells(findings)
    drawn, sweeps = charts.take("conditions"), charts.others(CONDITIONS)
    return joined(
        [
            drawn,
            _chosen(findings),
            tag("details", tag("summary", "The returns of all members as a table"), _numbers(cells)),
            _all_adaptations(findings),
            tag("h3", "Dynamics sweeps") if sweeps else None,
            sweeps,
        ]
    )


def _chosen(findings: Findings) -> Html | None:
    """Who is chosen in every world, and by what."""
    told = {
        (cell["where"], cell["variation"], cell["member"]): does([cell], findings.nominal.best_speed)
        for cell in findings.cells
    }
    rows = [
        [
            place_name(condition, where),
            str(choice.member),
            _with_verdict(choice.mean_return, told.get((where, variation, choice.member), "")),
            "–" if choice.adaptation is None else _held_out(choice.adaptation),
            choice.source,
        ]
        for (where, variation, condition), choice in findings.choices().items()
    ]
    caption = "Who is chosen: by the strongest adaptation; where there is none, the best of the evaluation"
    return _choice_table(rows, caption, "chosen by") if rows else None


def _choice_table(rows: Sequence[Sequence[str]], caption: str, source: str) -> Html:
    return _sourced(["condition", "member", "return", "on fresh episodes", source], rows, caption)


def _sourced(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> Html:
    """Numbers with their source in the last column; the caption stays when a phone scrolls the table."""
    numeric = [False, *(True for _ in columns[2:]), False]
    return tag(
        "div", tag("p", caption, class_="caption"), table(columns, rows, None, numeric), class_="sourced"
    )


def _held_out(adaptation: Adaptation) -> str:
    episodes = len(adaptation.held_out_returns)
    return f"{number(adaptation.held_out_return)} in {episodes}" if episodes else "–"


def _numbers(cells: Sequence[dict[str, Any]]) -> Html:
    members = sorted({cell["member"] for cell in cells})
    known = {(cell["condition"], cell["member"]): cell for cell in cells}
    sources = {cell["condition"]: cell["source"] for cell in cells}
    rows = [
        [condition, *(_number(known.get((condition, member))) for member in members), source]
        for condition, source in sources.items()
    ]
    columns = ["condition", *(f"member {member}" for member in members), "measured by"]
    return _sourced(columns, rows, "Mean returns")


def _number(cell: Mapping[str, Any] | None) -> str:
    return _with_verdict(cell["mean_return"], cell["told"]) if cell else number(None)


def _with_verdict(mean_return: float, told: str) -> str:
    """A return; one that was earned by standing still says so."""
    return f"{number(mean_return)} ({told})" if told == STANDS_STILL else number(mean_return)


def _all_adaptations(findings: Findings) -> Html | None:
    """Every adaptation that is kept, if some world was adapted to more than once."""
    worlds = {(adaptation.config.on, adaptation.variation) for adaptation in findings.adaptations}
    if len(worlds) == len(findings.adaptations):
        return None
    rows = [
        [
            place_name(adaptation.variation, adaptation.config.on or ""),
            str(adaptation.best),
            number(adaptation.selection_return),
            _held_out(adaptation),
            adaptation_source(adaptation),
        ]
        for adaptation in sorted(
            findings.adaptations, key=lambda adaptation: (adaptation.config.on or "", adaptation.variation)
        )
    ]
    shown = _choice_table(rows, "The strongest of each condition first", "adaptation")
    title = f"All {counted(len(rows), 'adaptation')} that are kept"
    return tag("details", tag("summary", title), shown)
