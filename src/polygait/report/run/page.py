"""A run's page: one HTML file that shows what was found."""

from __future__ import annotations

import os
from pathlib import Path

from polygait.charts import save_charts
from polygait.config import ReportConfig
from polygait.progress import Count, silent
from polygait.report.names import method_title
from polygait.report.run.charts_conditions import condition_map, sweep_chart
from polygait.report.run.charts_mesh import growth_chart, mesh_map
from polygait.report.run.charts_population import contact_chart, population_map
from polygait.report.run.charts_training import bonus_curves, learning_curves
from polygait.report.run.conditions import conditions_section, heat_cells, sweep_rows
from polygait.report.run.findings import Findings, gather
from polygait.report.run.gallery import Gallery, open_gallery
from polygait.report.run.members import described_axes, members_section
from polygait.report.run.mesh import growth, mesh_cells, mesh_section, mesh_worlds
from polygait.report.run.sections import (
    damage_section,
    making_section,
    robot_section,
    summary_section,
    training_section,
)
from polygait.report.web.frame import Charts, Section, page
from polygait.report.web.parts import Report, require_html, write_page


def write_report(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    config: ReportConfig | None = None,
    report: Count = silent,
) -> Report:
    """Write a run's page, into its folder if no place is named."""
    config = config or ReportConfig()
    target = Path(out) if out is not None else Path(run) / "report.html"
    require_html(target)
    findings = gather(run)
    gallery = open_gallery(findings, config, report)
    size = write_page(target, run_page(findings, gallery))
    figures = save_figures(findings, gallery, Path(config.figures)) if config.figures else []
    return Report(target, size, [*findings.gaps, *gallery.gaps], gallery.renderer, figures)


def run_page(findings: Findings, gallery: Gallery) -> str:
    """The page as text."""
    charts = Charts()
    offered = [
        ("summary", "Summary", summary_section(findings, gallery)),
        ("members", "Members", members_section(findings, gallery, charts)),
        ("damage", "After damage", damage_section(findings, gallery)),
        ("conditions", "Conditions", conditions_section(findings, charts)),
        ("mesh", "Everything that may break", mesh_section(findings.mesh, findings.best, charts)),
        ("training", "Training", training_section(findings, charts)),
        ("robot", "Robot and filter", robot_section(findings, gallery)),
        ("making", "How it was made", making_section(findings)),
    ]
    sections = [Section(anchor, title, body) for anchor, title, body in offered if body is not None]
    config = findings.config
    method = method_title(config.method)
    size = f"{len(findings.entries)} members × {config.steps:,} steps"
    subtitle = f"{config.task} · {method} · {size} · seed {config.seed}"
    name = findings.run.path.resolve().name
    return page(name, subtitle, sections, charts, {"member": findings.best})


def save_figures(findings: Findings, gallery: Gallery, folder: Path) -> list[Path]:
    """Every chart of the page as SVG and PNG, for a paper."""
    drawn = {}
    offered, rows = described_axes(findings, gallery)
    if len(offered) > 1:
        drawn["population-map"] = population_map(rows, offered)
    for member, recordings in gallery.episodes.items():
        if recordings[0].feet:
            drawn[f"contacts-member-{member}"] = contact_chart(recordings[0])
    if findings.cells:
        drawn["conditions"] = condition_map(heat_cells(findings))
        drawn |= {
            f"sweep-{name.replace(' ', '-')}": sweep_chart(rows, name)
            for name, rows in sweep_rows(findings).items()
        }
    if findings.mesh is not None:
        cells, worlds = mesh_cells(findings.mesh), mesh_worlds(findings.mesh)
        drawn["mesh"] = mesh_map(cells, worlds)
        drawn |= {
            name: growth_chart(rows, title, form)
            for name, (rows, title, form) in growth(findings.mesh).items()
        }
    if findings.log:
        drawn["learning-curves"] = learning_curves(findings.log)
        if any(row["bonus_ratio"] == row["bonus_ratio"] for row in findings.log):
            drawn["bonus"] = bonus_curves(findings.log)
    return save_charts(drawn, folder)
