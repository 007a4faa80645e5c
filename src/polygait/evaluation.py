"""Returns of every member in every condition of a suite, and what a population makes of them."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polygait.config import EvaluateConfig, from_options
from polygait.episodes import (
    Job,
    Outcome,
    Watch,
    counting,
    episode_seconds,
    episode_seeds,
    run_members,
    task_factory,
)
from polygait.errors import UserError
from polygait.mesh import family_of
from polygait.population.population import Population, PopulationLike, as_population
from polygait.population.results import file_name, make_results_folder, replace_result, writing_results
from polygait.progress import Count, Counter, reporting, silent
from polygait.resilience import BY, best_nominal_speed, resilience, stands_still
from polygait.storage.files import read_bounded
from polygait.suites import Condition, suite_conditions, suite_name
from polygait.tasks.fingerprint import Fingerprint, fingerprint_of
from polygait.tasks.randomness import EpisodePurpose
from polygait.tasks.source_code import package_version
from polygait.tasks.task import Task
from polygait.variations import parse_variation
from polygait.versions import versions

CHUNK_EPISODES = 2048
"""Episodes between two savings."""
_PROBE_STEPS = 20
_LARGEST_FILE = 2**30
_MAKERS = ("polygait", "mujoco", "gymnasium", "pybullet")
_KEY = ("member", "world", "episodes", "seed", "weights", "made_with", "robot")
SCHEMA: dict[str, Any] = {
    "member": pl.Int64,
    "condition": pl.String,
    "scale": pl.Float64,
    "variation": pl.String,
    "world": pl.String,
    "mean_return": pl.Float64,
    "std_return": pl.Float64,
    "falls": pl.Float64,
    "mean_length": pl.Float64,
    "diverged": pl.Int64,
    "episodes": pl.Int64,
    "seed": pl.Int64,
    "weights": pl.String,
    "made_with": pl.String,
    "on": pl.String,
    "robot": pl.String,
    "returns": pl.List(pl.Float64),
    "mean_progress": pl.Float64,
    "mean_speed": pl.Float64,
    "seconds": pl.Float64,
    "progress": pl.List(pl.Float64),
}
"""One row per member × condition: `falls` is a share of episodes, `weights` the member's checksum, `world`
what the variation came down to when it was measured, `robot` the fingerprint of the task that it was measured
in, `on` that task's name if it was not the population's own. Progress is in metres, speed in metres per
second of an episode's time limit, `seconds`; all four are null where the simulator does not tell."""
_LISTS = ("returns", "progress")
_ADDED = ("mean_progress", "mean_speed", "seconds", "progress", "on", "robot")
"""Columns that earlier versions did not write; they are null."""


class Plan(NamedTuple):
    """What an evaluation is about to do, for those who want to know before it starts."""

    conditions: int
    episodes: int
    """Still to be run; the rest was done before."""
    most_steps: int
    seconds: float
    """Estimated from the physics' pace, as if no episode ended early."""


def evaluate(
    population: PopulationLike,
    report: Count = silent,
    announce: Callable[[Plan], None] | None = None,
    progress: bool = False,
    **options: Any,
) -> pl.DataFrame:
    """Measure all members in a suite's conditions; the options are those of EvaluateConfig.

    `progress` shows on standard error how far it is.

    Results are kept in the run's folder as Parquet and CSV, those of other settings beside each other: an
    evaluation that was interrupted goes on, and one that is asked for again is read.
    """
    population = as_population(population)
    config = from_options(EvaluateConfig, options)
    if problems := config.problems():
        raise UserError("\n".join(problems), "Nothing was started.")
    make = task_factory(population, config.on, config.threads)
    task = make(1)
    conditions = suite_conditions(config.suite, task)
    worlds: dict[Condition, str] = {}
    for condition in conditions:
        task.set_variation(condition.variation)  # every name is checked before any episode is run
        worlds[condition] = str(parse_variation(condition.variation, task.conditions))
    seconds = episode_seconds(task) if np.isfinite(task.progress).all() else None
    wanted = [
        _Cell(member.index, condition, worlds[condition], population.weights(member.index), seconds)
        for condition in conditions
        for member in population.members
    ]
    table = _Table(population.path / "evaluations", config, fingerprint_of(task))
    missing = [cell for cell in wanted if not table.has(cell)]
    if announce is not None:
        announce(_plan(make, len(conditions), len(missing) * config.episodes))
    per_chunk = max(1, CHUNK_EPISODES // config.episodes)
    with reporting(report, progress, lambda: Counter("episodes")) as told:
        watch = counting(told, len(missing) * config.episodes)
        for begin in range(0, len(missing), per_chunk):
            cells = missing[begin : begin + per_chunk]
            rows = _run(population, make, cells, config, watch)
            table.add({**row, "on": config.on or "", "robot": table.robot} for row in rows)
    return table.frame(wanted)


def summarised(frame: pl.DataFrame) -> dict[str, Any]:
    """An evaluation as plain data: every member in every condition, and what the population keeps of it."""
    fastest = best_nominal_speed(frame)
    rows = [
        row
        | {
            "family": family_of(row["world"]),
            "stands_still": stands_still(row["mean_speed"], row["falls"], fastest),
        }
        for row in frame.iter_rows(named=True)
    ]
    return {"rows": rows, "population": {by: resilience(frame, by).to_json() for by in BY}}


class _Cell(NamedTuple):
    """One member in one condition."""

    member: int
    condition: Condition
    world: str
    weights: str
    seconds: float | None
    """The time limit, where it is known how far robots come."""


def _run(
    population: Population,
    make: Callable[[int], Task],
    cells: Sequence[_Cell],
    config: EvaluateConfig,
    watch: Watch,
) -> list[dict[str, Any]]:
    seeds = episode_seeds(config.seed, EpisodePurpose.SELECTION, config.episodes)
    jobs = [Job(cell.member, cell.condition.variation, seed) for cell in cells for seed in seeds]
    outcome = run_members(population, jobs, make, watch)
    by_cell = Outcome(*(array.reshape(len(cells), len(seeds)) for array in outcome))
    return [_row(cell, Outcome(*(array[i] for array in by_cell)), config) for i, cell in enumerate(cells)]


def _row(cell: _Cell, outcome: Outcome, config: EvaluateConfig) -> dict[str, Any]:
    return {
        "member": cell.member,
        "condition": cell.condition.name,
        "scale": cell.condition.scale,
        "variation": cell.condition.variation,
        "world": cell.world,
        "mean_return": float(outcome.total_reward.mean()),
        "std_return": float(outcome.total_reward.std()),
        "falls": float(outcome.fell.mean()),
        "mean_length": float(outcome.length.mean()),
        "diverged": int(outcome.diverged.sum()),
        "episodes": config.episodes,
        "seed": config.seed,
        "weights": cell.weights,
        "made_with": _made_with(),
        "returns": outcome.total_reward.tolist(),
        **dict.fromkeys(_ADDED),
        **({} if cell.seconds is None else _progress(outcome, cell.seconds)),
    }


def _progress(outcome: Outcome, seconds: float) -> dict[str, Any]:
    return {
        "mean_progress": float(outcome.progress.mean()),
        "mean_speed": float(outcome.speed.mean()),
        "seconds": seconds,
        "progress": outcome.progress.tolist(),
    }


class _Table:
    """The results of one suite on disk, kept as they come."""

    def __init__(self, folder: Path, config: EvaluateConfig, robot: Fingerprint) -> None:
        where = f"{config.on}." if config.on else ""
        make_results_folder(folder)  # before any episode is run
        self._folder = folder
        self._name = file_name(f"{where}{suite_name(config.suite)}")
        self._config = config
        self.robot = robot.digest
        self._ours = robot.version == package_version("polygait")
        self._rows = {_key(row): row for row in self._read()}

    def has(self, cell: _Cell) -> bool:
        """Whether nothing is left to measure; what 0.1 kept does not say how far robots came."""
        row = self._find(cell)
        return row is not None and (cell.seconds is None or row["progress"] is not None)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Keep rows beside those that other processes have written in the meantime."""
        with writing_results(self._folder):
            self._rows |= {_key(row): row for row in [*self._read(), *rows]}
            frame = pl.DataFrame(list(self._rows.values()), schema=SCHEMA)
            parquet = io.BytesIO()
            frame.write_parquet(parquet)
            replace_result(self._folder / f"{self._name}.parquet", parquet.getvalue())
            table = frame.drop(*_LISTS).write_csv().encode()
            replace_result(self._folder / f"{self._name}.csv", table)

    def frame(self, cells: Sequence[_Cell]) -> pl.DataFrame:
        return pl.DataFrame([self._find(cell) for cell in cells], schema=SCHEMA)

    def _find(self, cell: _Cell) -> dict[str, Any] | None:
        place = (cell.member, cell.world, self._config.episodes, self._config.seed)
        measured = (*place, cell.weights, _made_with())
        row = self._rows.get((*measured, self.robot))
        if (
            row is None and self._ours
        ):  # before there were fingerprints, its version told all about a robot of ours
            row = self._rows.get((*measured, None))
        name, scale, variation = cell.condition
        return None if row is None else {**row, "condition": name, "scale": scale, "variation": variation}

    def _read(self) -> list[dict[str, Any]]:
        """Earlier results; a file that cannot be read is made anew."""
        try:
            data = read_bounded(self._folder / f"{self._name}.parquet", _LARGEST_FILE)
            return read_rows(data).to_dicts()
        except (FileNotFoundError, pl.exceptions.PolarsError, OSError, UserError):
            return []


def read_rows(data: bytes) -> pl.DataFrame:
    """A table of results, also of earlier versions; what these did not know is null."""
    frame = pl.read_parquet(io.BytesIO(data))
    missing = [name for name in _ADDED if name not in frame.columns]
    whole = frame.with_columns(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in missing)
    if dict(whole.schema) != dict(pl.Schema(SCHEMA)):
        raise UserError("its columns are not those of an evaluation")
    return whole.select(list(SCHEMA))


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _KEY)


def _made_with() -> str:
    known = versions()
    return ", ".join(f"{name} {known[name]}" for name in _MAKERS if name in known)


def _plan(make: Callable[[int], Task], conditions: int, episodes: int) -> Plan:
    """How much work there is, and a guess at its time from a few steps of physics."""
    rows = max(1, min(128, episodes))
    task = make(rows)
    task.reset()
    actions = np.zeros((rows, task.action_size))
    task.step(actions)
    begun = time.perf_counter()
    for _ in range(_PROBE_STEPS):
        task.step(actions)
    pace = rows * _PROBE_STEPS / (time.perf_counter() - begun)
    steps = episodes * task.max_episode_steps
    return Plan(conditions, episodes, steps, steps / pace)


def percentile_performance(returns: np.ndarray, percentiles: Sequence[float]) -> np.ndarray:
    """What the members of a population reach from its worst (0) to its best (100), interpolated."""
    return np.percentile(np.asarray(returns, dtype=np.float64), percentiles)
