"""What a run folder holds for a page, and what it does not: nothing here stops at a damaged file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polygait.adaptation import Adaptation
from polygait.errors import UserError
from polygait.population.manifest import MemberEntry
from polygait.population.population import Population
from polygait.population.store import RunFolder
from polygait.population.trained_on import TrainedOn
from polygait.report.run.charts_training import curve_rows
from polygait.report.run.evidence import (
    Choice,
    Nominal,
    Present,
    adaptation_source,
    kept_adaptations,
    measured_cells,
    nominal_scores,
    trial_cells,
)
from polygait.report.web.parts import Gap
from polygait.run_config import RunConfig
from polygait.suites import Condition, offered_suites
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.task import Task

CURVES = ("return", "bonus_ratio", "bonus_mean")


@dataclass(frozen=True)
class Findings:
    """All that a run folder tells."""

    run: RunFolder
    config: RunConfig
    entries: Sequence[MemberEntry]
    """Every member that the manifest lists, also those whose file is damaged."""
    population: Population | None
    """The members that are whole."""
    log: Sequence[dict[str, Any]]
    """Learning curves: one row per member and stretch of steps."""
    cells: Sequence[dict[str, Any]]
    """Measured returns: one row per member and condition, with its source."""
    adaptations: Sequence[Adaptation]
    """The strongest of each world first."""
    nominal: Nominal
    """Every member's return when nothing is wrong."""
    gaps: list[Gap] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The run folder, as the user named it."""
        return str(self.run.path)

    @property
    def best(self) -> int:
        """The member that does best when nothing is wrong."""
        return self.nominal.best

    def choice(self, where: str, variation: str) -> Choice | None:
        """The member for a world: that of the strongest adaptation, otherwise the best measured."""
        for one in self.adaptations:
            if (one.config.on or "", one.variation) == (where, variation):
                return Choice(one.best, adaptation_source(one), one.selection_return, one)
        here = [cell for cell in self.cells if (cell["where"], cell["variation"]) == (where, variation)]
        if not here:
            return None
        best = max(here, key=lambda cell: cell["mean_return"])
        return Choice(best["member"], best["source"], best["mean_return"])

    def choices(self) -> dict[tuple[str, str, str], Choice]:
        """The choice for every world that is no sweep, by (where, variation, condition)."""
        worlds = dict.fromkeys(
            (cell["where"], cell["variation"], cell["condition"])
            for cell in self.cells
            if cell["scale"] is None
        )
        found = {world: self.choice(*world[:2]) for world in worlds}
        return {world: choice for world, choice in found.items() if choice is not None}


def gather(path: str | os.PathLike[str]) -> Findings:
    """Read a run folder; only a manifest that cannot be read is an error."""
    run = RunFolder.open(path)
    entries = list(run.members.values())
    if not entries:
        raise UserError(f"{path} has no finished member yet.", f"Go on with: polygait resume {path}")
    gaps: list[Gap] = []
    config = RunConfig.from_json(run.manifest["config"])
    population = _whole_members(run, gaps)
    weights = _weights(population)
    task = _task(config, run.manifest)
    present = Present(weights, None if task is None else fingerprint_of(task).digest)
    adaptations = kept_adaptations(run.path, present, gaps)
    cells = _with_trials(measured_cells(run.path, present, gaps), adaptations)
    if not run.complete:
        gaps.append(Gap("Training is not finished", "more members are to come", f"polygait resume {path}"))
    gaps += _unmeasured(str(path), cells, offered_suites(task) if task else {})
    if not adaptations:
        gaps.append(
            Gap(
                "No adaptation was made",
                "the best measured member stands for the chosen one",
                f"polygait adapt {path} --variation NAME",
            )
        )
    nominal = nominal_scores(entries, cells, set(weights))
    return Findings(run, config, entries, population, _log(run, gaps), cells, adaptations, nominal, gaps)


def _task(config: RunConfig, manifest: dict[str, Any]) -> Task | None:
    """The run's task, where it can be made."""
    try:
        return TrainedOn.of(manifest).make(config)
    except UserError:
        return None


def _unmeasured(path: str, cells: Sequence[dict[str, Any]], suites: dict[str, list[Condition]]) -> list[Gap]:
    """What can be measured of this task and was not; a task without suites can be tried in any variation."""
    if not cells:
        measure = (
            f"evaluate {path} --suite {next(iter(suites))}" if suites else f"adapt {path} --variation delay=2"
        )
        why = "nothing says how members do when the world changes"
        return [Gap("No condition is measured", why, f"polygait {measure}")]
    swept = any(condition.scale is not None for condition in suites.get("dynamics", []))
    if swept and all(cell["scale"] is None for cell in cells):
        why = "nothing says how members do with other masses and frictions"
        return [Gap("No sweep is measured", why, f"polygait evaluate {path} --suite dynamics")]
    return []


def _whole_members(run: RunFolder, gaps: list[Gap]) -> Population | None:
    """A population without the members that cannot be read."""
    manifest = run.manifest
    whole = []
    for member in manifest["members"]:
        try:
            Population(RunFolder(run.path, manifest | {"members": [member]}))
            whole.append(member)
        except UserError as error:
            gaps.append(Gap(f"Member {member['index']} cannot be shown", error.problem, error.remedy))
    return Population(RunFolder(run.path, manifest | {"members": whole})) if whole else None


def _weights(population: Population | None) -> dict[int, str]:
    """The identity of every member that is whole, by its index in the run."""
    if population is None:
        return {}
    return {one.index: population.weights(place) for place, one in enumerate(population.members)}


def _log(run: RunFolder, gaps: list[Gap]) -> list[dict[str, Any]]:
    try:
        rows = curve_rows(run.metrics(), CURVES)
    except UserError as error:
        gaps.append(Gap("Learning curves cannot be shown", error.problem, error.remedy))
        return []
    if not rows:
        gaps.append(
            Gap(
                "There are no learning curves",
                "metrics.jsonl is empty or missing",
                "Restore it from a copy of the run.",
            )
        )
    return rows


def _with_trials(cells: list[dict[str, Any]], adaptations: Sequence[Adaptation]) -> list[dict[str, Any]]:
    """Trials of the strongest adaptation stand in for a condition that was not measured."""
    known = {(cell["where"], cell["variation"]) for cell in cells}
    for one in adaptations:
        if (world := (one.config.on or "", one.variation)) not in known:
            known.add(world)
            cells += trial_cells(one)
    return cells
