"""One job from its beginning to its end: train, measure, write the result down.

JOB/job.json               what to do
JOB/run/                   the population, its checkpoints and evaluations
JOB/result-ADDRESS.json    what was measured; there when all is done
JOB/status.json            how far it is, renewed while it runs; effort.json, what it cost
JOB/log.txt                what its processes said
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygait.errors import UserError
from polygait.storage.file_names import file_name
from polygait.storage.files import make_folder, read_bounded, refuse_links, write_atomically
from polygait.storage.strict_json import canonical, from_plain, parse, to_plain
from polygait.study.checking import check_result, require_object
from polygait.study.grid import FORMAT, Measures, StudyJob
from polygait.tasks.registry import name_task

if TYPE_CHECKING:
    import polars as pl

    from polygait.population.population import Population
    from polygait.progress import Progress

JOB_LIMIT, RESULT_LIMIT = 2**20, 2**28
CURVE_POINTS = 100
"""Of every member's learning curve."""
RUN_AGAIN = "run the study again; what is done is kept"

PHASES = {"training": 0.8, "evaluating": 0.14, "fresh episodes": 0.02, "diversity": 0.01, "contacts": 0.03}
"""What a job goes through, and the share of its time that each phase takes, roughly."""

Tell = Callable[[str, float, dict[str, Any]], None]
"""Told the phase of a job, its share of that phase, and numbers to show."""


def share_of_job(phase: str, share: float) -> float:
    """How much of a whole job is done when this share of a phase is."""
    before = list(PHASES).index(phase)
    return sum(list(PHASES.values())[:before]) + PHASES[phase] * share


class JobFolder:
    """Where one job lives."""

    def __init__(self, path: Path, measures: Measures) -> None:
        self.path = path
        self.run = path / "run"
        self.log = path / "log.txt"
        self.result = path / f"result-{measures.address}.json"

    @classmethod
    def of(cls, out: Path, job: StudyJob) -> JobFolder:
        """The folder of a job in a study's folder."""
        return cls(out / "jobs" / job.name, job.measures)

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self.result.exists()

    def prepare(self, job: StudyJob) -> None:
        """Write down what to do; from here on everything below is written to."""
        refuse_links(self.path.parents[1], f"{self.path.parent.name}/{self.path.name}")
        make_folder(self.path)
        write_atomically(self.path / "job.json", canonical(to_plain(job.to_json())), RUN_AGAIN)

    def write_status(self, status: dict[str, Any]) -> None:
        """Say how far the job is; only the process that runs it, or that saw it end, may."""
        about = {**status, "process": os.getpid(), "host": socket.gethostname()}
        write_atomically(self.path / "status.json", canonical(to_plain(about)), RUN_AGAIN)

    def status(self) -> dict[str, Any]:
        """What was last said; empty before the first time, and where it cannot be read."""
        try:
            said = from_plain(parse(read_bounded(self.path / "status.json", JOB_LIMIT)))
        except (FileNotFoundError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def read_result(self, members: int) -> dict[str, Any]:
        """What was measured of a population of so many members, checked."""
        remedy = "Delete it and run the study again."
        try:
            result = from_plain(parse(read_bounded(self.result, RESULT_LIMIT)))
            check_result(result, members)
        except UserError as error:  # it cannot be read at all
            raise UserError(error.problem, remedy) from error
        except ValueError as error:
            raise UserError(f"Damaged: {self.result}: {error}.", remedy) from error
        return result


def read_job(path: Path) -> StudyJob:
    """What job.json asks for; whatever else the file holds is named."""
    file = path / "job.json"
    remedy = "Restore it from a copy, or ask by the study's file: polygait study report STUDY.toml"
    try:
        data = parse(read_bounded(file, JOB_LIMIT))
        for name in ("config", "measures"):
            require_object(data.get(name) if isinstance(data, dict) else data, name)
        job = StudyJob.from_json(data)
    except UserError as error:
        raise UserError(f"Damaged: {file}: {error.problem}", error.remedy or remedy) from error
    except FileNotFoundError as error:
        raise UserError(f"{path} is not the folder of a job: it has no job.json.") from error
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise UserError(f"Damaged: {file} is not a job: {error}.", remedy) from error
    if problems := list(_type_problems(job)):
        raise UserError(f"Damaged: {file} is not a job: {'; '.join(problems)}.", remedy)
    return job


def name_robot(path: Path) -> None:
    """Run the code of a job's robot: whoever runs a study has named it in the study's file."""
    data = parse(read_bounded(path / "job.json", JOB_LIMIT))
    config = data.get("config") if isinstance(data, dict) else None
    if isinstance(config, dict) and isinstance(task := config.get("task"), str):
        name_task(task)


def _type_problems(job: StudyJob) -> Iterator[str]:
    """Fields of another kind than polygait writes; numbers were checked with the configuration."""
    config, measures = job.config, job.measures
    for name in ("task", "method", "preset"):
        if not isinstance(getattr(config, name), str):
            yield f"config.{name} must be a text, got {getattr(config, name)!r}"
    for name in ("episodes", "held_out", "seed", "diversity_states", "contact_episodes"):
        if type(getattr(measures, name)) is not int:
            yield f"measures.{name} must be a whole number, got {getattr(measures, name)!r}"
    texts: dict[str, Any] = {"config.remove": config.remove or (), "config.overrides": config.overrides}
    texts |= {"measures.suites": measures.suites, "measures.suite_texts": measures.suite_texts}
    for name, values in texts.items():
        if not isinstance(values, tuple | dict) or not all(isinstance(value, str) for value in values):
            yield f"{name} must hold texts, got {values!r}"


def run_job(path: Path, threads: int, tell: Tell) -> None:
    """Train and measure whatever is missing; killed at any moment and run again, the result is the same."""
    name_robot(path)
    job = read_job(path)
    folder = JobFolder(path, job.measures)
    refuse_links(path)
    population = _trained(job, folder, threads, tell)
    result = {
        "format": FORMAT,
        "job": job.name,
        "config": job.run.to_json(),
        **_measured(job, folder, population, threads, tell),
    }
    write_atomically(folder.result, canonical(to_plain(result)), RUN_AGAIN)


def _trained(job: StudyJob, folder: JobFolder, threads: int, tell: Tell) -> Population:
    from dataclasses import replace

    from polygait.progress import all_of, printer
    from polygait.runs import resume, train

    def watch(progress: Progress) -> None:
        if progress.phase:
            return  # the job's own phase says as much
        numbers = {"steps_per_second": progress.steps_per_second, "return": progress.episode_return}
        tell("training", progress.share, numbers)

    report = all_of(printer(), watch)
    if (folder.run / "manifest.json").exists():
        return resume(folder.run, threads, report)
    return train(replace(job.config, threads=threads), folder.run, report)


def _measured(
    job: StudyJob, folder: JobFolder, population: Population, threads: int, tell: Tell
) -> dict[str, Any]:
    from polygait.population.store import RunFolder

    measures = job.measures
    frame, whole = _evaluated(measures, folder, population, threads, tell)
    beside = ("weights", "made_with", "episodes", "seed")
    return {
        "versions": RunFolder.open(folder.run).manifest["versions"],
        "returns": frame.drop("returns", "progress", *beside).to_dict(as_series=False),
        **{suite: one.drop(*beside).to_dict(as_series=False) for suite, one in whole.items()},
        "held_out": _held_out(frame, population, measures, threads, tell),
        "curves": _curves(folder),
        **_behaviour(population, measures, threads, tell),
    }


def _evaluated(
    measures: Measures, folder: JobFolder, population: Population, threads: int, tell: Tell
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """All suites in one frame, a condition that several have only once; and those judged as a whole by name.

    Of these only the nominal world stands among the rest: tables of conditions are about chosen ones.
    """
    import polars as pl

    from polygait.evaluation import evaluate
    from polygait.suites import MADE_FROM_ANATOMY

    frames, whole = [], {}
    for place, suite in enumerate(measures.suites):

        def count(done: int, total: int, place: int = place) -> None:
            tell("evaluating", (place + done / max(1, total)) / len(measures.suites), {})

        options: dict[str, Any] = {"suite": _suite(suite, measures, folder), "threads": threads}
        options |= {"episodes": measures.episodes, "seed": measures.seed}
        frame = evaluate(population, count, None, **options)
        if suite in MADE_FROM_ANATOMY:
            whole[suite], frame = frame, frame.filter(variation="nominal")
        frames.append(frame)
    key = ["member", "condition", "variation"]
    return pl.concat(frames).unique(key, keep="first", maintain_order=True), whole


def _suite(suite: str, measures: Measures, folder: JobFolder) -> str:
    """A suite's name, or its file written out where this job runs."""
    if suite not in measures.suite_texts:
        return suite
    path = folder.path / "suites" / f"{file_name(suite.removesuffix('.toml'))}.toml"
    write_atomically(path, measures.suite_texts[suite].encode(), RUN_AGAIN)
    return str(path)


def _held_out(
    frame: pl.DataFrame, population: Population, measures: Measures, threads: int, tell: Tell
) -> dict[str, list[Any]] | None:
    """The member that would be chosen in every condition, and its mean return on fresh episodes."""
    from polygait.adaptation.simulator import Simulator
    from polygait.episodes import task_factory

    if measures.held_out == 0:
        return None
    make = task_factory(population, None, threads)
    columns: dict[str, list[Any]] = {"condition": [], "scale": [], "member": [], "mean_return": []}
    cells = frame.partition_by("condition", "variation", maintain_order=True)
    for place, cell in enumerate(cells):
        tell("fresh episodes", place / len(cells), {})
        chosen = cell.row(int(cell["mean_return"].arg_max() or 0), named=True)
        simulator = Simulator(population, make, chosen["variation"], measures.seed)
        fresh = simulator.held_out(chosen["member"], measures.held_out)
        row = (chosen["condition"], chosen["scale"], chosen["member"], float(fresh.total_reward.mean()))
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return columns


def _behaviour(population: Population, measures: Measures, threads: int, tell: Tell) -> dict[str, Any]:
    """How members differ, and foot contacts, where they are wanted and there are several members and feet."""
    found: dict[str, Any] = {"diversity": None, "variance": None, "contacts": None, "patterns": None}
    if measures.diversity_states and len(population) > 1:
        from polygait.behaviour import diversity_score

        tell("diversity", 0.0, {})
        found["diversity"] = diversity_score(population, measures.diversity_states, measures.seed)
        found["variance"] = _variance(population, measures, threads)
    if measures.contact_episodes and population.make_task(1).feet:
        from polygait.behaviour import contact_pattern, contact_shares

        tell("contacts", 0.0, {})
        shares = contact_shares(population, measures.contact_episodes, seed=measures.seed, threads=threads)
        found["contacts"] = {"feet": list(shares.feet), "down": shares.down.tolist()}
        patterns = [
            contact_pattern(population, member.index, seed=measures.seed) for member in population.members
        ]
        found["patterns"] = {
            "time_step": patterns[0].time_step,
            "down": [
                ["".join("1" if down else "0" for down in foot) for foot in pattern.down.T]
                for pattern in patterns
            ],
        }
    return found


def _variance(population: Population, measures: Measures, threads: int) -> dict[str, list[Any]]:
    """In which parts of the state members differ, and how much of each the filter frees."""
    from polygait.information import gather_experience, shares_in

    experience = gather_experience(population, measures.variance_steps, measures.seed, threads)
    shares, freed = shares_in(experience, population), population.filter.removed_shares
    told = [None if math.isnan(share) else share for share in shares.values()]
    return {"part": list(shares), "share": told, "freed": [freed[part] for part in shares]}


def _curves(folder: JobFolder) -> dict[str, list[Any]]:
    """How every member's return grew: its index, its steps, the mean return of recent episodes."""
    from polygait.population.store import RunFolder

    columns: dict[str, list[Any]] = {"member": [], "steps": [], "return": []}
    lines = RunFolder.open(folder.run).metrics()
    last = {line["members"][0]: line["iteration"] for line in lines}  # members may differ in it
    every = max(1, (max(last.values(), default=0) + 1) // CURVE_POINTS)
    for line in lines:
        if line["iteration"] % every == 0 or line["iteration"] == last[line["members"][0]]:
            for place, value in enumerate(line["return"]):
                columns["member"].append(line["members"][0] + place)
                columns["steps"].append(line["steps"])
                columns["return"].append(value)
    return columns
