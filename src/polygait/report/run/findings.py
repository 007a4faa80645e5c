"""What a run folder holds for a page, and what it does not: nothing here stops at a damaged file."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polygait.errors import UserError
from polygait.evaluation import SCHEMA
from polygait.population.files import read_bounded
from polygait.population.manifest import MemberEntry
from polygait.population.population import Population
from polygait.population.store import RunFolder
from polygait.population.strict_json import from_plain, parse
from polygait.report.run.charts_training import curve_rows
from polygait.report.web.parts import Gap
from polygait.run_config import RunConfig
from polygait.suites import Condition, offered_suites
from polygait.tasks.registry import make_task, task_names

CURVES = ("return", "bonus_ratio", "bonus_mean")
_LARGEST_FILE = 2**30


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
    """Measured returns: one row per member and condition."""
    adaptations: Sequence[dict[str, Any]]
    gaps: list[Gap] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The run folder, as the user named it."""
        return str(self.run.path)

    @property
    def best(self) -> int:
        """The member that does best when nothing is wrong."""
        return max(self.entries, key=lambda one: one.summary["nominal_return"]).index

    def chosen(self, where: str, variation: str) -> int | None:
        """The member for a world: the one adaptation chose, otherwise the best that was measured."""
        for one in self.adaptations:
            if (one["config"].get("on") or "", one["variation"]) == (where, variation):
                return int(one["best"])
        here = [cell for cell in self.cells if (cell["where"], cell["variation"]) == (where, variation)]
        return max(here, key=lambda cell: cell["mean_return"])["member"] if here else None


def gather(path: str | os.PathLike[str]) -> Findings:
    """Read a run folder; only a manifest that cannot be read is an error."""
    run = RunFolder.open(path)
    entries = list(run.members.values())
    if not entries:
        raise UserError(f"{path} has no finished member yet.", f"Go on with: polygait resume {path}")
    gaps: list[Gap] = []
    config = RunConfig.from_json(run.manifest["config"])
    population = _whole_members(run, gaps)
    adaptations = list(_adaptations(run.path, gaps))
    cells = _with_trials(_cells(run.path, gaps), adaptations)
    if not run.complete:
        gaps.append(Gap("Training is not finished", "more members are to come", f"polygait resume {path}"))
    gaps += _unmeasured(str(path), cells, _offered(config))
    if not adaptations:
        gaps.append(
            Gap(
                "No adaptation was made",
                "the best measured member stands for the chosen one",
                f"polygait adapt {path} --variation NAME",
            )
        )
    return Findings(run, config, entries, population, _log(run, gaps), cells, adaptations, gaps)


def _offered(config: RunConfig) -> dict[str, list[Condition]]:
    """The suites that change anything for the run's task; none where it cannot be made."""
    try:
        task = make_task(config.task, **config.task_options)
    except UserError:
        return {}
    return offered_suites(task)


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


def _cells(run: Path, gaps: list[Gap]) -> list[dict[str, Any]]:
    """The measured returns of all suites; of a condition measured twice, the one with more episodes."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for file in _files(run / "evaluations", ".parquet"):
        where, suite = _where(file.stem)
        try:
            frame = pl.read_parquet(io.BytesIO(read_bounded(file, _LARGEST_FILE)))
            if dict(frame.schema) != dict(pl.Schema(SCHEMA)):
                raise UserError("its columns are not those of an evaluation")
        except (UserError, OSError, pl.exceptions.PolarsError) as error:
            told = str(error).splitlines()[0]
            again = f"polygait evaluate {run} --suite {suite}" + (f" --on {where}" if where else "")
            gaps.append(Gap(f"{file.name} cannot be read", told, again))
            continue
        for row in frame.drop("returns").to_dicts():
            key = (where, row["variation"], row["member"])
            if key not in found or row["episodes"] > found[key]["episodes"]:
                found[key] = row | {"where": where}
    return list(found.values())


def _with_trials(cells: list[dict[str, Any]], adaptations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Trials of an adaptation stand in for a condition that was not measured."""
    known = {(cell["where"], cell["variation"]) for cell in cells}
    for one in adaptations:
        where = one["config"].get("on") or ""
        if (where, one["variation"]) in known:
            continue
        for member, trials in enumerate(one["returns"]):
            tried = [trial for trial in trials if trial is not None]
            if tried:
                cells.append(
                    {
                        "member": member,
                        "condition": one["variation"],
                        "scale": None,
                        "variation": one["variation"],
                        "mean_return": float(np.mean(tried)),
                        "std_return": float(np.std(tried)),
                        "falls": one["falls"][member] / len(tried),
                        "diverged": one["diverged"][member],
                        "episodes": len(tried),
                        "where": where,
                    }
                )
    return cells


_NEEDED = {"variation": str, "best": int, "config": dict, "returns": list, "falls": list, "diverged": list}


def _adaptations(run: Path, gaps: list[Gap]) -> Iterator[dict[str, Any]]:
    for file in _files(run / "adaptations", ".json"):
        try:
            one = from_plain(parse(read_bounded(file, _LARGEST_FILE)))
            if not isinstance(one, dict) or not all(
                isinstance(one.get(name), kind) for name, kind in _NEEDED.items()
            ):
                raise ValueError("it is not an adaptation's answer")
            yield one
        except (UserError, OSError, ValueError) as error:
            told = str(error).splitlines()[0]
            gaps.append(Gap(f"{file.name} cannot be read", told, f"polygait adapt {run} --variation NAME"))


def _files(folder: Path, suffix: str) -> list[Path]:
    return sorted(one for one in folder.glob(f"*{suffix}") if not one.name.startswith("."))


def _where(stem: str) -> tuple[str, str]:
    """The other task in which a suite was measured, if any, and the suite."""
    for task in task_names():
        if stem.startswith(f"{task}."):
            return task, stem.removeprefix(f"{task}.")
    return "", stem
