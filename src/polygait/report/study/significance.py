"""How sure a study is: differences with intervals, and what choosing among many brings by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

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
    RESAMPLES,
    Comparison,
    Estimate,
    bootstrap,
    bootstrap_two,
    compare,
    mean_improvement,
    mean_of_means,
    pooled_interquartile_mean,
)

_COUNTS = (1, 3, 5, 10)
FEWEST_SEEDS = 5
"""Of each method, for its interval to decide anything: over two seeds a 95 % bootstrap covers about half."""
_FEW = (
    f" Intervals over fewer than {FEWEST_SEEDS} seeds are too narrow and show only what was seen; nothing is "
    "marked by them."
)


def comparison_table(sources: Sequence[Source]) -> Table:
    """DiR against every other method under damage."""
    rows, data = [], []
    for source in sources:
        values = best_values(source.returns, "damage")
        for other in methods_of(values):
            pairs = {
                place: (one[OURS], one[other])
                for place, one in values.items()
                if other != OURS and OURS in one and other in one
            }
            found = {place: compare(*pair) for place, pair in pairs.items()}
            here = [
                _comparison_cells(place, result, min(map(len, pairs[place])))
                for place, result in found.items()
            ]
            about = {"source": source.label, "against": other}
            data += [about | _comparison_data(place, result) for place, result in found.items()]
            if len(pairs) > 1:
                ours, theirs = zip(*pairs.values(), strict=True)
                overall = bootstrap_two(ours, theirs, mean_improvement)
                here.append(
                    (Cell("mean of all"), Cell("", number=True), _estimate_cell(overall, 2), Cell(""))
                )
                data.append(
                    about | {"task": "all", "condition": "all"} | _estimate_data("improvement", overall)
                )
            rows += grouped(f"{source.label}: {method_title(OURS)} − {method_title(other)}", here)
    columns = ("methods", "condition", "difference of means", "P(improvement)", "Welch p")
    note = (
        f"Best member per seed. In brackets 95 % intervals (percentile bootstrap over seeds, {RESAMPLES:,} "
        "resamples); a difference whose interval excludes 0 is marked. P(improvement): a seed of the first "
        f"method beats one of the second; 0.5 is no difference.{_FEW}{_kept(sources)}"
    )
    return Table("comparison", DAMAGE, "How sure the differences are", columns, rows, note, data)


def aggregate_table(sources: Sequence[Source], reference: str = "multi") -> Table:
    """Every method over all damages at once, in units of what Multi reaches on average in each."""
    rows, data = [], []
    for source in sources:
        values = {
            place: one for place, one in best_values(source.returns, "damage").items() if reference in one
        }
        here = []
        for method in methods_of(values):
            strata = [one[method] / one[reference].mean() for one in values.values() if method in one]
            mean, middle = (bootstrap(strata, of) for of in (mean_of_means, pooled_interquartile_mean))
            cells = (Cell(str(len(strata)), number=True), _estimate_cell(mean, 2), _estimate_cell(middle, 2))
            here.append((Cell(method_title(method)), *cells))
            about = {"source": source.label, "method": method, "conditions": len(strata)}
            data.append(about | _estimate_data("mean", mean) | _estimate_data("interquartile_mean", middle))
        rows += grouped(source.label, here)
    columns = ("source", "method", "conditions", "mean", "interquartile mean")
    note = (
        f"Best member per seed, divided by {method_title(reference)}'s mean in the same condition. In "
        f"brackets 95 % intervals (bootstrap over seeds within each condition).{_FEW}{_kept(sources)}"
    )
    return Table("aggregate", DAMAGE, "All damages together", columns, rows, note, data)


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


def _comparison_cells(place: Place, result: Comparison, seeds: int) -> tuple[Cell, ...]:
    clear = seeds >= FEWEST_SEEDS and bool(result.difference.low > 0 or result.difference.high < 0)
    p = NOTHING if math.isnan(result.welch_p) else f"{result.welch_p:.3f}"
    return (
        Cell(str(place)),
        _estimate_cell(result.difference, 1)._replace(best=clear),
        _estimate_cell(result.improvement, 2),
        Cell(p, number=True),
    )


def _comparison_data(place: Place, result: Comparison) -> dict[str, object]:
    return {
        **place._asdict(),
        **_estimate_data("improvement", result.improvement),
        **_estimate_data("difference", result.difference),
        "welch_p": result.welch_p,
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
