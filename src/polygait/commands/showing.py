"""The commands that show robots and what was found: tasks, render, watch, report."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import tyro.conf

from polygait.commands.shared import Flat, Json, RobotSource, RunPath, name_robot, print_json
from polygait.config import RenderConfig, ReportConfig, TasksConfig, WatchConfig
from polygait.console import print_report
from polygait.errors import UserError
from polygait.task_console import print_findings, print_task, print_tasks

TaskName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def tasks(name: TaskName = "", /, *, options: Annotated[TasksConfig, Flat], json: Json = False) -> None:
    """The robots, or one robot's state parts, actions, filter, conditions, joints and bodies.

    Example: polygait tasks walker --picture walker.svg

    Args:
        name: The robot to describe, or a model file such as go2.xml; all robots are listed when left out.

    """
    if options.picture is not None or options.check or options.write is not None:
        _with_one_robot(name, json, options)
        return
    from polygait.resolving import task_options
    from polygait.tasks.describe import describe_task
    from polygait.tasks.registry import task_names

    if options.settings and not name:
        raise UserError("Whose options are meant?", "Name the robot: polygait tasks go2.xml --set …")
    names = [name] if name else task_names()
    described = [describe_task(robot, task_options(options.settings)) for robot in names]
    if json:
        print_json(described[0] if name else described)
    elif name:
        print_task(described[0])
    else:
        print_tasks(described)


def render(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    out: str,
    member: int | None = None,
    options: Annotated[RenderConfig, Flat],
) -> None:
    """Draw a member in any world: a film, a moving picture or a strip of pictures; what changed is red.

    Example: polygait render runs/walker --member 3 --variation broken-foot --out gait.mp4

    Args:
        out: The file to write, ending in .mp4, .gif, .webp or, for a strip, .png.
        member: Which member; the best nominal one if left out.

    """
    from polygait.population.population import load
    from polygait.progress import Counter, amount, finish
    from polygait.report.pictures.painters import drawn_by
    from polygait.report.pictures.video import render as render_member

    name_robot(task)
    population = load(run)
    if options.story:
        from polygait.report.run.story import render_story

        told = render_story(population, out, options, member, Counter("frames"))
        finish()
        scenes = "; ".join(f"{scene.title}, {scene.outcome}" for scene in told.scenes)
        print(f"{told.path}: {scenes}; {drawn_by(told.renderer)}.")
        return
    member = population.best_nominal if member is None else member
    done = render_member(population, member, out, options, Counter("frames"))
    finish()
    recording = done.recording
    ended = f"{'falls' if recording.fell else 'ends'} after {recording.seconds:.1f} s"
    print(
        f"{done.path}: member {member}, {options.variation}; its episode {ended} "
        f"with return {amount(recording.total_reward)}; {drawn_by(done.renderer)}."
    )


def watch(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    member: int | None = None,
    options: Annotated[WatchConfig, Flat],
) -> None:
    """Show a member in any world in MuJoCo's own viewer; it needs a screen. What changed is red.

    Example: polygait watch runs/walker --member 3 --variation broken-leg

    Args:
        member: Which member; the best nominal one if left out.

    """
    from polygait.population.population import load
    from polygait.progress import amount
    from polygait.report.pictures.watching import Watched
    from polygait.report.pictures.watching import watch as watch_member

    name_robot(task)
    population = load(run)
    member = population.best_nominal if member is None else member

    def tell(seen: Watched) -> None:
        ended = f"{'falls' if seen.fell else 'ends'} after {seen.seconds:.1f} s"
        print(f"seed {seen.seed}: {ended} with return {amount(seen.total_reward)}", flush=True)

    print(f"member {member}, {options.variation}: close the window to end.", flush=True)
    watch_member(population, member, options, tell)


def report(
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN|STUDY")],
    /,
    *,
    task: RobotSource = None,
    out: str | None = None,
    options: Annotated[ReportConfig, Flat],
) -> None:
    """Write one HTML page that shows what a run or a study found; it needs no network.

    Example: polygait report runs/walker --out walker.html

    Args:
        run: The run folder; or a study's TOML file, or the folder of its jobs.
        out: The page to write; if left out, report.html in the run folder, report/report.html in a study's.

    """
    from polygait.study.study_paths import is_study

    name_robot(task)
    if is_study(run):
        from polygait.report.study.page import write_study_page

        if options != ReportConfig(figures=options.figures):
            raise UserError(
                "--video, --no-pictures and --renderer are for the page of a run.",
                "Leave them out: a study's page has tables and charts.",
            )
        print_report(write_study_page(run, out, options.figures))
        return
    from polygait.progress import Counter, finish
    from polygait.report.run.page import write_report

    written = write_report(run, out, options, Counter("pieces"))
    finish()
    print_report(written)


def _with_one_robot(name: str, json: bool, wanted: TasksConfig) -> None:
    """What is to be done with a robot instead of describing it."""
    from polygait.resolving import task_options

    options = task_options(wanted.settings)
    if sum((wanted.picture is not None, wanted.check, wanted.write is not None)) > 1:
        raise UserError("--picture, --check and --write exclude each other.", "Give one at a time.")
    if not name:
        done = "drawn" if wanted.picture else "checked" if wanted.check else "written"
        raise UserError(f"Which robot is to be {done}?", "Give its name: polygait tasks walker ….")
    if json and not wanted.check:
        raise UserError("--json goes with a description or with --check.", "Leave it out.")
    if wanted.picture is not None:
        from polygait.report.pictures.cards import save_card

        print(save_card(name, wanted.picture, options=options))
    elif wanted.write is not None:
        _write_robot(name, wanted.write, options)
    else:
        from polygait.tasks.check import PROBLEM, check_task

        findings = check_task(name, options)
        if json:
            print_json([finding._asdict() for finding in findings])
        else:
            print_findings(findings)
        if any(finding.verdict == PROBLEM for finding in findings):
            sys.exit(1)


def _write_robot(name: str, path: str, options: dict[str, Any]) -> None:
    from polygait.tasks.model_robot import is_model_file, robot_from_mjcf
    from polygait.tasks.write_robot import class_name, write_robot

    if not is_model_file(name):
        raise UserError(
            f"{name!r} is no model file, so its robot has a file already.",
            "Give a model that ends in .xml or .mjcf.",
        )
    robot = robot_from_mjcf(name, **options)
    written = write_robot(robot, path)
    print(f"{written}: edit it, then polygait tasks {shlex.quote(f'{written}:{class_name(robot)}')} --check")
