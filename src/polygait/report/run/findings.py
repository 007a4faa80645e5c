"""What a run folder holds for a page, and what it does not: nothing here stops at a damaged file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygait.adaptation import Adaptation
from polygait.errors import UserError
from polygait.population.manifest import MemberEntry
from polygait.population.policies import GivenPopulation
from polygait.population.population import Population, PopulationLike, run_path
from polygait.population.store import RunFolder
from polygait.population.trained_on import TrainedOn
from polygait.report.run.evidence import (
    ChosenMember,
    Nominal,
    Present,
    adaptation_source,
    kept_adaptations,
    measured_cells,
    nominal_scores,
    trial_cells,
)
from polygait.report.run.mesh_evidence import MeshEvidence, mesh_evidence
from polygait.report.web.parts import Gap
from polygait.run_config import RunConfig
from polygait.suites import MESH, UNFORESEEN, Condition, offered_suites
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.task import Task
from polygait.zoo import spoken

POINTS = 160
"""Of one member's curve; more are averaged."""
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
    mesh: MeshEvidence | None = None
    """What the mesh says, if it was measured."""
    unforeseen: MeshEvidence | None = None
    """And damages that are unlike it."""
    gaps: list[Gap] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The run folder, as the user named it."""
        return spoken(self.run.path)

    @property
    def best(self) -> int:
        """The member that does best when nothing is wrong."""
        return self.nominal.best

    def choice(self, where: str, variation: str) -> ChosenMember | None:
        """The member for a world: that of the strongest adaptation, otherwise the best measured."""
        for adaptation in self.adaptations:
            if (adaptation.config.on or "", adaptation.variation) == (where, variation):
                return ChosenMember(
                    adaptation.best, adaptation_source(adaptation), adaptation.selection_return, adaptation
                )
        here = [cell for cell in self.cells if (cell["where"], cell["variation"]) == (where, variation)]
        if not here:
            return None
        best = max(here, key=lambda cell: cell["mean_return"])
        return ChosenMember(best["member"], best["source"], best["mean_return"])

    def choices(self) -> dict[tuple[str, str, str], ChosenMember]:
        """The choice for every world that is no sweep, by (where, variation, condition)."""
        worlds = dict.fromkeys(
            (cell["where"], cell["variation"], cell["condition"])
            for cell in self.cells
            if cell["scale"] is None
        )
        found = {world: self.choice(*world[:2]) for world in worlds}
        return {world: choice for world, choice in found.items() if choice is not None}


def gather(path: PopulationLike) -> Findings:
    """Read a run folder, or what is known of policies from elsewhere.

    Only a manifest that cannot be read is an error.
    """
    given = path if isinstance(path, GivenPopulation) else None
    path = run_path(path)
    run = given.run_folder() if given else RunFolder.open(path)
    path = spoken(path)
    entries = list(run.members.values())
    if not entries:
        raise UserError(f"{path} has no finished member yet.", f"Go on with: polygait resume {path}")
    gaps: list[Gap] = []
    config = given.config if given else RunConfig.from_json(run.manifest["config"])
    population = given or _whole_members(run, gaps)
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
    mesh, unforeseen = (mesh_evidence(run.path, weights, suite) for suite in (MESH, UNFORESEEN))
    if mesh is None and cells:
        why = "nothing says what the population keeps, whatever breaks"
        gaps.append(
            Gap("The mesh is not measured", why, f"polygait evaluate {path} --suite mesh --episodes 5")
        )
    log = [] if given else _log(run, gaps)
    judged = (nominal, mesh, unforeseen)
    return Findings(run, config, entries, population, log, cells, adaptations, *judged, gaps)


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
    return {member.index: population.weights(place) for place, member in enumerate(population.members)}


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
    for adaptation in adaptations:
        if (world := (adaptation.config.on or "", adaptation.variation)) not in known:
            known.add(world)
            cells += trial_cells(adaptation)
    return cells


def curve_rows(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """A run's log as one row per member and stretch of steps.

    A line of the log holds a list per name, with a number for each member trained side by side.
    """
    curves: dict[int, list[list[float]]] = {}
    for record in records:
        first, last = record["members"]
        for place, member in enumerate(range(first, last)):
            values = [_value(record, name, place) for name in names]
            curves.setdefault(member, []).append([float(record["steps"]), *values])
    rows = []
    for member, points in curves.items():
        for stretch in np.array_split(np.array(points), min(POINTS, len(points))):
            seen = np.isfinite(stretch)
            mean = np.where(seen, stretch, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
            mean[~seen.any(axis=0)] = np.nan
            rows.append(
                {"member": member, "steps": float(stretch[-1, 0])}
                | dict(zip(names, mean[1:].tolist(), strict=True))
            )
    return rows


def _value(record: Mapping[str, Any], name: str, place: int) -> float:
    return float(record[name][place]) if name in record else float("nan")
