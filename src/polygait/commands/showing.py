"""The commands that show robots and what was found: tasks, render, report."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Literal

import tyro.conf

from polygait.commands.shared import RunPath, name_robot
from polygait.console import print_report, print_task, print_tasks
from polygait.errors import UserError

Renderer = Literal["auto", "egl", "osmesa", "rays"]
TaskName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def tasks(name: TaskName = "", /, *, json: bool = False, picture: str | None = None) -> None:
    """The robots, or one robot's state parts, filter, conditions, joints and bodies.

    Example: polygait tasks walker --picture walker.svg

    Args:
        name: The robot to describe; all are listed when left out.
        json: Print for a program to read.
        picture: Draw the robot with the names of its joints, bodies and feet into this .svg or .png instead.

    """
    if picture is not None:
        _draw_robot(name, picture, json)
        return
    from polygait.tasks.describe import describe_task
    from polygait.tasks.registry import task_names

    described = [describe_task(one) for one in ([name] if name else task_names())]
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
    task: str | None = None,
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
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
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

    name_robot(task)
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
    task: str | None = None,
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
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
        out: The page to write; if left out, report.html in the run folder, report/report.html in a study's.
        video: Also put a film of every member on the page of a run.
        pictures: Draw members and robot of a run; without, the page is made faster.
        figures: Also write every chart as SVG and PNG into this folder.
        renderer: egl, osmesa or rays; auto takes the first of them that works.

    """
    from polygait.study.study_paths import is_study

    name_robot(task)
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


def _draw_robot(name: str, picture: str, json: bool) -> None:
    """Write a robot's card."""
    from polygait.report.pictures.cards import save_card

    if not name:
        raise UserError("Which robot is to be drawn?", "Give its name: polygait tasks walker --picture FILE.")
    if json:
        raise UserError("--json and --picture exclude each other.", "Give the one you mean.")
    print(save_card(name, picture))
