"""What several commands need."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import tyro.conf

Outcome = TypeVar("Outcome")
RunPath = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]


def name_robot(task: str | None) -> None:
    """Run the code of a run's robot, which its user has named on the command line."""
    if task is not None:
        from polygait.tasks.registry import name_task

        name_task(task)


def interruptible(path: str, work: Callable[[], Outcome]) -> Outcome:
    """Long work; an interruption says how to go on."""
    from polygait.progress import finish

    try:
        outcome = work()
    except KeyboardInterrupt:
        finish()
        begun = (Path(path) / "manifest.json").exists()
        word = (
            f"Stopped and saved. Go on with: polygait resume {shlex.quote(path)}"
            if begun
            else "Stopped; nothing was begun."
        )
        print(word, file=sys.stderr)
        sys.exit(130)
    finish()
    return outcome
