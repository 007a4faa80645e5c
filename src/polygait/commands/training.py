"""The commands that grow populations: train, resume, extend."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from polygait.commands.experiments import go_on_with_motivation
from polygait.commands.shared import (
    Flat,
    RobotSource,
    RunPath,
    Tensorboard,
    Threads,
    interruptible,
    name_robot,
)
from polygait.config import Extension, TrainConfig
from polygait.console import print_members
from polygait.errors import UserError

if TYPE_CHECKING:
    from polygait.population.population import Population


def train(*, out: str, options: Annotated[TrainConfig, Flat], tensorboard: Tensorboard = False) -> None:
    """Grow a population of different gaits into a new run folder.

    Example: polygait train walker --members 10 --steps 2M --out runs/walker

    Args:
        out: The run folder to make.

    """
    from polygait.runs import train as train_run

    show_training(out, lambda report: train_run(options, out, report), tensorboard)


def resume(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    threads: Threads = None,
    tensorboard: Tensorboard = False,
) -> None:
    """Go on after a stop, bit for bit.

    Example: polygait resume runs/walker
    """
    from polygait.diversity.registry import METHODS
    from polygait.population.population import run_path
    from polygait.population.store import RunFolder
    from polygait.runs import resume as resume_run
    from polygait.zoo import is_zoo

    name_robot(task)
    folder = RunFolder.open(run_path(run))
    if "experiment" in folder.manifest:
        if tensorboard:
            raise UserError("An experiment writes no event files.", "Leave --tensorboard out.")
        go_on_with_motivation(run, threads)
        return
    if folder.complete:
        single = METHODS.find(folder.manifest["config"]["method"]).single
        fixed = single or is_zoo(run)
        more = "" if fixed else f"; discover more with: polygait extend {shlex.quote(run)} --members 5"
        print(f"{run} is already finished{more}")
        return
    show_training(run, lambda report: resume_run(run, threads, report), tensorboard)


def extend(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    options: Annotated[Extension, Flat],
    threads: Threads = None,
    tensorboard: Tensorboard = False,
) -> None:
    """Discover more members; the earlier ones stay untouched.

    Example: polygait extend runs/walker --members 5
    """
    from polygait.runs import extend as extend_run

    name_robot(task)
    show_training(run, lambda report: extend_run(run, options, threads, report), tensorboard)


def show_training(path: str, work: Callable[[Any], Population], tensorboard: bool) -> None:
    """Training with progress, and its members."""
    from polygait.progress import all_of, printer
    from polygait.tensorboard import event_writer

    report = all_of(printer(), event_writer(path)) if tensorboard else printer()
    print_members(path, interruptible(path, lambda: work(report)))
