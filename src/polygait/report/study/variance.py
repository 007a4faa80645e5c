"""In which parts of the state members differ: where the filter frees them, or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from polygait.report.names import method_title, ordered_methods, title_of
from polygait.report.study.mesh import compare_seeds
from polygait.report.study.sources import OURS, TASKS, by, ordered
from polygait.report.study.topics import DIFFERENCE
from polygait.report.study.typeset import NOTHING, Cell, Table, grouped
from polygait.study.statistics import FEWEST_SEEDS, Comparison, Estimate, bootstrap, mean_of_means

RIVAL = "multi"
"""Whose members nobody asked to differ."""


def variance_table(variance: pl.DataFrame) -> Table:
    """A row per robot and part of its state, a column per method, and DiR beside independent members."""
    known = variance.filter(pl.col("share").is_not_null())
    methods = ordered_methods(known["method"].unique().to_list())
    beside = {OURS, RIVAL} <= set(methods)
    rows, data = [], []
    for task in ordered(known["task"].unique().to_list(), TASKS):
        of_task = known.filter(task=task)
        here = []
        for part in finest_groups(of_task["part"].unique(maintain_order=True).to_list()):
            cells = of_task.filter(part=part)
            freed = float(cells["freed"].to_list()[0])
            shares = {
                method: dict(zip(one["seed"].to_list(), one["share"].to_list(), strict=True))
                for (method,), one in by(cells, "method")
            }
            compared = compare_seeds(shares.get(OURS, {}), shares.get(RIVAL, {})) if beside else None
            told = [_share_cell(shares.get(method)) for method in methods]
            told += [_difference_cell(compared)] if beside else []
            here.append((Cell(part), Cell(_words(freed)), *told))
            data += [
                {"task": task, "part": part, "freed": freed, "method": method, "seeds": len(found)}
                | {"share": float(np.mean(list(found.values())))}
                for method, found in shares.items()
            ]
        rows += grouped(title_of(task), here)
    note = (
        "The share of a part's variance that lies between members, in percent: 0 where all do the same on "
        "average, 100 where only the member matters. Means over seeds, in brackets 95 % intervals "
        "(bootstrap). DiR should differ from independent members where the filter frees, and not elsewhere; "
        f"their difference is of the same seeds, in points, and marked from {FEWEST_SEEDS} seeds on."
    )
    last = (f"{method_title(OURS)} − {method_title(RIVAL)}",) if beside else ()
    columns = ("robot", "part of the state", "the filter", *map(method_title, methods), *last)
    return Table("variance", DIFFERENCE, "Where members differ", columns, rows, note, data)


def finest_groups(parts: Sequence[str]) -> list[str]:
    """Parts that hold single numbers and nothing else: "right_leg.position", of which a foot's is one."""
    groups = {part.rpartition(".")[0] for part in parts}
    coarse = {group.rpartition(".")[0] for group in groups}
    return [part for part in parts if part in groups - coarse]


def _words(freed: float) -> str:
    return {0.0: "keeps it", 1.0: "frees it"}.get(freed, f"frees {freed:.0%}")


def _share_cell(seeds: dict[int, float] | None) -> Cell:
    if not seeds:
        return Cell(NOTHING, number=True)
    return _cell(bootstrap([np.array(list(seeds.values()))], mean_of_means), "")


def _difference_cell(compared: Comparison | None) -> Cell:
    if compared is None or not compared.paired:
        return Cell(NOTHING, number=True)
    return _cell(compared.difference, "+")._replace(best=compared.marked)


def _cell(estimate: Estimate, sign: str) -> Cell:
    value, low, high = (100 * float(one) for one in estimate)
    between = "" if np.isnan(low) else f" [{low:.0f}, {high:.0f}]"
    return Cell(f"{value:{sign}.0f}{between}", number=True)
