"""What a study has to show: sources side by side, and every figure for which there is a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polygait.report.names import counted_range
from polygait.report.study import topics
from polygait.report.study.significance import BANDS, FEW_RESAMPLED, FEW_SEEDS, FIRST_POLICY
from polygait.report.study.sources import (
    Source,
    first_policies,
    no_diversity,
    published,
    sweep_differences,
    tasks_of,
)
from polygait.study.results import Results

if TYPE_CHECKING:
    import altair as alt


def study_sources(results: Results) -> list[Source]:
    """Ours, ours on fresh episodes, and what was published for the same tasks and conditions."""
    tasks, conditions = (results.returns[name].unique().to_list() for name in ("task", "condition"))
    firsts = first_policies(results.returns)
    label = f"ours, {', '.join(_size(results.returns, word) for word in ('seed', 'member'))}"
    ours = Source(label, results.returns, results.diversity, first_policies=firsts)
    sources = [ours._replace(mesh=results.mesh, unforeseen=results.unforeseen)]
    if not results.held_out.is_empty():
        sources.append(
            Source("ours, fresh episodes", results.held_out, no_diversity(), True, first_policies=firsts)
        )
    theirs = published()
    known = theirs._replace(
        returns=theirs.returns.filter(pl.col("task").is_in(tasks), pl.col("condition").is_in(conditions)),
        diversity=theirs.diversity.filter(pl.col("task").is_in(tasks)),
    )
    return [*sources, known] if not known.returns.is_empty() else sources


def _size(returns: pl.DataFrame, word: str) -> str:
    """How many seeds or members there are; a range where methods or robots differ."""
    counts = returns.group_by("task", "method").agg(pl.col(word).n_unique())[word].to_list()
    return counted_range(counts, word)


@dataclass(frozen=True)
class Figure:
    """A figure of a study: all that a report needs to know about it stands here and nowhere else."""

    name: str
    """Of its files; one that is drawn for every robot has the robot's name behind it."""
    topic: str
    """Of the section of the page in which it stands."""
    caption: str
    draw: Callable[[Results, Sequence[Source]], Mapping[str, Any]]
    """Charts by what stands behind the figure's name; None where there is nothing to show."""


def registered_figures() -> tuple[Figure, ...]:
    """Every figure, in the order of the report."""
    from polygait.report.study import figures, figures_gait, figures_mesh

    return (
        Figure(
            "percentiles",
            topics.UNCHANGED,
            f"What the members of a population reach, from its worst (0) to its best (100). {BANDS}",
            lambda _, sources: {"": figures.percentile_figure(_whole(sources))},
        ),
        Figure(
            "sweeps",
            topics.DYNAMICS,
            "What the best member reaches while a mass or a friction is scaled; dashed: as in training. "
            f"{BANDS}",
            lambda _, sources: {"": figures.sweep_figure(_whole(sources))},
        ),
        Figure(
            "improvement",
            topics.DAMAGE,
            "How likely a seed of DiR is better than one of the other method, with 95 % intervals (Newcombe's"
            f" score interval); 0.5 is no difference. {FEW_SEEDS} {FIRST_POLICY}",
            lambda _, sources: {"": figures.improvement_figure(sources)},
        ),
        Figure(
            "profiles",
            topics.DAMAGE,
            "The share of seeds above so many times Multi's mean, with 95 % bands (bootstrap over seeds, "
            f"also Multi's). {FEW_RESAMPLED}",
            lambda _, sources: {"": figures.profile_figure(sources)},
        ),
        Figure(
            "mesh-survival",
            topics.MESH,
            "The share of changed worlds in which the chosen one of so many members keeps at least half of "
            "the best nominal speed; shaded: 95 % interval over seeds.",
            _per_task(figures_mesh.survival_figure),
        ),
        Figure(
            "mesh-worlds",
            topics.MESH,
            "The share of seeds in which the chosen member keeps at least half of the best nominal speed.",
            _per_task(figures_mesh.worlds_figure),
        ),
        Figure(
            "contacts",
            topics.DIFFERENCE,
            "How long feet are on the ground: a point per episode, a colour per member.",
            _per_task(figures_gait.contact_figure),
        ),
        Figure(
            "open-ended",
            topics.DIFFERENCE,
            "Members as they were found one after another, with the foot contacts of some of them.",
            _per_task(figures_gait.open_ended_figure),
        ),
    )


def study_figures(results: Results, sources: Sequence[Source]) -> dict[str, alt.TopLevelMixin]:
    """Every figure for which there is something to show, by name."""
    return {
        "-".join(filter(None, (figure.name, part))): chart
        for figure in registered_figures()
        for part, chart in figure.draw(results, sources).items()
        if chart is not None
    }


def figure_named(name: str) -> Figure:
    """The figure behind a chart's name."""
    return next(
        figure for figure in registered_figures() if name == figure.name or name.startswith(f"{figure.name}-")
    )


def caption(name: str, tasks: Sequence[str]) -> str:
    """What a figure shows; below sweeps also where the published ones were made in another way."""
    figure = figure_named(name)
    notes = sweep_differences(tasks) if figure.topic == topics.DYNAMICS else []
    return " ".join([figure.caption, *map(str, notes)])


def _whole(sources: Sequence[Source]) -> list[Source]:
    """Those with all members, not the chosen one alone."""
    return [source for source in sources if not source.chosen_only]


def _per_task(draw: Callable[[Results, str], Any]) -> Callable[[Results, Sequence[Source]], dict[str, Any]]:
    """A chart for every robot of our own."""
    return lambda results, sources: {task: draw(results, task) for task in tasks_of(sources[:1])}
