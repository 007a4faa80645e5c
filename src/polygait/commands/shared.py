"""What several commands need."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro.conf

Outcome = TypeVar("Outcome")
RunPath = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="The run folder.")]
Flat = tyro.conf.arg(name="")
"""For a command's record of options: its fields are the options themselves."""
RobotSource = Annotated[
    str | None,
    tyro.conf.arg(help="Where the run's robot is, if it comes from a file or module: my_robot.py:MyRobot."),
]
Json = Annotated[bool, tyro.conf.arg(help="Print for a program to read.")]
Threads = Annotated[
    int | None, tyro.conf.arg(help="Physics threads, all cores if left out; results do not depend on it.")
]
Tensorboard = Annotated[
    bool, tyro.conf.arg(help='Also write event files for TensorBoard (needs the extra "tensorboard").')
]


def print_json(data: Any) -> None:
    """A result for a program to read, as strict JSON."""
    from polygait.storage.strict_json import to_plain

    print(json.dumps(to_plain(data), indent=2))


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
