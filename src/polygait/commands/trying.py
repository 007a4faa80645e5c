"""The command that leads a person through trials on a robot: trial."""

from __future__ import annotations

import json as json_module
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import tyro.conf

from polygait.commands.shared import RunPath
from polygait.config.trials import TrialsConfig
from polygait.console import print_trials
from polygait.errors import UserError
from polygait.screen import console

if TYPE_CHECKING:
    from rich.console import Console

    from polygait.adaptation import Trials

_FELL = ("fell", "f")
_BACK = ("back", "b")
_QUESTION = "What came out? A number, with 'fell' behind it if it fell; 'back' takes the last one back: "


def trial(
    run: RunPath, /, *, options: Annotated[TrialsConfig, tyro.conf.arg(name="")], json: bool = False
) -> None:
    """Try members on a robot: says which to load, asks what came out, and keeps every answer.

    Example: polygait trial runs/minitaur --budget 10

    Args:
        run: The run folder.
        options: How to spend trials.
        json: Print what is known in the end for a program to read.

    """
    from polygait.adaptation import Trials

    trials = Trials(run, **vars(options))
    screen = console(aside=json)
    again = f"polygait trial {shlex.quote(run)}" + _named(options.name)
    try:
        _lead(trials, screen)
    except KeyboardInterrupt:
        print(f"\nStopped; every answer is kept. Go on with: {again}", file=sys.stderr)
        sys.exit(130)
    if json:
        known = {"name": trials.name, "best": trials.best, "members": trials.report().to_dicts()}
        print(json_module.dumps(known | {"told": [one._asdict() for one in trials.told]}, indent=2))
    elif trials.best is not None:
        screen.print(f"Take member {trials.best}.", style="bold")
    if trials.ask() is not None:
        print(f"{len(trials.told)} of {trials.budget} trials are kept. Go on with: {again}", file=sys.stderr)


def _named(name: str) -> str:
    return "" if name == TrialsConfig.name else f" --name {shlex.quote(name)}"


def _lead(trials: Trials, screen: Console) -> None:
    """From question to answer until nothing is left to ask, or nobody answers."""
    print_trials(trials, screen)
    lines = _lines()
    while (member := trials.ask()) is not None:
        title = trials.population.members[member].title
        screen.print(f"Trial {len(trials.told) + 1} of {trials.budget}: load {title}.", style="bold")
        screen.print(_QUESTION, end="")
        line = next(lines, None)
        if line is None:
            screen.print()
            return
        try:
            _answer(trials, member, line.split())
        except UserError as error:
            if not sys.stdin.isatty():
                raise
            screen.print(str(error), style="red")
            continue
        print_trials(trials, screen)


def _answer(trials: Trials, member: int, words: list[str]) -> None:
    """Read an answer and tell it."""
    if words in ([word] for word in _BACK):
        trials.take_back()
        return
    fell = len(words) == 2 and words[1].lower() in _FELL
    try:
        value = float(words[0]) if len(words) == 1 or fell else None
    except ValueError:
        value = None
    if value is None:
        raise UserError(
            f"Cannot read {' '.join(words)!r}.",
            "Answer with a number such as 3.5, or 3.5 fell; nothing was recorded.",
        )
    trials.tell(member, value, fell)


def _lines() -> Iterator[str]:
    """What is typed or piped, line by line; empty lines are passed over."""
    for line in iter(sys.stdin.readline, ""):
        if line.strip():
            yield line
