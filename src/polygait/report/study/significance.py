"""How sure a study is: differences with intervals, and what choosing among many brings by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polygait.report.names import method_title, ordered_methods
from polygait.report.study.sources import (
    KEPT,
    OURS,
    Place,
    Source,
    are_compared,
    best_values,
    member_grid,
    methods_of,
    single_conditions,
)
from polygait.report.study.topics import CHOOSING, DAMAGE
from polygait.report.study.typeset import NOTHING, Cell, Table, grouped
from polygait.resilience import expected_best_of
from polygait.study.statistics import (
    FEWEST_SEEDS,
    RESAMPLES,
    Comparison,
    Estimate,
    Strata,
    bootstrap_relative,
    compare,
    compare_paired,
    improvement,
    mean_of_means,
    pooled_interquartile_mean,
)

_COUNTS = (1, 3, 5, 10)
FEW_SEEDS = f"Fewer than {FEWEST_SEEDS} seeds show what was seen and decide nothing."
FEW_RESAMPLED = f"{FEW_SEEDS} Bootstrap intervals over them are too narrow."
BANDS = (
    "Bands are 95 % intervals of the mean over seeds (Student's); of fewer than "
    f"{FEWEST_SEEDS} seeds they reach from the lowest to the highest, which decides nothing."
)
FIRST_POLICY = (
    "A policy that is the first of DiR's own population is compared seed by seed: that says what the "
    "population adds to it, not which method is better."
)


def comparisons(source: Source) -> dict[str, dict[Place, Comparison]]:
    """DiR against every other method under each damage; with its own first policy seed by seed."""
    values = best_values(source.returns, "damage")
    found = {}
    for other in methods_of(values):
        paired = other in source.first_policies
        shared = best_values(_shared_seeds(source.returns, other), "damage") if paired else values
        test = compare_paired if paired else compare
        found[other] = {
            place: test(here[OURS], here[other])
            for place, here in shared.items()
            if other != OURS and OURS in here and other in here
        }
    return {other: results for other, results in found.items() if results}


def _shared_seeds(returns: pl.DataFrame, other: str) -> pl.DataFrame:
    """DiR and another method in all conditions and seeds that both have."""
    ours, theirs = (returns.filter(method=method) for method in (OURS, other))
    where = ["task", "condition", "scale", "seed"]
    return pl.concat(
        [
            ours.join(theirs, on=where, how="semi", nulls_equal=True),
            theirs.join(ours, on=where, how="semi", nulls_equal=True),
        ]
    )


def comparison_table(sources: Sequence[Source]) -> Table:
    """DiR against every other method under damage."""
    rows, data = [], []
    for source in sources:
        values = best_values(source.returns, "damage")
        for other, found in comparisons(source).items():
            paired = other in source.first_policies
            here = [_comparison_cells(place, result) for place, result in found.items()]
            about = {"source": source.label, "against": other, "paired": paired}
            data += [about | _comparison_data(place, result) for place, result in found.items()]
            if len(found) > 1 and not paired:
                ours, theirs = ([values[place][method] for place in found] for method in (OURS, other))
                overall = improvement(ours, theirs, [place.task for place in found])
                here.append(
                    (Cell("mean of all"), Cell("", number=True), _estimate_cell(overall, 2), Cell(""))
                )
                data.append(
                    about | {"task": "all", "condition": "all"} | _estimate_data("improvement", overall)
                )
            against = f"its own first policy ({method_title(other)})" if paired else method_title(other)
            rows += grouped(f"{source.label}: {method_title(OURS)} − {against}", here)
    columns = ("methods", "condition", "difference of means", "P(improvement)", "p")
    note = (
        "Best member per seed. P(improvement): a seed of the first method beats one of the second; 0.5 is no "
        "difference. In brackets 95 % intervals: Welch's of the difference, Newcombe's score interval of P. "
        f"Marked: p < 0.05 by Welch's test, {FEWEST_SEEDS} seeds or more of each; each mark is one test, so "
        f"that of twenty equal pairs one is marked by chance. {FIRST_POLICY}{_kept(sources)}"
    )
    return Table("comparison", DAMAGE, "How sure the differences are", columns, rows, note, data)


def aggregate_table(sources: Sequence[Source], reference: str = "multi") -> Table:
    """Every method over all damages at once, in units of what Multi reaches on average in each."""
    rows, data = [], []
    for source in sources:
        here = []
        for method, scores in relative_values(source, reference).items():
            mean, middle = (scores.estimate(of) for of in (mean_of_means, pooled_interquartile_mean))
            count = len(scores.strata)
            shown = Cell("1", number=True) if method == reference else _estimate_cell(mean, 2)
            cells = (Cell(str(count), number=True), shown, _estimate_cell(middle, 2))
            here.append((Cell(method_title(method)), *cells))
            about = {"source": source.label, "method": method, "conditions": count}
            data.append(about | _estimate_data("mean", mean) | _estimate_data("interquartile_mean", middle))
        rows += grouped(source.label, here)
    columns = ("source", "method", "conditions", "mean", "interquartile mean")
    note = (
        f"Best member per seed, divided by {method_title(reference)}'s mean in the same condition. In "
        f"brackets 95 % intervals (bootstrap, {RESAMPLES:,} resamples of seeds, those of "
        f"{method_title(reference)} too; a seed with all its conditions). {FEW_RESAMPLED}{_kept(sources)}"
    )
    return Table("aggregate", DAMAGE, "All damages together", columns, rows, note, data)


class RelativeValues(NamedTuple):
    """What a method reached in every condition, beside what a reference did."""

    strata: list[np.ndarray]
    references: list[np.ndarray]
    groups: list[tuple[tuple[str, str], tuple[str, str]]]
    """Whose seeds these are: task and method of both."""

    def estimate(self, statistic: Callable[[Strata], Any], resamples: int = RESAMPLES) -> Estimate:
        """Of the values in units of the reference's mean."""
        return bootstrap_relative(*self, statistic=statistic, resamples=resamples)


def relative_values(source: Source, reference: str = "multi") -> dict[str, RelativeValues]:
    """Every method in the damages in which the reference was measured too."""
    values = best_values(source.returns, "damage")
    known = {place: here for place, here in values.items() if reference in here}
    found = {}
    for method in methods_of(known):
        places = [place for place, here in known.items() if method in here]
        found[method] = RelativeValues(
            [known[place][method] for place in places],
            [known[place][reference] for place in places],
            [((place.task, method), (place.task, reference)) for place in places],
        )
    return found


def best_of_table(sources: Sequence[Source]) -> Table:
    """The expected best of k members: what more members bring, whatever made them different."""
    rows, data = [], []
    for source in sources:
        single = single_conditions(source.returns)
        for place in best_values(single, "damage"):
            cells = single.filter(task=place.task, condition=place.condition)
            here = []
            for method in ordered_methods(cells["method"].unique()):
                grid = member_grid(cells.filter(method=method))
                if grid.shape[1] == 1:
                    continue
                curve = np.mean([expected_best_of(row) for row in grid], axis=0)
                shown = [f"{curve[count - 1]:.1f}" if count <= len(curve) else NOTHING for count in _COUNTS]
                here.append((Cell(method_title(method)), *(Cell(text, number=True) for text in shown)))
                data += [
                    {
                        "source": source.label,
                        **place._asdict(),
                        "method": method,
                        "members": size,
                        "best": value,
                    }
                    for size, value in enumerate(curve.tolist(), start=1)
                ]
            rows += grouped(f"{source.label}: {place}", here)
    columns = ("condition", "method", *(f"best of {count}" for count in _COUNTS))
    note = "The expected best of k members drawn from a population without repetition, averaged over seeds."
    note += _kept(sources)
    return Table("best-of", CHOOSING, "What choosing among more members brings", columns, rows, note, data)


def _kept(sources: Sequence[Source]) -> str:
    """Which weights stand behind published numbers, where others stand beside them."""
    return f" {KEPT}" if are_compared([source.label for source in sources]) else ""


def _comparison_cells(place: Place, result: Comparison) -> tuple[Cell, ...]:
    p = NOTHING if math.isnan(result.p) else f"{result.p:.3f}"
    return (
        Cell(str(place)),
        _estimate_cell(result.difference, 1)._replace(best=result.marked and not result.paired),
        _estimate_cell(result.improvement, 2),
        Cell(p, number=True),
    )


def _comparison_data(place: Place, result: Comparison) -> dict[str, object]:
    return {
        **place._asdict(),
        **_estimate_data("improvement", result.improvement),
        **_estimate_data("difference", result.difference),
        "p": result.p,
        "seeds": result.seeds,
    }


def _estimate_cell(estimate: Estimate, digits: int) -> Cell:
    value, low, high = map(float, estimate)
    between = "" if math.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return Cell(f"{value:.{digits}f}{between}", number=True)


def _estimate_data(name: str, estimate: Estimate) -> dict[str, float]:
    return {
        name: float(estimate.value),
        f"{name}_low": float(estimate.low),
        f"{name}_high": float(estimate.high),
    }
