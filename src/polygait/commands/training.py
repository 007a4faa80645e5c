"""The commands that grow populations: train, resume, extend."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import tyro.conf

from polygait.commands.experiments import go_on_with_motivation
from polygait.commands.shared import RunPath, interruptible, name_robot
from polygait.console import print_members
from polygait.errors import UserError

if TYPE_CHECKING:
    from polygait.population.population import Population


def train(
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")],
    /,
    *,
    out: str,
    method: str = "dir",
    learner: str = "ppo",
    members: int | None = None,
    steps: int = 2_000_000,
    seed: int = 0,
    preset: str = "robust",
    remove: tuple[str, ...] | None = None,
    alpha: float | None = None,
    envs: int | None = None,
    threads: int | None = None,
    layout: str | None = None,
    tensorboard: bool = False,
    set: tuple[str, ...] = (),
) -> None:
    """Grow a population of different gaits into a new run folder.

    Example: polygait train walker --members 10 --steps 2M --out runs/walker

    Args:
        task: The robot, gym:ENV-ID, my_robot.py:MyRobot or package.module:MyRobot.
        out: The run folder to make.
        method: dir, smerl, dvd, multi or pg.
        learner: How policies improve: ppo or sac.
        members: How many different ways to find (10 if left out); pg finds one, with the steps of so many.
        steps: Environment steps per member, rounded up to whole rollouts.
        seed: All randomness follows from it.
        preset: robust mends the known flaws; paper follows the paper and its authors.
        remove: State parts in which members may differ, such as "right_leg.*"; the robot's own if left out.
        alpha: Factor of the diversity bonus.
        envs: Environments per member.
        threads: Physics threads, all cores if left out; results do not depend on it.
        layout: A TOML file that names what a gym:ENV-ID shows; the environment's own names if left out.
        tensorboard: Also write event files for TensorBoard (needs the extra "tensorboard").
        set: Any other setting, such as ppo.epochs=5 dir.bound=none; all are in docs/settings.md.

    """
    from polygait.config import TrainConfig
    from polygait.runs import train as train_run

    config = TrainConfig(
        task, method, members, steps, seed, preset, learner, remove, alpha, envs, threads, set, layout
    )
    _run(out, lambda report: train_run(config, out, report), tensorboard)


def resume(
    run: RunPath, /, *, task: str | None = None, threads: int | None = None, tensorboard: bool = False
) -> None:
    """Go on after a stop, bit for bit.

    Example: polygait resume runs/walker

    Args:
        run: The run folder.
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
        threads: Physics threads, all cores if left out; results do not depend on it.
        tensorboard: Also write event files for TensorBoard.
    """
    from polygait.diversity.registry import METHODS
    from polygait.population.store import RunFolder
    from polygait.runs import resume as resume_run

    name_robot(task)
    folder = RunFolder.open(run)
    if "experiment" in folder.manifest:
        if tensorboard:
            raise UserError("An experiment writes no event files.", "Leave --tensorboard out.")
        go_on_with_motivation(run, threads)
        return
    if folder.complete:
        single = METHODS.find(folder.manifest["config"]["method"]).single
        more = "" if single else f"; discover more with: polygait extend {shlex.quote(run)} --members 5"
        print(f"{run} is already finished{more}")
        return
    _run(run, lambda report: resume_run(run, threads, report), tensorboard)


def extend(
    run: RunPath,
    /,
    *,
    task: str | None = None,
    members: int | None = None,
    until_novelty: float | None = None,
    max_members: int | None = None,
    max_hours: float | None = None,
    threads: int | None = None,
    tensorboard: bool = False,
) -> None:
    """Discover more members; the earlier ones stay untouched.

    Example: polygait extend runs/walker --members 5

    Args:
        run: The run folder.
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
        members: How many more.
        until_novelty: Go on until a new member is less novel than this, in nats.
        max_members: With until-novelty or max-hours: at most so many more (100 if left out).
        max_hours: Begin no new member after so many hours.
        threads: Physics threads, all cores if left out; results do not depend on it.
        tensorboard: Also write event files for TensorBoard.
    """
    from polygait.runs import Extension
    from polygait.runs import extend as extend_run

    name_robot(task)
    if members is None and until_novelty is None and max_hours is None:
        raise UserError("How far to extend?", "Give --members 5, --until-novelty 2 or --max-hours 3.")
    if members is not None and max_members is not None:
        raise UserError("--members and --max-members exclude each other.", "Give the one you mean.")
    most = next((count for count in (members, max_members) if count is not None), 100)
    extension = Extension(most, until_novelty, max_hours)
    _run(run, lambda report: extend_run(run, extension, threads, report), tensorboard)


def _run(path: str, work: Callable[[Any], Population], tensorboard: bool) -> None:
    """Training with progress, and its members."""
    from polygait.progress import all_of, printer
    from polygait.tensorboard import event_writer

    report = all_of(printer(), event_writer(path)) if tensorboard else printer()
    print_members(path, interruptible(path, lambda: work(report)))
