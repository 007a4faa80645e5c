"""What was measured in which world: every statement of a page rests on one source, which is named.

A world may be evaluated and adapted to many times, with other episodes and seeds. Members are compared on
the same starts only, so all numbers of one condition come from one evaluation, the strongest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from polygait.adaptation import Adaptation, read_adaptation
from polygait.errors import UserError
from polygait.evaluation import read_rows
from polygait.keeping import NOMINAL_EPISODES
from polygait.population.manifest import MemberEntry
from polygait.report.names import counted
from polygait.report.web.parts import Gap
from polygait.resilience import stands_still
from polygait.storage.files import read_bounded
from polygait.suites import MADE_FROM_ANATOMY
from polygait.tasks.registry import task_names

STANDS_STILL = "stands still"
_LARGEST_FILE = 2**30


class Measurement(NamedTuple):
    """One evaluation: everything but the members and conditions that it is about."""

    where: str
    """Another task than the population's own, or nothing."""
    suite: str
    episodes: int
    seed: int
    made_with: str
    robot: str | None
    """The fingerprint of the task as it was then."""

    def __str__(self) -> str:
        return (
            f"evaluation of suite {self.suite} ({counted(self.episodes, 'episode')} each, seed {self.seed})"
        )


class ChosenMember(NamedTuple):
    """The member for a world, and who says so."""

    member: int
    source: str
    mean_return: float
    """By which it was chosen."""
    adaptation: Adaptation | None = None
    """If one chose it."""


class Score(NamedTuple):
    """What a member reached in some episodes."""

    mean: float
    std: float
    falls: float
    speed: float = math.nan


UNKNOWN = Score(math.nan, math.nan, math.nan)


class Nominal(NamedTuple):
    """How members do when nothing is wrong, all from one source."""

    scores: Mapping[int, Score]
    source: str

    @property
    def best_speed(self) -> float:
        """Of the fastest member; NaN where nobody tells how far robots come."""
        speeds = [one.speed for one in self.scores.values() if not math.isnan(one.speed)]
        return max(speeds, default=math.nan)

    @property
    def best(self) -> int:
        """The member with the highest mean return."""
        return max(
            self.scores,
            key=lambda member: -math.inf if math.isnan(mean := self.scores[member].mean) else mean,
        )


class Present(NamedTuple):
    """What a run is now: results of other members or of another robot do not speak about it."""

    weights: Mapping[int, str]
    """Of the members that are whole."""
    robot: str | None
    """The fingerprint of its task, where that can be made."""

    def speaks_of(self, where: str, robot: str | None) -> bool:
        """Whether a result is about the robot as it is; of early results and other tasks it is not known."""
        return bool(where) or not robot or self.robot in (None, robot)


def measured_cells(run: Path, present: Present, gaps: list[Gap]) -> list[dict[str, Any]]:
    """Measured returns, one row per member and condition.

    Of several evaluations of a condition: the one of the most members, then of the most episodes, then of the
    first seed, then the last that was made.
    """
    found: dict[tuple[Any, ...], dict[Measurement, list[dict[str, Any]]]] = {}
    rows = _measured_rows(run, gaps)
    current = [row for row in rows if present.speaks_of(row["where"], row["robot"])]
    if len(current) < len(rows):
        again = f"polygait evaluate {run} --suite {rows[0]['suite']}"
        gaps.append(Gap("Some results are left out", "the robot has changed since they were measured", again))
    for row in current:
        if present.weights.get(row["member"], row["weights"]) != row["weights"]:
            continue  # another member of the same number
        world = row["variation"] if row["scale"] is None else (row["condition"],)  # a sweep is one statement
        source = Measurement(*(row[name] for name in Measurement._fields))
        found.setdefault((row["where"], world), {}).setdefault(source, []).append(row)
    cells = []
    for sources in found.values():
        last = {source: _last_of_each(several) for source, several in sources.items()}
        source = sorted(
            last, key=lambda measurement: (len(last[measurement]), measurement.episodes, -measurement.seed)
        )[-1]
        cells += [row | {"source": str(source)} for row in last[source]]
    return cells


def _last_of_each(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per member and variation; a condition may have meant something else before."""
    return list({(row["member"], row["variation"]): row for row in rows}.values())


def _measured_rows(run: Path, gaps: list[Gap]) -> list[dict[str, Any]]:
    rows = []
    for file in _files(run / "evaluations", ".parquet"):
        where, suite = _where(file.stem)
        try:
            frame = read_rows(read_bounded(file, _LARGEST_FILE))
        except (UserError, OSError, pl.exceptions.PolarsError) as error:
            told = str(error).splitlines()[0]
            again = f"polygait evaluate {run} --suite {suite}" + (f" --on {where}" if where else "")
            gaps.append(Gap(f"{file.name} cannot be read", told, again))
            continue
        if not where and suite in MADE_FROM_ANATOMY:  # the rest has a section of its own
            frame = frame.filter(variation="nominal")
        for row in frame.drop("returns", "progress").to_dicts():
            known = (
                where if row["on"] is None else row["on"]
            )  # earlier versions told it by the file's name alone
            rows.append(row | {"where": known, "suite": suite})
    return rows


def kept_adaptations(run: Path, present: Present, gaps: list[Gap]) -> list[Adaptation]:
    """All adaptations of these members and this robot, the strongest of each world first.

    Strong is one of many members, then of many trials, then of many held-out episodes.
    """
    found = []
    for file in _files(run / "adaptations", ".json"):
        again = f"polygait adapt {run} --variation NAME"
        try:
            one = read_adaptation(file)
        except (UserError, OSError, ValueError) as error:
            gaps.append(Gap(f"{file.name} cannot be read", str(error).splitlines()[0], again))
            continue
        if any(present.weights.get(member, own) != own for member, own in enumerate(one.weights)):
            gaps.append(Gap(f"{file.name} is left out", "it was made with other members", again))
        elif not present.speaks_of(one.config.on or "", one.robot):
            gaps.append(Gap(f"{file.name} is left out", "the robot has changed since it was made", again))
        else:
            found.append(one)
    return sorted(found, key=_strength, reverse=True)


def _strength(adaptation: Adaptation) -> tuple[int, int, int, int]:
    held_out = len(adaptation.held_out_returns)
    return len(adaptation.returns), adaptation.episodes_used, held_out, -adaptation.config.seed


def adaptation_source(adaptation: Adaptation) -> str:
    """An adaptation's settings in a few words."""
    config = adaptation.config
    if config.selector == "exhaustive":
        told = f"{counted(config.episodes or 0, 'episode')} each"
    else:
        told = f"{adaptation.episodes_used} of {counted(config.trials or 0, 'trial')}"
    falls = f", at most {counted(config.max_falls, 'fall')}" if config.max_falls else ""
    chosen = ", by progress" if config.by == "progress" else ""
    return f"{config.selector} adaptation ({told}{falls}{chosen}, seed {config.seed})"


def trial_cells(adaptation: Adaptation) -> list[dict[str, Any]]:
    """The trials of an adaptation in the form of a measured condition."""
    cells = []
    for member, trials in enumerate(map(adaptation.trials_of, range(len(adaptation.returns)))):
        if len(trials):
            cells.append(
                {
                    "member": member,
                    "condition": adaptation.variation,
                    "scale": None,
                    "variation": adaptation.variation,
                    "mean_return": float(trials.mean()),
                    "std_return": float(trials.std()),
                    "falls": adaptation.falls_of(member),
                    "mean_speed": _known(adaptation.speed_of(member)),
                    "diverged": int(adaptation.diverged[member]),
                    "episodes": len(trials),
                    "where": adaptation.config.on or "",
                    "source": f"trials of {adaptation_source(adaptation)}",
                }
            )
    return cells


def nominal_scores(
    entries: Sequence[MemberEntry], cells: Sequence[Mapping[str, Any]], whole: set[int]
) -> Nominal:
    """What members reach when nothing is wrong: measured if all whole ones were, else as training ended."""
    known = {entry.index for entry in entries}
    here = [
        cell
        for cell in cells
        if (cell["where"], cell["variation"]) == ("", "nominal") and cell["member"] in known
    ]
    fair = len({cell["episodes"] for cell in here}) == 1  # a race gives some members more trials
    if fair and whole <= {cell["member"] for cell in here}:
        names = ("mean_return", "std_return", "falls", "mean_speed")
        scores = {one["member"]: Score(*(_number(one.get(name)) for name in names)) for one in here}
        return Nominal(scores, here[0]["source"])
    names = ("nominal_return", "nominal_std", "nominal_falls", "nominal_speed")
    scores = {one.index: Score(*(float(one.summary.get(name, "nan")) for name in names)) for one in entries}
    return Nominal(scores, f"the end of training ({NOMINAL_EPISODES} episodes each)")


def does(cells: Sequence[Mapping[str, Any]], best_nominal_speed: float) -> str:
    """What a member does in a condition, beside what it earns; nothing where nobody tells how far it came."""
    speeds = [cell.get("mean_speed") for cell in cells]
    known = [one for one in speeds if one is not None]
    if not known or len(known) < len(cells):
        return ""
    speed, falls = sum(known) / len(cells), sum(cell["falls"] for cell in cells) / len(cells)
    return STANDS_STILL if stands_still(speed, falls, best_nominal_speed) else f"{speed:.2f} m/s"


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _files(folder: Path, suffix: str) -> list[Path]:
    return sorted(file for file in folder.glob(f"*{suffix}") if not file.name.startswith("."))


def _where(stem: str) -> tuple[str, str]:
    """The other task in which a suite was measured, if any, and the suite."""
    for task in task_names():
        if stem.startswith(f"{task}."):
            return task, stem.removeprefix(f"{task}.")
    return "", stem
