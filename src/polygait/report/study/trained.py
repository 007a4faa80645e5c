"""What a study trained: seeds, members and steps of every method, which a fair comparison has to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import polars as pl

from polygait.report.names import counted, method_title, ordered_methods, title_of
from polygait.report.study.sources import TASKS, by, ordered
from polygait.report.study.topics import TRAINED
from polygait.report.study.typeset import NOTHING, Cell, Table, grouped
from polygait.study.results import Results


def trained_table(results: Results) -> Table:
    """A row per robot and method: what one of its populations is made of."""
    whose = ("task", "method", "seed", "member")
    lengths = results.curves.group_by(whose).agg(pl.col("steps").max()).sort(whose)
    found = {(task, method): cells for (task, method), cells in by(lengths, "task", "method")}
    efforts = dict(by(results.effort, "task", "method"))
    rows, data = [], []
    for task in ordered((task for task, _ in found), TASKS):
        here = []
        for method in ordered_methods(method for of, method in found if of == task):
            cells = found[task, method]
            seeds = sorted(cells["seed"].unique().to_list())
            populations = [_made_of(one) for one in cells.partition_by("seed", maintain_order=True)]
            steps = sum(cells["steps"].to_list()) / len(seeds)
            here.append(
                (
                    Cell(method_title(method)),
                    Cell(_runs_of(seeds)),
                    Cell(" or ".join(dict.fromkeys(populations))),
                    Cell(f"{steps / 1e6:.1f}M", number=True),
                    Cell(_cost(efforts.get((task, method)), len(seeds)), number=True),
                )
            )
            data.append({"task": task, "method": method, "seeds": len(seeds), "steps": steps})
        rows += grouped(title_of(task), here)
    note = (
        "Steps of training in one population. Whoever goes on from an earlier member counts its own. "
        "Hours: processor time of training and measuring one population, where they are known."
    )
    columns = ("robot", "method", "seeds", "members × steps", "steps in all", "hours")
    return Table("trained", TRAINED, "What was trained", columns, rows, note, data)


def told_effort(results: Results) -> str:
    """What all jobs cost together, and how often they were stopped and went on: "3.4 processor hours, …"."""
    known = len(results.effort)
    if not known:
        return ""
    hours, processes = results.effort["seconds"].sum() / 3600, int(results.effort["processes"].sum())
    whose = (
        "" if known == results.done else f" ({known} of {results.done} jobs, of the others it is not known)"
    )
    return f"{hours:.1f} processor hours{whose}; stopped and resumed {counted(processes - known, 'time')}"


def _cost(effort: pl.DataFrame | None, seeds: int) -> str:
    """Hours of one population on average; of how many where not of all."""
    if effort is None:
        return NOTHING
    told = f"{effort['seconds'].sum() / len(effort) / 3600:.2f}"
    return told if len(effort) == seeds else f"{told} ({len(effort)} of {seeds})"


def _made_of(population: pl.DataFrame) -> str:
    """Members by the steps that they made: "2 × 1M + 15 × 200k"."""
    counts = Counter(population["steps"].to_list())
    return " + ".join(f"{count} × {_rounded(steps)}" for steps, count in counts.items())


def _rounded(steps: int) -> str:
    """Whole rollouts make a few steps more than were asked for, which nobody wants to read."""
    if steps < 1000:
        return str(steps)
    return f"{steps / 1e6:.3g}M" if steps >= 1e6 else f"{steps / 1e3:.3g}k"


def _runs_of(seeds: Iterable[int]) -> str:
    """Seeds with runs of neighbours shortened: "10, 12 to 17"."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
