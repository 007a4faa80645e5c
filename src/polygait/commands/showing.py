"""The commands that show robots and what was found: tasks, render, report."""

from __future__ import annotations

from typing import Annotated

import tyro.conf

from polygait.commands.shared import Flat, Json, RunPath, print_json
from polygait.config import RenderConfig, ReportConfig
from polygait.console import print_report, print_task, print_tasks
from polygait.errors import UserError

TaskName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def tasks(name: TaskName = "", /, *, json: Json = False, picture: str | None = None) -> None:
    """The robots, or one robot's state parts, filter, conditions, joints and bodies.

    Example: polygait tasks walker --picture walker.svg

    Args:
        name: The robot to describe; all are listed when left out.
        picture: Draw the robot with the names of its joints, bodies and feet into this .svg or .png instead.

    """
    if picture is not None:
        _draw_robot(name, picture, json)
        return
    from polygait.tasks.describe import describe_task
    from polygait.tasks.registry import task_names

    described = [describe_task(one) for one in ([name] if name else task_names())]
    if json:
        print_json(described[0] if name else described)
    elif name:
        print_task(described[0])
    else:
        print_tasks(described)


def render(
    run: RunPath, /, *, out: str, member: int | None = None, options: Annotated[RenderConfig, Flat]
) -> None:
    """Draw a member in any world: a film (.mp4) or a strip of pictures (.png); what changed is red.

    Example: polygait render runs/walker --member 3 --variation broken-foot --out gait.mp4

    Args:
        out: The file to write, ending in .mp4 or .png.
        member: Which member; the best nominal one if left out.

    """
    from polygait.population.population import load
    from polygait.progress import Counter, amount, finish
    from polygait.report.pictures.painters import drawn_by
    from polygait.report.pictures.video import render as render_member

    population = load(run)
    if member is None:
        member = max(population.members, key=lambda one: one.summary["nominal_return"]).index
    done = render_member(population, member, out, options, Counter("frames"))
    finish()
    recording = done.recording
    ended = f"{'falls' if recording.fell else 'ends'} after {recording.seconds:.1f} s"
    print(
        f"{done.path}: member {member}, {options.variation}; its episode {ended} "
        f"with return {amount(recording.total_reward)}; {drawn_by(done.renderer)}."
    )


def report(
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN|STUDY")],
    /,
    *,
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


def _draw_robot(name: str, picture: str, json: bool) -> None:
    """Write a robot's card."""
    from polygait.report.pictures.cards import save_card

    if not name:
        raise UserError("Which robot is to be drawn?", "Give its name: polygait tasks walker --picture FILE.")
    if json:
        raise UserError("--json and --picture exclude each other.", "Give the one you mean.")
    print(save_card(name, picture))
