"""The conditions on a run's page: all members in all of them, who is chosen in each, and who says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polygait.adaptation import Adaptation
from polygait.report.names import counted
from polygait.report.run.charts_conditions import condition_map, sweep_chart
from polygait.report.run.evidence import STANDS_STILL, adaptation_source, does
from polygait.report.run.findings import Findings
from polygait.report.run.members import number
from polygait.report.web.frame import Charts
from polygait.report.web.html import Html, joined, table, tag


def conditions_section(findings: Findings, charts: Charts) -> Html | None:
    """All conditions at a glance, as a map and as a table, and sweeps as curves."""
    if not findings.cells:
        return None
    cells = heat_cells(findings)
    sources = list(dict.fromkeys(cell["source"] for cell in cells))
    caption = (
        f"Mean return: {sources[0]}. " if len(sources) == 1 else "Mean return; sources in the table below. "
    )
    caption += "Framed: the member that is chosen; of a sweep, the best over all its scales."
    drawn = charts.add("conditions", condition_map(cells, findings.best, "container"), caption, role="choose")
    sweeps = [
        charts.add(f"sweep-{place}", sweep_chart(rows, condition, findings.best, "container"), role="choose")
        for place, (condition, rows) in enumerate(sweep_rows(findings).items())
    ]
    return joined(
        [
            drawn,
            _chosen(findings),
            tag("details", tag("summary", "The returns of all members as a table"), _numbers(cells)),
            _all_adaptations(findings),
            tag("h3", "Dynamics sweeps") if sweeps else None,
            tag("div", *sweeps, class_="grid") if sweeps else None,
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
    worlds = {(one.config.on, one.variation) for one in findings.adaptations}
    if len(worlds) == len(findings.adaptations):
        return None
    rows = [
        [
            place_name(one.variation, one.config.on or ""),
            str(one.best),
            number(one.selection_return),
            _held_out(one),
            adaptation_source(one),
        ]
        for one in sorted(findings.adaptations, key=lambda one: (one.config.on or "", one.variation))
    ]
    shown = _choice_table(rows, "The strongest of each condition first", "adaptation")
    title = f"All {counted(len(rows), 'adaptation')} that are kept"
    return tag("details", tag("summary", title), shown)


def heat_cells(findings: Findings) -> list[dict[str, Any]]:
    """A cell per condition and member; a sweep is one condition, with the mean over its scales."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in findings.cells:
        groups.setdefault((_label(cell), cell["member"]), []).append(cell)
    means = {key: sum(cell["mean_return"] for cell in group) / len(group) for key, group in groups.items()}
    chosen: dict[str, int] = {}
    for (label, _), (cell, *_) in groups.items():
        choice = None if cell["scale"] is not None else findings.choice(cell["where"], cell["variation"])
        here = [member for name, member in means if name == label]
        chosen[label] = choice.member if choice else max(here, key=lambda member: means[label, member])
    return [
        {
            "condition": label,
            "member": member,
            "mean_return": means[label, member],
            "falls": sum(cell["falls"] for cell in group) / len(group),
            "told": does(group, findings.nominal.best_speed),
            "chosen": member == chosen[label],
            "source": group[0]["source"],
        }
        for (label, member), group in groups.items()
    ]


def sweep_rows(findings: Findings) -> dict[str, list[dict[str, Any]]]:
    """The rows of every sweep, by its name."""
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for cell in findings.cells:
        if cell["scale"] is not None:
            row = {"member": cell["member"], "scale": cell["scale"], "mean_return": cell["mean_return"]}
            sweeps.setdefault(place_name(cell["condition"], cell["where"]), []).append(row)
    return sweeps


def place_name(condition: str, where: str) -> str:
    """A condition, and the task if it is not the population's own."""
    return f"{condition} on {where}" if where else condition


def _label(cell: dict[str, Any]) -> str:
    name = place_name(cell["condition"], cell["where"])
    return f"{name} (sweep)" if cell["scale"] is not None else name
