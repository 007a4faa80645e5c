"""The paper's tables, ours beside the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from polygait.report.names import method_title, ordered_methods, title_of, words_of
from polygait.report.study.mesh import mesh_tables
from polygait.report.study.significance import aggregate_table, best_of_table, comparison_table
from polygait.report.study.sources import (
    KEPT,
    OURS,
    PUBLISHED,
    TASKS,
    Difference,
    Place,
    Source,
    Values,
    are_compared,
    best_values,
    differences,
    kind_of,
    member_grid,
    methods_of,
    ordered,
    paper_order,
    score_values,
    single_conditions,
    tasks_of,
)
from polygait.report.study.topics import DAMAGE, DIFFERENCE, SENSORS, UNCHANGED
from polygait.report.study.typeset import NOTHING, Cell, Table, grouped
from polygait.study.statistics import FEWEST_SEEDS, Spread, stands_out

SELECTED_SEEDS = {"walker": 30, "hopper": 30, "ant": 10}
"""Whose members the paper's tables of selected policies show."""
STANDS_OUT = (
    "Marked: the largest mean, if it differs from that of every other method (Welch's test, p < 0.05, "
    f"{FEWEST_SEEDS} seeds or more of each)."
)


def all_tables(sources: Sequence[Source]) -> list[Table]:
    """Every table for which there is a number."""
    tasks = tasks_of(sources)
    whole = [source for source in sources if not source.chosen_only]
    made = [
        diversity_table(whole),
        nominal_table(whole),
        damage_table(sources),
        *(sensor_table(sources, task) for task in tasks),
        *(selected_table(whole, task) for task in tasks),
        comparison_table(sources),
        aggregate_table(sources),
        best_of_table(whole),
        *mesh_tables(whole),
    ]
    return [table for table in made if table.rows]


class _Footnotes:
    """Differences from the published protocol, lettered in the order in which rows show them."""

    def __init__(self) -> None:
        self._shown: list[Difference] = []

    def source(self, label: str, place: Place, labels: Iterable[str]) -> Cell:
        """Where a row's numbers come from; of published ones, how they differ from those beside them."""
        found = differences(place) if label == PUBLISHED and are_compared(labels) else []
        self._shown += [one for one in found if one not in self._shown]
        letters = ", ".join(self._letter(one) for one in found)
        return Cell(f"{label} [{letters}]" if found else label)

    def below(self, note: str, labels: Iterable[str]) -> str:
        """A table's note, and what its rows refer to."""
        told = [f"[{self._letter(one)}] {one}" for one in self._shown]
        return " ".join([note, *([KEPT] if are_compared(labels) else []), *told])

    def _letter(self, one: Difference) -> str:
        return "abcdefghijklmnopqrstuvwxyz"[self._shown.index(one)]


def damage_table(sources: Sequence[Source]) -> Table:
    """Adaptation performance under component damage."""
    values = {source.label: best_values(source.returns, "damage") for source in sources}
    return _spread_table(("damage", DAMAGE), "Adaptation under component damage", values, 1)


def sensor_table(sources: Sequence[Source], task: str) -> Table:
    """Adaptation performance under one robot's sensor failures."""
    values = {source.label: best_values(source.returns.filter(task=task), "sensors") for source in sources}
    title = f"Adaptation under sensor failures, {title_of(task)}"
    return _spread_table((f"sensors-{task}", SENSORS), title, values, 0)


def _spread_table(
    kind: tuple[str, str],
    title: str,
    values: Mapping[str, dict[Place, Values]],
    digits: int,
) -> Table:
    """Rows of conditions and sources, columns of methods; `kind` is the table's name and topic."""
    methods = methods_of(*values.values())
    rows, data, footnotes = [], [], _Footnotes()
    for place in sorted({place for one in values.values() for place in one}, key=paper_order):
        here = []
        labels = [source for source, found in values.items() if place in found]
        for source, found in values.items():
            if place in found:
                spreads = {method: Spread.of(reached) for method, reached in found[place].items()}
                cells = _spread_cells(found[place], methods, digits)
                here.append((footnotes.source(source, place, labels), *cells))
                data += [_spread_row(place, source, method, spread) for method, spread in spreads.items()]
        rows += grouped(str(place), here)
    note = (
        f"Best member per seed, then mean ± population standard deviation over seeds. {STANDS_OUT} Fresh "
        "episodes are ones that did not choose the member."
    )
    columns = ("condition", "source", *map(method_title, methods))
    return Table(*kind, title, columns, rows, footnotes.below(note, values), data)


def _spread_cells(values: Values, methods: Sequence[str], digits: int) -> Iterable[Cell]:
    """One per method, marked if it stands out; a single seed has no spread."""
    for method in methods:
        if method in values:
            mean, sd, seeds = Spread.of(values[method])
            text = f"{mean:.{digits}f}" if seeds == 1 else f"{mean:.{digits}f} ± {sd:.{digits}f}"
            yield Cell(text, stands_out(values, method), number=True)
        else:
            yield Cell(NOTHING, number=True)


def _spread_row(place: Place, source: str, method: str, spread: Spread) -> dict[str, object]:
    return {**place._asdict(), "source": source, "method": method, **spread._asdict()}


def diversity_table(sources: Sequence[Source]) -> Table:
    """Diversity scores."""
    scores = {source.label: score_values(source.diversity) for source in sources}
    tasks = ordered((task for one in scores.values() for task in one), TASKS)
    rows, data = [], []
    for method in methods_of(*scores.values()):
        here = []
        for source, found in scores.items():
            if any(method in values for values in found.values()):
                here.append((Cell(source), *(_score_cell(found.get(task, {}), method) for task in tasks)))
        rows += grouped(method_title(method), here)
    for source, found in scores.items():
        for task, values in found.items():
            place = Place(task, "diversity")
            data += [_spread_row(place, source, method, Spread.of(one)) for method, one in values.items()]
    note = (
        "Log-determinant of the members' action kernel on 2000 states of random actions: mean (sd) over "
        f"seeds; it grows with the number of members. {STANDS_OUT}"
    )
    if are_compared(scores):
        told = [str(one) for task in tasks for one in differences(Place(task, "diversity"))]
        note = " ".join([note, KEPT, *told])
    columns = ("method", "source", *map(title_of, tasks))
    return Table("diversity", DIFFERENCE, "Diversity scores", columns, rows, note, data)


def _score_cell(values: Values, method: str) -> Cell:
    if method not in values:
        return Cell(NOTHING, number=True)
    mean, sd, seeds = Spread.of(values[method])
    text = f"{mean:.1f}" if seeds == 1 else f"{mean:.1f} ({sd:.1f})"
    return Cell(text, stands_out(values, method), number=True)


def nominal_table(sources: Sequence[Source]) -> Table:
    """What the best, the mean and the worst member reach in the unchanged world."""
    nominal = {source.label: source.returns.filter(condition="nominal") for source in sources}
    methods = ordered_methods(one for frame in nominal.values() for one in frame["method"].unique())
    rows, data, footnotes = [], [], _Footnotes()
    for task in tasks_of(sources):
        here = []
        labels = [source for source, frame in nominal.items() if task in frame["task"]]
        for source, frame in nominal.items():
            grids = {
                method: member_grid(cells)
                for (method,), cells in frame.filter(task=task).partition_by("method", as_dict=True).items()
            }
            if grids:
                reached = {
                    method: (grid.max(axis=1).mean(), grid.mean(), grid.min(axis=1).mean())
                    for method, grid in grids.items()
                }
                shown = (_reached_cell(reached.get(method)) for method in methods)
                here.append((footnotes.source(source, Place(task, "nominal"), labels), *shown))
                data += [
                    {"task": task, "source": source, "method": method, "seeds": len(grids[method])}
                    | dict(zip(("best", "mean", "worst"), map(float, numbers), strict=True))
                    for method, numbers in reached.items()
                ]
        rows += grouped(title_of(task), here)
    note = footnotes.below("Best / mean / worst member, averaged over seeds.", nominal)
    columns = ("task", "source", *map(method_title, methods))
    return Table("nominal", UNCHANGED, "Returns in the unchanged world", columns, rows, note, data)


def _reached_cell(numbers: tuple[float, ...] | None) -> Cell:
    if numbers is None:
        return Cell(NOTHING, number=True)
    digits = 0 if max(map(abs, numbers)) >= 100 else 1
    return Cell(" / ".join(f"{number:.{digits}f}" for number in numbers), number=True)


def selected_table(sources: Sequence[Source], task: str) -> Table:
    """What every member of one DiR population reaches in each damaged world."""
    rows, data = [], []
    for source in sources:
        returns = single_conditions(source.returns).filter(task=task, method=OURS)
        if returns.is_empty():
            continue
        seeds = returns["seed"].unique().to_list()
        seed = SELECTED_SEEDS.get(task) if source.label == PUBLISHED else None
        one = returns.filter(seed=seed if seed in seeds else min(seeds))
        here = []
        places = sorted({Place(task, condition) for condition in one["condition"]}, key=paper_order)
        for place in places:
            if kind_of(place.condition) == "damage":
                values = one.filter(condition=place.condition).sort("member")["mean_return"].to_list()
                cells = [Cell(f"{value:.2f}", value == max(values), number=True) for value in values]
                here.append((Cell(words_of(place.condition)), *cells))
                data += [
                    {**place._asdict(), "source": source.label, "member": member, "mean_return": value}
                    for member, value in enumerate(values)
                ]
        rows += grouped(f"{source.label}, seed {one['seed'][0]}", here)
    most = max((len(row) for row in rows), default=2)
    filled = [(*row, *[Cell("", number=True)] * (most - len(row))) for row in rows]
    columns = ("source", "condition", *(f"member {number}" for number in range(most - 2)))
    note = "Mean return of every member; the largest of a row, which few-shot adaptation selects, is marked."
    title = f"Selected members, {title_of(task)}, DiR"
    return Table(f"selected-{task}", DAMAGE, title, columns, filled, note, data)
