"""The command line: parse, call, print. Heavy imports happen inside the verbs."""

from __future__ import annotations

import inspect
import json as json_module
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import tyro.conf

from polygait.errors import UserError, unknown_name

if TYPE_CHECKING:
    from rich.console import Console

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


VERBS: dict[str, Callable[..., None]] = {"tasks": tasks}


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
        tyro.cli(VERBS[verb], prog=f"polygait {verb}", args=arguments[1:])
    except UserError as error:
        print(f"polygait: {error}", file=sys.stderr)
        sys.exit(2)


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
