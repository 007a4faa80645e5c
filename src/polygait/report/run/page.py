"""A run's page: one HTML file that shows what was found."""

from __future__ import annotations

import os
from pathlib import Path

from polygait.charts import save_charts
from polygait.config import ReportConfig
from polygait.population.population import PopulationLike, run_path
from polygait.progress import Count, silent
from polygait.report.names import method_title
from polygait.report.run.chart import CONDITIONS, MEMBERS, MESH, TRAINING, Shown
from polygait.report.run.conditions import conditions_section
from polygait.report.run.contents import PageCharts, charts_for_papers
from polygait.report.run.findings import Findings, gather
from polygait.report.run.gallery import Gallery, open_gallery
from polygait.report.run.members import members_section
from polygait.report.run.mesh import mesh_section
from polygait.report.run.sections import (
    damage_section,
    making_section,
    robot_section,
    summary_section,
)
from polygait.report.web.frame import Section, page
from polygait.report.web.parts import Report, require_html, write_page
from polygait.zoo import is_zoo


def write_report(
    run: PopulationLike,
    out: str | os.PathLike[str] | None = None,
    config: ReportConfig | None = None,
    report: Count = silent,
) -> Report:
    """Write the page of a run or of a population, into its folder if no place is named."""
    config = config or ReportConfig()
    target = Path(out) if out is not None else Path(run_path(run)) / "report.html"
    require_html(target)
    findings = gather(run)
    gallery = open_gallery(findings, config, report)
    size = write_page(target, run_page(findings, gallery))
    drawn = charts_for_papers(Shown(findings, gallery)) if config.figures else {}
    figures = save_charts(drawn, Path(config.figures)) if config.figures else []
    return Report(target, size, [*findings.gaps, *gallery.gaps], gallery.renderer, figures)


def run_page(findings: Findings, gallery: Gallery) -> str:
    """The page as text."""
    charts = PageCharts(Shown(findings, gallery, on_page=True))
    bodies = {
        "Summary": summary_section(findings, gallery),
        MEMBERS: members_section(findings, gallery, charts),
        "After damage": damage_section(findings, gallery),
        CONDITIONS: conditions_section(findings, charts),
        MESH: mesh_section(findings, charts),
        TRAINING: charts.others(TRAINING),
    }
    bodies |= {topic: charts.others(topic) for topic in charts.topics_left}
    bodies |= {
        "Robot and filter": robot_section(findings, gallery),
        "How it was made": making_section(findings),
    }
    sections = [Section.titled(title, body) for title, body in bodies.items() if body is not None]
    config = findings.config
    method = method_title(config.method)
    size = f"{len(findings.entries) - config.specialists} members × {config.steps:,} steps"
    if config.specialists:
        size += f", {config.specialists} specialists × {config.specialist_steps:,}"
    if origin := findings.run.manifest.get("origin"):
        method = f"member {origin['member']} of {origin['run']}, fine-tuned in {origin['variation']}"
    subtitle = f"{config.task} · {method} · {size} · seed {config.seed}"
    name = findings.path if is_zoo(findings.path) else findings.run.path.resolve().name
    return page(name, subtitle, sections, charts.frame, {"member": findings.best})
