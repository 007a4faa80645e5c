"""What a study has to show: sources side by side, and every figure for which there is a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polygait.report.names import counted
from polygait.report.study.sources import Source, no_diversity, published, tasks_of
from polygait.study.results import Results

if TYPE_CHECKING:
    import altair as alt


def study_sources(results: Results) -> list[Source]:
    """Ours, ours on fresh episodes, and what was published for the same tasks."""
    tasks = results.returns["task"].unique().to_list()
    sizes = [results.returns[name].n_unique() for name in ("seed", "member")]
    told = [counted(size, word) for size, word in zip(sizes, ("seed", "member"), strict=True)]
    sources = [Source(f"ours, {', '.join(told)}", results.returns, results.diversity)]
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
    from polygait.report.study import figures, figures_gait

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
