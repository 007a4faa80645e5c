"""The files of a study's report: tables, figures, and both on a page and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polygait.report.study.page import StudyReport
from polygait.report.study.typeset import Table
from polygait.report.web.parts import write_page
from polygait.storage.files import START_AGAIN, refuse_links, write_atomically
from polygait.study.grid import Study
from polygait.study.kept import keep_results
from polygait.study.results import Results, per_seed


class WrittenReport(NamedTuple):
    """What was made."""

    tables: Sequence[Table]
    figures: Mapping[str, Any]
    files: list[Path]


def write_report(study: Study, results: Results, folder: Path, charts: bool = True) -> WrittenReport:
    """Tables as text, Markdown, LaTeX and CSV, figures in four forms; both on a page and in Markdown.

    results.csv holds what every member of every seed reached, for statistics of one's own; data/ everything,
    so that the report can be made again from its folder alone.
    """
    for part in ("tables", "figures"):
        refuse_links(folder, part)
    report = StudyReport.of(study, results, charts)
    files = [file for table in report.tables for file in table.save(folder / "tables")]
    if report.figures:
        from polygait.charts import FORMATS, save_charts

        files += save_charts(report.figures, folder / "figures", FORMATS)
    numbers = folder / "results.csv"
    write_atomically(numbers, per_seed(results).write_csv().encode(), START_AGAIN)
    files += keep_results(study, results, folder)
    text, page = folder / "report.md", folder / "report.html"
    write_atomically(text, report.markdown().encode(), START_AGAIN)
    write_page(page, report.page())
    return WrittenReport(report.tables, report.figures, [*files, numbers, text, page])
