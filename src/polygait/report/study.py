"""A study's report: every table and figure for which there is a number, ours beside the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polygait.population.files import START_AGAIN, write_atomically
from polygait.report.sources import Source, no_diversity, published, tasks_of
from polygait.report.tables import all_tables
from polygait.report.typeset import Table
from polygait.study.grid import Study
from polygait.study.results import Results

if TYPE_CHECKING:
    import altair as alt

FORMATS = (".html", ".svg", ".png", ".pdf")


class Report(NamedTuple):
    """What was made."""

    tables: list[Table]
    figures: dict[str, Any]
    files: list[Path]


def write_report(study: Study, results: Results, folder: Path, charts: bool = True) -> Report:
    """Tables as text, Markdown, LaTeX and CSV, figures in four forms, and a page of Markdown with both."""
    sources = study_sources(results)
    tables = all_tables(sources)
    files = [file for table in tables for file in table.save(folder / "tables")]
    figures = study_figures(results, sources) if charts else {}
    if figures:
        from polygait.charts import save_chart

        files += [
            save_chart(chart, folder / "figures" / f"{name}{ending}")
            for name, chart in figures.items()
            for ending in FORMATS
        ]
    page = folder / "report.md"
    write_atomically(page, _page(study, results, tables, list(figures)).encode(), START_AGAIN)
    return Report(tables, figures, [*files, page])


def study_sources(results: Results) -> list[Source]:
    """Ours, ours on fresh episodes, and what was published for the same tasks."""
    tasks = results.returns["task"].unique().to_list()
    sizes = [results.returns[name].n_unique() for name in ("seed", "member")]
    counted = [
        f"{size} {word}{'s' if size > 1 else ''}"
        for size, word in zip(sizes, ("seed", "member"), strict=True)
    ]
    sources = [Source(f"ours, {', '.join(counted)}", results.returns, results.diversity)]
    if not results.held_out.is_empty():
        sources.append(Source("ours, fresh episodes", results.held_out, no_diversity(), chosen_only=True))
    theirs = published()
    known = Source(
        theirs.label,
        theirs.returns.filter(pl.col("task").is_in(tasks)),
        theirs.diversity.filter(pl.col("task").is_in(tasks)),
    )
    return [*sources, known] if not known.returns.is_empty() else sources


def study_figures(results: Results, sources: list[Source]) -> dict[str, alt.TopLevelMixin]:
    """Every figure for which there is something to show, by name."""
    from polygait.report import figures, figures_gait

    whole = [source for source in sources if not source.chosen_only]
    made: dict[str, Any] = {
        "percentiles": figures.percentile_figure(whole),
        "sweeps": figures.sweep_figure(whole),
        "improvement": figures.improvement_figure(sources),
        "profiles": figures.profile_figure(sources),
    }
    for task in tasks_of(sources[:1]):
        made[f"contacts-{task}"] = figures_gait.contact_figure(results, task)
        made[f"open-ended-{task}"] = figures_gait.open_ended_figure(results, task)
    return {name: chart for name, chart in made.items() if chart is not None}


def _page(study: Study, results: Results, tables: list[Table], figures: list[str]) -> str:
    members = ", ".join(f"{name} = {value}" for name, value in study.training.items() if name != "settings")
    parts = [
        f"# {study.name}",
        f"{results.done} of {results.jobs} jobs: {', '.join(study.methods)} on {', '.join(study.tasks)}, "
        f"seeds {', '.join(map(str, study.seeds))}; {members}.",
        f"Versions: {_versions(results)}.",
        *(table.to_markdown() for table in tables),
        *(f"![{name}](figures/{name}.svg)" for name in figures),
    ]
    return "\n\n".join(parts) + "\n"


def _versions(results: Results) -> str:
    """Each version once; where jobs differ, all of them, since such results are not of one kind."""
    mixed = [name for name, found in results.versions.items() if len(found) > 1]
    told = ", ".join(f"{name} {' and '.join(found)}" for name, found in results.versions.items())
    return f"{told} (jobs differ in {', '.join(mixed)})" if mixed else told
