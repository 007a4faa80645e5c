"""A study's report: every table and figure for which there is a number, ours beside the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from polygait.report.study.contents import caption, study_figures, study_sources
from polygait.report.study.page import study_page, told_versions
from polygait.report.study.tables import all_tables
from polygait.report.study.typeset import Table
from polygait.report.web.parts import write_page
from polygait.storage.file_names import file_name
from polygait.storage.files import START_AGAIN, refuse_links, write_atomically
from polygait.study.grid import Study
from polygait.study.results import Results


class Report(NamedTuple):
    """What was made."""

    tables: list[Table]
    figures: dict[str, Any]
    files: list[Path]


def write_report(study: Study, results: Results, folder: Path, charts: bool = True) -> Report:
    """Tables as text, Markdown, LaTeX and CSV, figures in four forms; both on a page and in Markdown."""
    for part in ("tables", "figures"):
        refuse_links(folder, part)
    sources = study_sources(results)
    tables = all_tables(sources)
    files = [file for table in tables for file in table.save(folder / "tables")]
    figures = study_figures(results, sources) if charts else {}
    if figures:
        from polygait.charts import FORMATS, save_charts

        files += save_charts(figures, folder / "figures", FORMATS)
    text, page = folder / "report.md", folder / "report.html"
    write_atomically(text, _markdown(study, results, tables, list(figures)).encode(), START_AGAIN)
    write_page(page, study_page(study, results, tables, figures))
    return Report(tables, figures, [*files, text, page])


def _markdown(study: Study, results: Results, tables: list[Table], figures: list[str]) -> str:
    members = ", ".join(f"{name} = {value}" for name, value in study.training.items() if name != "settings")
    parts = [
        f"# {study.name}",
        f"{results.done} of {results.jobs} jobs: {', '.join(study.methods)} on {', '.join(study.tasks)}, "
        f"seeds {', '.join(map(str, study.seeds))}; {members}.",
        f"Versions: {told_versions(results)}.",
        *(table.to_markdown() for table in tables),
        *(
            f"![{name}](figures/{file_name(name)}.svg)\n\n{caption(name, study.tasks)}".strip()
            for name in figures
        ),
    ]
    return "\n\n".join(parts) + "\n"
