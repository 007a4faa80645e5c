"""What populations keep when the world changes: the mesh in tables, with intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from polygait.report.names import counted, method_title, ordered_methods, title_of
from polygait.report.study.significance import FEWEST_SEEDS
from polygait.report.study.sources import OURS, TASKS, Source, ordered, single_conditions
from polygait.report.study.topics import MESH
from polygait.report.study.typeset import NOTHING, Cell, Table, grouped
from polygait.resilience import By, Resilience, resilience, stands_still
from polygait.study.statistics import Comparison, Estimate, bootstrap, compare, compare_paired, mean_of_means
from polygait.study.study_file import method_of


class MeshFigure(NamedTuple):
    """One number of a population, and how a table shows it."""

    name: str
    title: str
    of: Callable[[Resilience, Resilience], float]
    """From the figures against the population's own best nominal speed, and against the common one."""
    digits: int
    more_is_better: bool = True


FIGURES = (
    MeshFigure("survival", "survival", lambda own, _: float(own.survival[-1]), 2),
    MeshFigure("survival_common", "survival, common speed", lambda _, common: float(common.survival[-1]), 2),
    MeshFigure("best_return", "best return", lambda own, _: float(own.best_return[-1]), 0),
    MeshFigure("best_speed", "best speed (m/s)", lambda own, _: float(own.best_speed[-1]), 2),
    MeshFigure("correlation", "failures alike", lambda own, _: own.return_correlation, 2, False),
    MeshFigure("nominal_mean", "nominal mean", lambda own, _: own.mean_nominal_return, 0),
    MeshFigure("nominal_worst", "nominal worst", lambda own, _: own.worst_nominal_return, 0),
)
BY: By = "progress"
"""What members are chosen by where survival counts: who keeps going, not who stands for a reward."""
Populations = dict[str, dict[str, dict[int, tuple[Resilience, Resilience]]]]
"""By task, method and seed: figures against a population's own best nominal speed, and the common one."""


class Worlds(NamedTuple):
    """A suite that is judged as a whole, and how its tables call it."""

    name: str
    title: str


IN_MESH = Worlds("mesh", "the mesh")
IN_UNFORESEEN = Worlds("unforeseen", "damages unlike the mesh's")


def mesh_tables(sources: Sequence[Source]) -> list[Table]:
    """Every table of the mesh and of damages unlike it; without rows where they were not measured."""
    mesh, unforeseen = (
        (populations(one) for one in (sources[0].mesh, sources[0].unforeseen)) if sources else ({}, {})
    )
    return [
        mesh_table(mesh, IN_MESH),
        paired_table(mesh, IN_MESH),
        further_members_table(mesh),
        mesh_table(unforeseen, IN_UNFORESEEN),
        paired_table(unforeseen, IN_UNFORESEEN),
        standing_table(sources),
    ]


def populations(mesh: pl.DataFrame) -> Populations:
    """The figures of every population of a study.

    Half of what must be kept for survival is told twice: of the population's own best nominal speed, and of
    the best that any method reaches on this robot on average over its seeds, which no population can lower.
    """
    frames = {
        (str(task), str(method), int(seed)): cells  # type: ignore[arg-type] - seeds are whole numbers
        for (task, method, seed), cells in mesh.partition_by(
            "task", "method", "seed", as_dict=True, maintain_order=True
        ).items()
    }
    own = {whose: resilience(cells, BY) for whose, cells in frames.items()}
    found: Populations = {}
    for task in ordered((task for task, _, _ in own), TASKS):
        common = _common_speed({whose: one for whose, one in own.items() if whose[0] == task})
        for whose, cells in frames.items():
            if whose[0] == task:
                both = own[whose], resilience(cells, BY, common)
                found.setdefault(task, {}).setdefault(whose[1], {})[whose[2]] = both
    return found


def _common_speed(own: Mapping[tuple[str, str, int], Resilience]) -> float:
    speeds: dict[str, list[float]] = {}
    for (_, method, _), one in own.items():
        speeds.setdefault(method, []).append(one.best_nominal_speed)
    return float(max(np.mean(values) for values in speeds.values()))


def seed_values(found: Mapping[int, tuple[Resilience, Resilience]], figure: MeshFigure) -> dict[int, float]:
    """One number per seed; seeds in which it is not known are left out."""
    values = {seed: figure.of(*both) for seed, both in sorted(found.items())}
    return {seed: value for seed, value in values.items() if not math.isnan(value)}


def mesh_table(found: Populations, worlds: Worlds) -> Table:
    """Survival, the best of all members, how alike they fail, and what they reach when nothing is wrong."""
    rows, data = [], []
    for task, methods in found.items():
        here = []
        for method in ordered_methods(methods):
            cells = []
            for figure in FIGURES:
                values = np.array(list(seed_values(methods[method], figure).values()))
                estimate = bootstrap([values], mean_of_means) if len(values) else None
                cells.append(_estimate_cell(estimate, figure.digits))
                if estimate is not None:
                    about = {"task": task, "method": method, "figure": figure.name, "seeds": len(values)}
                    data.append(about | _estimate_data(estimate))
            here.append((Cell(method_title(method)), Cell(str(len(methods[method])), number=True), *cells))
        rows += grouped(title_of(task), here)
    note = (
        "Means over seeds, in brackets 95 % intervals (percentile bootstrap over seeds). Survival: the "
        "share of conditions in which the member chosen by progress keeps at least half of the best nominal "
        "speed; half of the episodes choose it, the other half score it, then the halves change places. "
        "Common speed: half of the best nominal speed that any method reaches on this robot. Best: mean "
        "over conditions of the best member's mean, which flatters. Failures alike: mean correlation of two "
        "members' returns over conditions."
    )
    columns = ("robot", "method", "seeds", *(figure.title for figure in FIGURES))
    return Table(worlds.name, MESH, f"What populations keep in {worlds.title}", columns, rows, note, data)


def pairs_of(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Whom to compare with whom: DiR with every other method, and variants with what they are variants of."""
    found = ordered_methods(methods)
    pairs = [(OURS, other) for other in found if other != OURS] if OURS in found else []
    variants = [(one, method_of(one)) for one in found if method_of(one) in found and method_of(one) != one]
    return pairs + [pair for pair in variants if pair[::-1] not in pairs]


def paired_table(found: Populations, worlds: Worlds) -> Table:
    """Differences between methods, seed by seed where both have the same seeds."""
    rows, data = [], []
    for task, methods in found.items():
        for one, other in pairs_of(methods):
            here = []
            for figure in FIGURES:
                ours, theirs = (seed_values(methods[whose], figure) for whose in (one, other))
                compared = compare_seeds(ours, theirs)
                if compared is None:
                    continue
                cell = _estimate_cell(compared.difference, figure.digits)
                improved = compared.improvement if figure.more_is_better else _reversed(compared.improvement)
                here.append(
                    (
                        Cell(figure.title),
                        cell._replace(best=compared.marked),
                        _estimate_cell(improved, 2),
                        Cell(
                            counted(compared.seeds, "pair") if compared.paired else str(compared.seeds),
                            number=True,
                        ),
                    )
                )
                about = {"task": task, "method": one, "against": other, "figure": figure.name}
                data.append(
                    about
                    | {"seeds": compared.seeds, "paired": compared.paired}
                    | _estimate_data(compared.difference, "difference")
                    | _estimate_data(improved, "improvement")
                )
            rows += grouped(f"{title_of(task)}: {method_title(one)} − {method_title(other)}", here)
    note = (
        "Differences between populations of the same seed, whose members begin alike, where both methods "
        "have the seed; otherwise of means. In brackets 95 % intervals (Student over pairs or Welch; "
        "score intervals for shares). "
        "P(improvement): the share of pairs in which the first is better (less alike, for failures). Over "
        f"fewer than {FEWEST_SEEDS} seeds intervals are too narrow, and nothing is marked by them."
    )
    columns = ("methods", "figure", "difference", "P(improvement)", "seeds")
    title = f"How sure the differences in {worlds.title} are"
    return Table(f"{worlds.name}-comparison", MESH, title, columns, rows, note, data)


def compare_seeds(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Comparison | None:
    """Seed by seed where both have some in common, otherwise all against all; None without any."""
    if not ours or not theirs:
        return None
    if shared := sorted(set(ours) & set(theirs)):
        return compare_paired(*(np.array([values[seed] for seed in shared]) for values in (ours, theirs)))
    return compare(*(np.array(list(values.values())) for values in (ours, theirs)))


def _reversed(share: Estimate) -> Estimate:
    return Estimate(1 - share.value, 1 - share.high, 1 - share.low)


def further_members_table(found: Populations) -> Table:
    """Survival and best return with 1, 2, … members, on average over every choice of so many."""
    most = max((len(both[0].survival) for _, _, both in _each(found)), default=0)
    rows, data = [], []
    for task, methods in found.items():
        for title, name, digits in (("survival", "survival", 2), ("best return", "best_return", 0)):
            here = []
            for method in ordered_methods(methods):
                curves = [getattr(own, name) for own, _ in methods[method].values()]
                mean = np.mean(curves, axis=0)
                shown = [f"{one:.{digits}f}" if not math.isnan(one) else NOTHING for one in mean]
                shown += [""] * (most - len(shown))
                here.append((Cell(method_title(method)), *(Cell(one, number=True) for one in shown)))
                data += [
                    {"task": task, "figure": name, "method": method, "members": size, "value": float(value)}
                    for size, value in enumerate(mean, start=1)
                ]
            rows += grouped(f"{title_of(task)}: {title}", here)
    note = "Over every choice of so many members, averaged over conditions and seeds."
    columns = ("figure", "method", *map(str, range(1, most + 1)))
    title = "What each further member adds in the mesh"
    return Table("mesh-members", MESH, title, columns, rows, note, data)


def standing_table(sources: Sequence[Source]) -> Table:
    """Where the best member by return only stands still: in how many seeds of how many."""
    rows, data = [], []
    for source in sources:
        if source.chosen_only or not {"mean_speed", "falls"} <= set(source.returns.columns):
            continue
        single = single_conditions(source.returns)
        counts: dict[tuple[str, str, str], list[bool]] = {}
        for (task, method, _), cells in single.partition_by("task", "method", "seed", as_dict=True).items():
            nominal = cells.filter(condition="nominal")["mean_speed"].drop_nulls().to_list()
            fastest = max(nominal, default=math.nan)
            for (condition,), here in cells.partition_by("condition", as_dict=True).items():
                best = here.sort("mean_return").row(-1, named=True)
                still = stands_still(best["mean_speed"], best["falls"] or 0.0, fastest)
                counts.setdefault((str(task), str(condition), str(method)), []).append(still)
        for (task, condition, method), stands in counts.items():
            if any(stands):
                told = f"{sum(stands)} of {len(stands)}"
                place = f"{title_of(task)} - {condition}"
                rows.append((Cell(place), Cell(method_title(method)), Cell(told, number=True)))
                data.append(
                    {"task": task, "condition": condition, "method": method}
                    | {"seeds": len(stands), "standing": sum(stands)}
                )
    note = (
        "Seeds in which the member with the highest return stays where it is without falling: slower than a "
        "tenth of the population's best nominal speed. Its return is not what it seems."
    )
    columns = ("condition", "method", "seeds")
    return Table("standing", MESH, "Where the best member stands still", columns, rows, note, data)


def _each(found: Populations) -> Iterable[tuple[str, str, tuple[Resilience, Resilience]]]:
    for task, methods in found.items():
        for method, seeds in methods.items():
            yield from ((task, method, both) for both in seeds.values())


def _estimate_cell(estimate: Estimate | None, digits: int) -> Cell:
    if estimate is None:
        return Cell(NOTHING, number=True)
    value, low, high = map(float, estimate)
    between = "" if math.isnan(low) else f" [{low:,.{digits}f}, {high:,.{digits}f}]"
    return Cell(f"{value:,.{digits}f}{between}", number=True)


def _estimate_data(estimate: Estimate, name: str = "value") -> dict[str, float]:
    ends = (name, f"{name}_low", f"{name}_high")
    return {end: float(value) for end, value in zip(ends, estimate, strict=True)}
