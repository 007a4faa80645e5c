"""The commands that show robots and what was found: tasks, render, report."""

from __future__ import annotations

import json as json_module
import shlex
import sys
from typing import Annotated, Any, Literal, NamedTuple

import tyro.conf

from polygait.commands.shared import RunPath
from polygait.console import print_report
from polygait.errors import UserError
from polygait.task_console import print_findings, print_task, print_tasks

Renderer = Literal["auto", "egl", "osmesa", "rays"]
TaskName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def tasks(
    name: TaskName = "",
    /,
    *,
    json: bool = False,
    picture: str | None = None,
    check: bool = False,
    write: str | None = None,
    set: tuple[str, ...] = (),
) -> None:
    """The robots, or one robot's state parts, actions, filter, conditions, joints and bodies.

    Example: polygait tasks go2.xml --picture go2.svg

    Args:
        name: The robot to describe, or a model file such as go2.xml; all robots are listed when left out.
        json: Print for a program to read.
        picture: Draw the robot with the names of its joints, bodies and feet into this .svg or .png instead.
        check: Try the robot out and say what is wrong with it; the exit code is 1 if anything is.
        write: Write the robot of a model file out as this .py file, to be edited.
        set: Options of the robot, such as task.forward="'y'" task.speed=1.0.

    """
    if picture is not None or check or write is not None:
        _with_one_robot(name, json, _Wish(picture, check, write), set)
        return
    from polygait.run_config import task_options
    from polygait.tasks.describe import describe_task
    from polygait.tasks.registry import task_names

    if set and not name:
        raise UserError("Whose options are meant?", "Name the robot: polygait tasks go2.xml --set …")
    described = [describe_task(one, task_options(set)) for one in ([name] if name else task_names())]
    if json:
        print(json_module.dumps(described[0] if name else described, indent=2))
    elif name:
        print_task(described[0])
    else:
        print_tasks(described)


def render(
    run: RunPath,
    /,
    *,
    out: str,
    member: int | None = None,
    variation: str = "nominal",
    seed: int = 0,
    seconds: float | None = None,
    frames: int | None = None,
    speed: float | None = None,
    size: tuple[int, int] | None = None,
    on: str | None = None,
    renderer: Renderer = "auto",
) -> None:
    """Draw a member in any world: a film (.mp4) or a strip of pictures (.png); what changed is red.

    Example: polygait render runs/walker --member 3 --variation broken-foot --out gait.mp4

    Args:
        run: The run folder.
        out: The file to write, ending in .mp4 or .png.
        member: Which member; the best nominal one if left out.
        variation: What changed, such as broken-foot or "foot-mass=1.5+broken-leg@300".
        seed: Of the episode's start.
        seconds: Film: at most so much of the episode. Strip: the stretch it shows, 1.2 if left out.
        frames: Strip: how many pictures, 8 if left out.
        speed: Film: 0.5 is half as fast as life.
        size: Width and height of one picture, even numbers.
        on: Another task with the same state and actions.
        renderer: egl, osmesa or rays; auto takes the first of them that works.

    """
    from polygait.population.population import load
    from polygait.progress import Counter, amount, finish
    from polygait.report.pictures.painters import drawn_by
    from polygait.report.pictures.video import RenderConfig
    from polygait.report.pictures.video import render as render_member

    population = load(run)
    if member is None:
        member = max(population.members, key=lambda one: one.summary["nominal_return"]).index
    config = RenderConfig(variation, seed, seconds, frames, speed, size, on, renderer)
    done = render_member(population, member, out, config, Counter("frames"))
    finish()
    recording = done.recording
    ended = "falls" if recording.fell else "ends"
    print(
        f"{done.path}: member {member}, {variation}; its episode {ended} after {recording.seconds:.1f} s "
        f"with return {amount(recording.total_reward)}; {drawn_by(done.renderer)}."
    )


def report(
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN|STUDY")],
    /,
    *,
    out: str | None = None,
    video: bool = False,
    pictures: bool = True,
    figures: str | None = None,
    renderer: Renderer = "auto",
) -> None:
    """Write one HTML page that shows what a run or a study found; it needs no network.

    Example: polygait report runs/walker --out walker.html

    Args:
        run: The run folder; or a study's TOML file, or the folder of its jobs.
        out: The page to write; if left out, report.html in the run folder, report/report.html in a study's.
        video: Also put a film of every member on the page of a run.
        pictures: Draw members and robot of a run; without, the page is made faster.
        figures: Also write every chart as SVG and PNG into this folder.
        renderer: egl, osmesa or rays; auto takes the first of them that works.

    """
    from polygait.study.study_paths import is_study

    if is_study(run):
        from polygait.report.study.page import write_study_page

        if video or not pictures or renderer != "auto":
            raise UserError(
                "--video, --no-pictures and --renderer are for the page of a run.",
                "Leave them out: a study's page has tables and charts.",
            )
        print_report(write_study_page(run, out, figures))
        return
    from polygait.progress import Counter, finish
    from polygait.report.run.page import ReportConfig, write_report

    config = ReportConfig(pictures, video, renderer, figures)
    written = write_report(run, out, config, Counter("pieces"))
    finish()
    print_report(written)


class _Wish(NamedTuple):
    """What is to be done with a robot instead of describing it; one of these."""

    picture: str | None
    check: bool
    write: str | None


def _with_one_robot(name: str, json: bool, wish: _Wish, settings: tuple[str, ...]) -> None:
    from polygait.run_config import task_options

    options = task_options(settings)
    if sum((wish.picture is not None, wish.check, wish.write is not None)) > 1:
        raise UserError("--picture, --check and --write exclude each other.", "Give one at a time.")
    if not name:
        verb = "drawn" if wish.picture else "checked" if wish.check else "written"
        raise UserError(f"Which robot is to be {verb}?", "Give its name: polygait tasks walker ….")
    if json and not wish.check:
        raise UserError("--json goes with a description or with --check.", "Leave it out.")
    if wish.picture is not None:
        from polygait.report.pictures.cards import save_card

        print(save_card(name, wish.picture, options=options))
    elif wish.write is not None:
        _write_robot(name, wish.write, options)
    else:
        from polygait.tasks.check import PROBLEM, check_task

        findings = check_task(name, options)
        if json:
            print(json_module.dumps([one._asdict() for one in findings], indent=2))
        else:
            print_findings(findings)
        if any(one.verdict == PROBLEM for one in findings):
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
