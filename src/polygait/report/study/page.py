"""A study's page: its tables and figures in the frame of every page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polygait.charts import save_charts
from polygait.errors import UserError
from polygait.report.names import method_title
from polygait.report.study.contents import caption, figure_named, study_figures, study_sources
from polygait.report.study.overview import overview_table
from polygait.report.study.tables import all_tables
from polygait.report.study.topics import ordered_topics
from polygait.report.study.trained import told_effort, trained_table
from polygait.report.study.typeset import Cell, Table
from polygait.report.study.variance import variance_table
from polygait.report.web.frame import Charts, Section, page
from polygait.report.web.html import Html, joined, table, tag
from polygait.report.web.parts import Gap, Report, flat, gap_list, require_html, tiles, write_page
from polygait.storage.file_names import file_name
from polygait.study.grid import Measures, Study
from polygait.study.kept import is_kept, read_kept
from polygait.study.results import Results, read_results
from polygait.study.study_paths import locate, report_folder

_LONG_TABLE = 16
"""Rows; a longer one is folded."""


class StudyReport(NamedTuple):
    """What every report of a study holds, in whatever form it is written."""

    study: Study
    results: Results
    tables: Sequence[Table]
    figures: Mapping[str, Any]

    @classmethod
    def of(cls, study: Study, results: Results, charts: bool = True) -> StudyReport:
        """Every table, and every figure if charts are wanted, for which there is a number."""
        sources = study_sources(results)
        whole = [
            overview_table(results),
            *all_tables(sources),
            variance_table(results.variance),
            trained_table(results),
        ]
        tables = [table for table in whole if table.rows]
        return cls(study, results, tables, study_figures(results, sources) if charts else {})

    def page(self) -> str:
        """All of it as a page."""
        return study_page(*self)

    def markdown(self) -> str:
        """All of it as text, its figures in files beside it."""
        study, results = self.study, self.results
        asked = ", ".join(f"{name} = {value}" for name, value in study.training.items() if name != "settings")
        effort = told_effort(results)
        parts = [
            f"# {study.name}",
            f"{results.done} of {results.jobs} jobs: {', '.join(study.methods)} on {', '.join(study.tasks)}, "
            f"seeds {', '.join(map(str, study.seeds))}; {asked}.",
            *([f"Cost: {effort}."] if effort else []),
            f"Versions: {told_versions(results)}.",
            *(table.to_markdown() for table in self.tables),
            *(
                f"![{name}](figures/{file_name(name)}.svg)\n\n{caption(name, study.tasks)}".strip()
                for name in self.figures
            ),
        ]
        return "\n\n".join(parts) + "\n"


def write_study_page(
    path: str | Path, out: str | Path | None = None, figures: str | Path | None = None
) -> Report:
    """Write the page of a study: by its file, its folder or that of its report, where it goes by default."""
    if is_kept(path):
        study, results = read_kept(path)
        target = Path(out) if out is not None else Path(path) / "report.html"
        require_html(target)
    else:
        study, jobs, folder, damaged = locate(path)
        target = Path(out) if out is not None else report_folder(folder) / "report.html"
        require_html(target)
        results = read_results(jobs, folder, damaged)
        if results.done == 0:
            raise UserError(f"No job of {path} is done in {folder}.", "First: polygait study run STUDY.toml")
    report = StudyReport.of(study, results)
    size = write_page(target, report.page())
    saved = save_charts(report.figures, Path(figures)) if figures is not None else []
    return Report(target, size, study_gaps(study, results, report.figures), None, saved)


def study_page(study: Study, results: Results, tables: Sequence[Table], figures: Mapping[str, Any]) -> str:
    """The page as text."""
    charts = Charts()
    sections = [Section("summary", "Summary", _summary(study, results, study_gaps(study, results, figures)))]
    shown = [(shown_table.topic, _table(shown_table)) for shown_table in tables]
    shown += [
        (figure_named(name).topic, charts.add(name, chart, caption(name, study.tasks)))
        for name, chart in figures.items()
    ]
    for title in ordered_topics(topic for topic, _ in shown):
        parts = [part for topic, part in shown if topic == title]
        sections.append(Section.titled(title, joined(parts)))
    sections.append(Section("making", "How it was made", _making(study, results)))
    told = f"{_titles(study)} on {', '.join(study.tasks)}"
    return page(study.name, f"Study · {told}", sections, charts)


def study_gaps(study: Study, results: Results, figures: Mapping[str, Any]) -> list[Gap]:
    """What the page of a study cannot show."""
    gaps = []
    if missing := results.jobs - results.done - len(results.damaged):
        words = f"{missing} of {results.jobs} populations are not there"
        gaps.append(
            Gap(words, "their jobs are not done", f"polygait study run {study.file}, with the --out it has")
        )
    gaps += [
        Gap("A population cannot be shown", problem, "The others are not affected.")
        for problem in results.damaged
    ]
    if not figures:
        gaps.append(Gap("There are no figures", "they were not asked for", "Leave out --no-charts."))
    return gaps


def _titles(study: Study) -> str:
    """Of its methods; those of variants have commas of their own."""
    return " · ".join(map(method_title, study.methods))


def _summary(study: Study, results: Results, gaps: Sequence[Gap]) -> Html:
    members = study.training.get("members")
    steps = study.training.get("steps")
    numbers = [
        (
            "populations",
            f"{results.done} of {results.jobs}",
            f"{len(study.seeds)} seed{'s' if len(study.seeds) > 1 else ''}",
        ),
        ("methods", str(len(study.methods)), _titles(study)),
        ("robots", str(len(study.tasks)), ", ".join(study.tasks)),
    ]
    if members is not None:
        told = f"{steps:,} steps each" if steps is not None else "in each population"
        numbers.append(("members", str(members), told))
    note = "Published numbers (8 seeds, 10 members of 2M steps) stand beside ours where there are any."
    return joined([tiles(numbers), tag("p", note), gap_list(gaps)])


def _table(one: Table) -> Html:
    rows = [[_cell(cell) for cell in row] for row in one.rows]
    numeric = [any(cell.number for cell in column) for column in zip(*one.rows, strict=True)]
    shown = table(one.columns, rows, one.title, numeric)
    body = [shown, tag("p", one.note, class_="caption") if one.note else None]
    if len(rows) <= _LONG_TABLE:
        return tag("div", *body, class_="block")
    return tag("details", tag("summary", f"{one.title} ({len(rows)} rows)"), *body, class_="block")


def _cell(cell: Cell) -> str:
    return tag("b", cell.text, class_="best") if cell.best and cell.text else cell.text


def _making(study: Study, results: Results) -> Html:
    measures = _measured(study.measures)
    own = {
        "task": {
            name: {
                **study.task_training.get(name, {}),
                "method": study.task_method_training.get(name, {}),
                "measure": {
                    key: value
                    for key, value in _measured(study.measures_of(name)).items()
                    if value != measures[key]
                },
            }
            for name in study.tasks
        },
        "method": study.method_training,
    }
    asked = {"methods": study.methods, "tasks": study.tasks, "seeds": study.seeds, **study.training, **own}
    settings = table(["setting", "value"], flat(asked | {"measure": measures}), "What its file asks for")
    told = [f"Versions: {told_versions(results)}."]
    told += [f"Cost: {effort}."] if (effort := told_effort(results)) else []
    return joined([settings, *(tag("p", one, class_="caption") for one in told)])


def _measured(measures: Measures) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(measures).items() if name != "suite_texts"}


def told_versions(results: Results) -> str:
    """Each version once; where jobs differ, all of them, since such results are not of one kind."""
    mixed = [name for name, found in results.versions.items() if len(found) > 1]
    told = ", ".join(f"{name} {' and '.join(found)}" for name, found in results.versions.items())
    return f"{told} (jobs differ in {', '.join(mixed)}: they are not of one kind)" if mixed else told
