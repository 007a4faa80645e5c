"""The commands of `polygait study`: parse, call, print."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro.conf

from polygait.commands.shared import Flat, Json, print_json
from polygait.config import StudyRunConfig
from polygait.errors import UserError

if TYPE_CHECKING:
    from polygait.study.engines import Engine, StudyOutcome
    from polygait.study.grid import Study, StudyJob

StudyPath = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="STUDY", help="The study's TOML file, or a name that polygait study list shows."),
]
StudyFolder = Annotated[
    str | None,
    tyro.conf.arg(help="Where its jobs are kept; runs/NAME if left out. Studies may share a folder."),
]
_SHOW_SECONDS = 1.0


def study_list(*, json: Json = False) -> None:
    """The studies that come with polygait.

    Example: polygait study list
    """
    from polygait.screen import console, print_table
    from polygait.study.grid import read_study
    from polygait.study.shipped import study_names, study_purpose

    found = [(read_study(name), study_purpose(name)) for name in study_names()]
    if json:
        print_json(
            [
                {"name": one.name, "file": one.file, "jobs": one.size, "purpose": purpose}
                for one, purpose in found
            ]
        )
        return
    rows = [
        (one.name, str(one.size), ", ".join(one.methods), ", ".join(one.tasks), purpose)
        for one, purpose in found
    ]
    screen = console()
    print_table(screen, "", ("study", "jobs", "methods", "tasks", ""), rows)
    screen.print("What one would cost: polygait study run NAME --dry-run", style="dim")


def study_run(
    study: StudyPath,
    /,
    *,
    out: StudyFolder = None,
    options: Annotated[StudyRunConfig, Flat],
    dry_run: bool = False,
) -> None:
    """Train and measure every population of a study; what is done is skipped, what was begun goes on.

    Example: polygait study run smoke --jobs 2

    Args:
        dry_run: Say what it would cost, and end.

    """
    from polygait.study.engines import run_jobs
    from polygait.study.grid import read_study
    from polygait.study.status import Overview
    from polygait.study.study_paths import study_folder

    asked = read_study(study)
    wanted, folder = asked.jobs(), study_folder(asked, out)
    again, report = _command("run", study, out=out, **options.given), _command("report", study, out=out)
    if options.retries < 0:
        raise UserError(
            f"`retries` must not be negative, got {options.retries}.",
            f"Leave it out for {StudyRunConfig.retries}.",
        )
    chosen = _engine(options)
    try:
        if not _announce(asked, wanted, folder, chosen.slots):
            print(f"All {len(wanted)} jobs are done; read them with: {report}", file=sys.stderr)
            return
        if dry_run:
            return
        outcome = run_jobs(wanted, folder, chosen, options.retries, _every_second(Overview(wanted, folder)))
    except KeyboardInterrupt:
        print(f"\nStopped and saved. Go on with: {again}", file=sys.stderr)
        sys.exit(130)
    finally:
        chosen.stop()
    _tell(outcome, report, folder)


def study_status(study: StudyPath, /, *, out: StudyFolder = None, json: Json = False) -> None:
    """How far every job of a study is, also while it runs.

    Example: polygait study status smoke
    """
    from polygait.console import print_study
    from polygait.study.grid import read_study
    from polygait.study.status import study_status as statuses
    from polygait.study.study_paths import study_folder

    asked = read_study(study)
    found = statuses(asked.jobs(), study_folder(asked, out))
    if json:
        print_json([one._asdict() for one in found])
    else:
        print_study(asked.name, found)


def study_report(
    study: StudyPath, /, *, out: StudyFolder = None, to: str | None = None, charts: bool = True
) -> None:
    """The paper's tables and figures from what is done, beside the published ones, and a page of them.

    A report holds its data: with its folder in place of STUDY it is made again, without the jobs.

    Example: polygait study report smoke

    Args:
        to: Where to write tables and figures; report/ inside that folder if left out.
        charts: Draw figures as well, as HTML, SVG, PNG and PDF.

    """
    from polygait.report.study.report import write_report
    from polygait.study.grid import read_study
    from polygait.study.kept import is_kept, read_kept
    from polygait.study.results import read_results
    from polygait.study.study_paths import report_folder, study_folder

    if is_kept(study):
        asked, results = read_kept(study)
        place = Path(study if to is None else to)
    else:
        asked = read_study(study)
        folder = study_folder(asked, out)
        results = read_results(asked.jobs(), folder)
        if results.done == 0:
            raise UserError(
                f"No job of {study} is done in {folder}.", f"First: {_command('run', study, out=out)}"
            )
        place = Path(to) if to is not None else report_folder(folder)
    written = write_report(asked, results, place, charts)
    for table in written.tables:
        print(table.to_text())
    print(f"{results.done} of {results.jobs} jobs; {len(written.files)} files in {place}")
    print(f"Everything on one page: {place / 'report.html'}")


def _engine(options: StudyRunConfig) -> Engine:
    from polygait.study.engines import LocalEngine

    if options.engine == "local":
        if given := [f"`{name}`" for name in ("address", "cpus_per_job", "shared") if name in options.given]:
            raise UserError(
                f"{', '.join(given)}: only for `engine='ray'`.", "Add `engine='ray'` or leave it out."
            )
        return LocalEngine(options.jobs)
    from polygait.study.ray_engine import RayEngine

    if options.jobs is not None and options.address is not None:
        raise UserError(
            "`jobs` is for a cluster that is started here; an existing one takes as many as fit.",
            "Leave out `jobs`.",
        )
    cpus = 1 if options.cpus_per_job is None else options.cpus_per_job
    return RayEngine(options.address, options.jobs, cpus, options.shared)


def _announce(study: Study, jobs: list[StudyJob], folder: Path, slots: int) -> bool:
    """Say what is left to do and what it costs; False when nothing is left."""
    from polygait.study.estimate import estimate, free_bytes
    from polygait.study.jobs import JobFolder

    missing = [job for job in jobs if not JobFolder.of(folder, job).done]
    if not missing:
        return False
    cost = estimate(missing)
    done = len(jobs) - len(missing)
    print(f"{study.name}: {cost.on(slots)}{f' {done} are done.' if done else ''}", file=sys.stderr)
    print(f"Jobs and their logs: {folder}/jobs", file=sys.stderr)
    if (free := free_bytes(folder)) < cost.disk_bytes(slots):
        raise UserError(
            f"The disk of {folder} has only {free / 1e9:.1f} GB left.", "Free some, or choose another --out."
        )
    return True


def _every_second(overview: Callable[[], tuple[float, str]]) -> Callable[[], None]:
    from polygait.progress import liner

    show, last = liner(), 0.0

    def watch() -> None:
        nonlocal last
        if time.monotonic() >= last + _SHOW_SECONDS:
            last = time.monotonic()
            show(*overview())

    return watch


def _command(command: str, study: str, **options: object) -> str:
    """How to ask for it in a shell, with the options that were given."""
    words = ["polygait", "study", command, study]
    for name, value in options.items():
        if value is not None and value is not False:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


def _tell(outcome: StudyOutcome, report: str, folder: Path) -> None:
    from polygait.progress import finish

    finish()
    print(f"{len(outcome.done)} jobs are done; read them with: {report}")
    for name, reason in outcome.failed.items():
        print(f"Failed: {name}: {reason}\n  its log: {folder / 'jobs' / name / 'log.txt'}", file=sys.stderr)
    if outcome.failed:
        sys.exit(1)
