"""Where a study is: by its file, or by the folder of its jobs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

from polygait.errors import UserError
from polygait.run_config import RunConfig
from polygait.storage.files import refuse_links
from polygait.study.grid import Study, StudyJob, read_study
from polygait.study.jobs import read_job
from polygait.study.kept import is_kept


class LocatedStudy(NamedTuple):
    """A study and where its jobs are kept."""

    study: Study
    jobs: list[StudyJob]
    folder: Path
    damaged: tuple[str, ...] = ()
    """What is wrong with jobs that cannot be read."""


def is_study(path: str | Path) -> bool:
    """Whether this is a study's file, the folder of a study's jobs, or that of its report."""
    return Path(path).suffix == ".toml" or (Path(path) / "jobs").is_dir() or is_kept(path)


def study_folder(study: Study, out: str | None = None) -> Path:
    """The folder that was named, or runs/NAME."""
    folder = Path(out) if out is not None else Path("runs") / study.name
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; a study keeps its jobs in a folder.", "Choose another --out.")
    return folder


def report_folder(folder: Path) -> Path:
    """Where the report of the study in a folder goes if no other place is named."""
    refuse_links(folder, "report")
    return folder / "report"


def locate(path: str | Path) -> LocatedStudy:
    """A study from its file, its jobs in runs/NAME; or from the folder of its jobs."""
    if Path(path).suffix == ".toml":
        study = read_study(path)
        return LocatedStudy(study, study.jobs(), study_folder(study))
    return _by_jobs(Path(path))


def _by_jobs(folder: Path) -> LocatedStudy:
    """A study as its jobs tell it."""
    jobs, damaged = [], []
    for path in sorted((folder / "jobs").glob("*/job.json")):
        try:
            jobs.append(read_job(path.parent))
        except UserError as error:
            damaged.append(str(error).replace("\n", " "))
    if not jobs:
        holds = f"no job that can be read. {damaged[0]}" if damaged else "no job."
        raise UserError(f"{folder} holds {holds}", "Begin with: polygait study run STUDY.toml")
    whose = [(job.run.task, job.label, job.run.seed) for job in jobs]
    if len(set(whose)) < len(whose) or _differ(jobs):
        raise UserError(
            f"{folder} holds the jobs of more than one study.",
            f"Ask for the one you mean: polygait study report STUDY.toml --out {folder}",
        )
    tasks, methods, seeds = zip(*whose, strict=True)
    measures = {job.measures.address: job.measures for job in jobs}
    usual = max(measures, key=[job.measures.address for job in jobs].count)
    study = Study(
        name=folder.resolve().name,
        file="STUDY.toml",
        methods=tuple(dict.fromkeys(methods)),
        tasks=tuple(dict.fromkeys(tasks)),
        seeds=tuple(sorted(set(seeds))),
        training=_shared(jobs),
        task_training={},
        method_training={},
        measures=measures[usual],
        task_measures={job.run.task: job.measures for job in jobs if job.measures.address != usual},
    )
    return LocatedStudy(study, jobs, folder, tuple(damaged))


def _differ(jobs: list[StudyJob]) -> bool:
    """Whether jobs are of several studies: measured or, but for their seeds, trained differently."""
    training: dict[tuple[str, str], RunConfig] = {}
    measures: dict[str, str] = {}
    for job in jobs:
        alike, address = dataclasses.replace(job.run, seed=0), job.measures.address
        if training.setdefault((job.run.task, job.label), alike) != alike:
            return True
        if measures.setdefault(job.run.task, address) != address:
            return True
    return False


def _shared(jobs: list[StudyJob]) -> dict[str, object]:
    """The choices on which all jobs agree; PG has one member whatever the others have."""
    configs = [job.run for job in jobs if not job.run.method_class.single] or [job.run for job in jobs]
    found = {name: {getattr(config, name) for config in configs} for name in ("members", "steps", "preset")}
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}
