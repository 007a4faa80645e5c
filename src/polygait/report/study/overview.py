"""A study at a glance: what populations reach, what they keep when something breaks, where they differ."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from polygait.report.names import method_title, ordered_methods, title_of
from polygait.report.study.mesh import populations
from polygait.report.study.topics import OVERVIEW
from polygait.report.study.typeset import NOTHING, Cell, Table, grouped
from polygait.report.study.variance import RIVAL, finest_groups
from polygait.resilience import Resilience
from polygait.study.results import Results

_COLUMNS = {
    "nominal_mean": ("nominal", 0),
    "of_independent": ("of Multi's", 2),
    "worst_of_best": ("worst / best", 2),
    "survival": ("survival", 2),
    "survival_common": ("at common speed", 2),
    "best_return": ("best return", 0),
    "correlation": ("alike", 2),
    "freed": ("freed (%)", 0),
    "kept": ("kept (%)", 0),
}
"""What a row tells: the name in the data, the title, the digits."""
Seeds = dict[int, tuple[Resilience, Resilience]]


def overview_table(results: Results) -> Table:
    """A row per robot and method with means over seeds; the tables behind it have the intervals."""
    rows, data = [], []
    for task, methods in populations(results.mesh).items():
        here = []
        rival = methods.get(RIVAL, {})
        for method in ordered_methods(methods):
            seeds = methods[method]
            variance = results.variance.filter(task=task, method=method)
            numbers = {name: _mean(values) for name, values in _values(seeds, rival).items()}
            numbers |= {name: _mean(values) for name, values in _most_varying(variance).items()}
            shown = [_cell(numbers[name], digits) for name, (_, digits) in _COLUMNS.items()]
            here.append((Cell(method_title(method)), Cell(str(len(seeds)), number=True), *shown))
            data.append({"task": task, "method": method, "seeds": len(seeds), **numbers})
        rows += grouped(title_of(task), here)
    note = (
        "Means over seeds. Nominal: the mean member's return when nothing is wrong; of Multi's: beside that "
        "of independent members of the same seed; worst / best: below a half somebody is stuck. Then the "
        "mesh, as in the tables about it: survival, best return, how alike members fail. Freed and kept: the "
        "share of variance between members in the freed and in the kept part in which they differ most."
    )
    columns = ("robot", "method", "seeds", *(title for title, _ in _COLUMNS.values()))
    return Table(
        "overview", OVERVIEW, "What populations reach, keep and differ in", columns, rows, note, data
    )


def _values(seeds: Seeds, rival: Seeds) -> dict[str, list[float]]:
    """Of every seed; beside independent members only of those that both have."""
    both = list(seeds.values())
    shared = sorted(set(seeds) & set(rival))
    return {
        "nominal_mean": [own.mean_nominal_return for own, _ in both],
        "of_independent": [
            _ratio(seeds[seed][0].mean_nominal_return, rival[seed][0].mean_nominal_return) for seed in shared
        ],
        "worst_of_best": [_ratio(own.worst_nominal_return, own.best_nominal_return) for own, _ in both],
        "survival": [float(own.survival[-1]) for own, _ in both],
        "survival_common": [float(common.survival[-1]) for _, common in both],
        "best_return": [float(own.best_return[-1]) for own, _ in both],
        "correlation": [own.return_correlation for own, _ in both],
    }


def _most_varying(variance: pl.DataFrame) -> Mapping[str, list[float]]:
    """In percent, of every seed; a part that is freed in part counts on neither side."""
    known = variance.filter(pl.col("share").is_not_null())
    groups = known.filter(pl.col("part").is_in(finest_groups(known["part"].unique().to_list())))
    return {
        name: (
            100 * groups.filter(freed=freed).group_by("seed").agg(pl.col("share").max())["share"]
        ).to_list()
        for name, freed in (("freed", 1.0), ("kept", 0.0))
    }


def _ratio(value: float, of: float) -> float:
    return value / of if of > 0 else math.nan


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _cell(value: float, digits: int) -> Cell:
    return Cell(NOTHING if math.isnan(value) else f"{value:,.{digits}f}", number=True)
