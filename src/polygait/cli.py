"""The command line: parse, call, print. Heavy imports happen inside the verbs."""

from __future__ import annotations

import inspect
import json as json_module
import math
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro.conf

from polygait.errors import UserError, unknown_name

if TYPE_CHECKING:
    from rich.console import Console

    from polygait.population.population import Population

RunPath = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
TaskName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def tasks(name: TaskName = "", /, *, json: bool = False) -> None:
    """The robots, or one robot's state parts, filter, conditions, joints and bodies.

    Example: polygait tasks walker

    Args:
        name: The robot to describe; all are listed when left out.
        json: Print for a program to read.

    """
    from polygait.tasks.describe import describe_task
    from polygait.tasks.registry import task_names

    described = [describe_task(one) for one in ([name] if name else task_names())]
    if json:
        print(json_module.dumps(described[0] if name else described, indent=2))
    elif name:
        _print_task(described[0])
    else:
        _print_tasks(described)


def train(
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")],
    /,
    *,
    out: str,
    method: str = "dir",
    members: int = 10,
    steps: int = 2_000_000,
    seed: int = 0,
    preset: str = "robust",
    remove: tuple[str, ...] | None = None,
    alpha: float | None = None,
    envs: int | None = None,
    threads: int | None = None,
    tensorboard: bool = False,
    set: tuple[str, ...] = (),
) -> None:
    """Grow a population of different gaits into a new run folder.

    Example: polygait train walker --members 10 --steps 2000000 --out runs/walker

    Args:
        task: The robot, or gym:ENV-ID.
        out: The run folder to make.
        method: dir, multi or pg.
        members: How many different ways to find.
        steps: Environment steps per member, rounded up to whole rollouts.
        seed: All randomness follows from it.
        preset: robust mends the known flaws; paper follows the paper and its authors.
        remove: State parts in which members may differ, such as "right_leg.*"; the robot's own if left out.
        alpha: Factor of the diversity bonus.
        envs: Environments per member.
        threads: Physics threads, all cores if left out; results do not depend on it.
        tensorboard: Also write event files for TensorBoard (needs the extra "tensorboard").
        set: Any other setting, such as ppo.epochs=5 dir.bound=none.

    """
    from polygait.config import TrainConfig
    from polygait.runs import train as train_run

    config = TrainConfig(task, method, members, steps, seed, preset, remove, alpha, envs, threads, set)
    _run(out, lambda report: train_run(config, out, report), tensorboard)


def resume(run: RunPath, /, *, threads: int | None = None, tensorboard: bool = False) -> None:
    """Go on after a stop, bit for bit.

    Example: polygait resume runs/walker

    Args:
        run: The run folder.
        threads: Physics threads, all cores if left out; results do not depend on it.
        tensorboard: Also write event files for TensorBoard.
    """
    from polygait.population.store import RunFolder
    from polygait.runs import resume as resume_run

    if RunFolder.open(run).complete:
        print(f"{run} is already finished; discover more with: polygait extend {run} --members 5")
        return
    _run(run, lambda report: resume_run(run, threads, report), tensorboard)


def extend(
    run: RunPath,
    /,
    *,
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
        members: How many more.
        until_novelty: Go on until a new member is less novel than this, in nats.
        max_members: With until-novelty or max-hours: at most so many more (100 if left out).
        max_hours: Begin no new member after so many hours.
        threads: Physics threads, all cores if left out; results do not depend on it.
        tensorboard: Also write event files for TensorBoard.
    """
    from polygait.runs import Extension
    from polygait.runs import extend as extend_run

    if members is None and until_novelty is None and max_hours is None:
        raise UserError("How far to extend?", "Give --members 5, --until-novelty 2 or --max-hours 3.")
    if members is not None and max_members is not None:
        raise UserError("--members and --max-members exclude each other.", "Give the one you mean.")
    most = next((count for count in (members, max_members) if count is not None), 100)
    extension = Extension(most, until_novelty, max_hours)
    _run(run, lambda report: extend_run(run, extension, threads, report), tensorboard)


VERBS: dict[str, Callable[..., None]] = {"tasks": tasks, "train": train, "resume": resume, "extend": extend}


def _run(path: str, work: Callable[[Any], Population], tensorboard: bool) -> None:
    """Long work with progress; an interruption says how to go on."""
    from polygait.progress import all_of, finish, printer
    from polygait.tensorboard import event_writer

    report = all_of(printer(), event_writer(path)) if tensorboard else printer()
    try:
        population = work(report)
    except KeyboardInterrupt:
        finish()
        begun = (Path(path) / "manifest.json").exists()
        word = (
            f"Stopped and saved. Go on with: polygait resume {path}"
            if begun
            else "Stopped; nothing was begun."
        )
        print(word, file=sys.stderr)
        sys.exit(130)
    finish()
    columns = ("member", "steps", "return (mean actions)", "falls", "novelty (nats)")
    rows = [
        (
            str(member.index),
            f"{member.steps:,}",
            f"{member.summary['nominal_return']:,.0f} ± {member.summary['nominal_std']:,.0f}",
            f"{100 * member.summary['nominal_falls']:.0f} %",
            f"{member.summary['novelty']:.2f}" if member.summary.get("novelty", math.inf) < math.inf else "–",
        )
        for member in population.members
    ]
    _print_table(_console(), f"{path}: {len(population)} members", columns, rows)


def main() -> None:
    """Run the command line; a user's mistake ends with its explanation and code 2."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return
    try:
        verb = arguments[0]
        if verb == "--version":
            from polygait import __version__

            print(f"polygait {__version__}")
            return
        if verb not in VERBS:
            raise unknown_name("verb", verb, VERBS)
        warnings.showwarning = _show_warning
        tyro.cli(VERBS[verb], prog=f"polygait {verb}", args=arguments[1:])
    except UserError as error:
        print(f"polygait: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("polygait: stopped.", file=sys.stderr)
        sys.exit(130)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"polygait: {message}", file=sys.stderr)


def overview() -> str:
    """All verbs with a line each, made without the parser's cost."""
    lines = ["usage: polygait VERB …", "", _SUMMARY, ""]
    for name, verb in VERBS.items():
        paragraphs = (inspect.getdoc(verb) or "").split("\n\n")
        example = next(one for one in paragraphs if one.startswith("Example: "))
        lines += [f"  {name:<12}{paragraphs[0]}", f"  {'':<12}{example.removeprefix('Example: ')}"]
    return "\n".join([*lines, "", "One verb's options: polygait VERB --help"])


_SUMMARY = "Many different ways for a robot to do a task, and the one that still works after damage."


def _print_tasks(described: list[dict[str, Any]]) -> None:
    console = _console()
    rows = [
        (
            one["name"],
            str(one["observation_size"]),
            str(one["action_size"]),
            str(len(one["feet"])),
            ", ".join(one["removed"]),
            str(len(one.get("conditions", {}))),
        )
        for one in described
    ]
    _print_table(
        console, "", ("task", "state", "actions", "feet", "default filter removes", "conditions"), rows
    )
    console.print("One robot's parts and conditions: polygait tasks NAME", style="dim")


def _print_task(one: dict[str, Any]) -> None:
    console = _console()
    console.print(
        f"[bold]{one['name']}[/]: {one['observation_size']} state numbers, {one['action_size']} actions, "
        f"{one['max_episode_steps']} steps an episode, feet: {', '.join(one['feet']) or 'none'}"
    )
    parts = [
        (
            part["name"],
            str(part["size"]),
            _shortened(part["numbers"]),
            {0: "[yellow]removed[/]", part["size"]: "kept"}.get(part["kept"], f"keeps {part['kept']}"),
        )
        for part in one["parts"]
    ]
    _print_table(console, "State", ("part", "size", "numbers", "default filter"), parts)
    if "conditions" in one:
        _print_table(console, "Named conditions", ("condition", "stands for"), one["conditions"].items())
        for kind in ("joints", "motors", "bodies", "geoms"):
            console.print(f"[bold]{kind}[/]: {', '.join(one[kind])}")
        console.print()
    title = "Edits: join several with +, let one begin at a step with @300"
    _print_table(console, title, ("edit", "how to write it"), one["edits"].items())


def _print_table(
    console: Console, title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*columns, box=SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _shortened(names: list[str], most: int = 4) -> str:
    more = f", … ({len(names)})" if len(names) > most else ""
    return ", ".join(names[:most]) + more
