"""A run's page: one HTML file that shows what was found."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polygait.charts import save_chart
from polygait.errors import UserError
from polygait.population.files import write_atomically
from polygait.progress import Count, silent
from polygait.report.charts_conditions import condition_map, sweep_chart
from polygait.report.charts_population import contact_chart, population_map
from polygait.report.charts_training import bonus_curves, learning_curves
from polygait.report.findings import Findings, Gap, gather
from polygait.report.frame import Charts, Section, page
from polygait.report.gallery import Gallery, Wishes, open_gallery
from polygait.report.members import described_axes, members_section
from polygait.report.sections import (
    conditions_section,
    damage_section,
    heat_cells,
    making_section,
    robot_section,
    summary_section,
    sweep_rows,
    training_section,
)

METHODS = {"dir": "DiR", "multi": "Multi", "pg": "PG", "smerl": "SMERL", "dvd": "DvD"}


class Report(NamedTuple):
    """A page that was written."""

    path: Path
    size: int
    gaps: list[Gap]
    renderer: str | None
    """Who drew its pictures."""
    figures: list[Path]


@dataclass(frozen=True)
class ReportConfig(Wishes):
    """What a report should hold, and where its charts go beside the page."""

    figures: str | None = None
    """A folder for every chart as SVG and PNG."""


def write_report(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    config: ReportConfig | None = None,
    report: Count = silent,
) -> Report:
    """Write a run's page, into its folder if no place is named."""
    config = config or ReportConfig()
    target = Path(out) if out is not None else Path(run) / "report.html"
    if target.suffix != ".html":
        raise UserError(f"A report is a page: {target.name!r} cannot hold it.", "End its name in .html.")
    if Path(run).suffix == ".toml":
        raise UserError(f"{run} is a study, not a run.", f"Its page is made by: polygait study report {run}")
    findings = gather(run)
    gallery = open_gallery(findings, config, report)
    text = run_page(findings, gallery).encode()
    write_atomically(target, text, "write the report again")
    figures = save_figures(findings, gallery, Path(config.figures)) if config.figures else []
    return Report(target, len(text), [*findings.gaps, *gallery.gaps], gallery.renderer, figures)


def run_page(findings: Findings, gallery: Gallery) -> str:
    """The page as text."""
    charts = Charts()
    offered = [
        ("summary", "Summary", summary_section(findings, gallery)),
        ("members", "Members", members_section(findings, gallery, charts)),
        ("damage", "After damage", damage_section(findings, gallery)),
        ("conditions", "Conditions", conditions_section(findings, charts)),
        ("training", "Training", training_section(findings, charts)),
        ("robot", "Robot and filter", robot_section(findings, gallery)),
        ("making", "How it was made", making_section(findings)),
    ]
    sections = [Section(anchor, title, body) for anchor, title, body in offered if body is not None]
    config = findings.config
    method = METHODS.get(config.method, config.method)
    size = f"{len(findings.entries)} members × {config.steps:,} steps"
    subtitle = f"{config.task} · {method} · {size} · seed {config.seed}"
    name = findings.run.path.resolve().name
    return page(name, subtitle, sections, charts, {"member": findings.best})


def save_figures(findings: Findings, gallery: Gallery, folder: Path) -> list[Path]:
    """Every chart of the page as SVG and PNG, for a paper."""
    drawn = {}
    offered, rows = described_axes(findings, gallery)
    if len(offered) > 1:
        drawn["population-map"] = population_map(rows, offered[0], offered[1])
    for member, recordings in gallery.episodes.items():
        if recordings[0].feet:
            drawn[f"contacts-member-{member}"] = contact_chart(recordings[0])
    if findings.cells:
        drawn["conditions"] = condition_map(heat_cells(findings))
        drawn |= {
            f"sweep-{name.replace(' ', '-')}": sweep_chart(rows, name)
            for name, rows in sweep_rows(findings).items()
        }
    if findings.log:
        drawn["learning-curves"] = learning_curves(findings.log)
        if any(row["bonus_ratio"] == row["bonus_ratio"] for row in findings.log):
            drawn["bonus"] = bonus_curves(findings.log)
    return [
        save_chart(chart, folder / f"{name}{suffix}")
        for name, chart in drawn.items()
        for suffix in (".svg", ".png")
    ]
