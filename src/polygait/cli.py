"""The command line: which command is meant, and how mistakes and interruptions end."""

from __future__ import annotations

import codecs
import inspect
import io
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable

import tyro

from polygait.arguments import READING, gathered, on_the_command_line
from polygait.commands.demo import demo
from polygait.commands.deploying import export, finetune
from polygait.commands.experiments import filters, motivation
from polygait.commands.measuring import adapt, behaviour, evaluate
from polygait.commands.showing import render, report, tasks, watch
from polygait.commands.studies import study_list, study_report, study_run, study_status
from polygait.commands.training import extend, resume, train
from polygait.commands.trying import trial
from polygait.commands.zoo import zoo
from polygait.errors import UserError, unknown_name
from polygait.progress import finish

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "tasks": tasks,
    "zoo": zoo,
    "train": train,
    "resume": resume,
    "extend": extend,
    "adapt": adapt,
    "trial": trial,
    "evaluate": evaluate,
    "finetune": finetune,
    "export": export,
    "behaviour": behaviour,
    "filters": filters,
    "motivation": motivation,
    "study list": study_list,
    "study run": study_run,
    "study status": study_status,
    "study report": study_report,
    "render": render,
    "watch": watch,
    "report": report,
}


_VERSION, _HELP = ("--version",), ("-h", "--help")
_FAMILIES = {name.partition(" ")[0] for name in COMMANDS if " " in name}


def main() -> None:
    """Run the command line; a user's mistake ends with its explanation and code 2."""
    _write_plainly_where_needed()
    arguments = sys.argv[1:]
    try:
        _call(arguments)
    except UserError as error:
        _say(_told(error, _command_name(arguments)))
        sys.exit(2)
    except KeyboardInterrupt:
        _say("stopped.")
        sys.exit(130)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not str(error).startswith("RESOURCE_EXHAUSTED"):  # JAX's word
            raise
        _say(
            f"Not enough memory: {error}\nAsk for fewer episodes, states or environments, or smaller layers."
        )
        sys.exit(1)
    except BrokenPipeError:  # whoever read our lines, such as head, has enough of them
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor can the last ones be written
        sys.exit(1)


def _write_plainly_where_needed() -> None:
    """Where the terminal's encoding lacks a character, as ASCII lacks the dash, write a plain one."""
    codecs.register_error("plain", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(one, "?") for one in error.object[error.start : error.end]), error.end


def _call(arguments: list[str]) -> None:
    command = _command_name(arguments)
    if not arguments or arguments[0] in _HELP:
        print(overview(COMMANDS))
    elif arguments[0] in _VERSION:
        from polygait import __version__

        print(f"polygait {__version__}")
    elif arguments[0].startswith("-"):
        raise unknown_name("option", arguments[0], [*_VERSION, *_HELP])
    elif command in _FAMILIES and (len(arguments) == 1 or arguments[1] in _HELP):
        print(overview([name for name in COMMANDS if name.startswith(f"{command} ")]))
    elif command not in COMMANDS:
        raise unknown_name("command", command, COMMANDS)
    else:
        warnings.showwarning = _show_warning
        words = gathered(COMMANDS[command], arguments[len(command.split()) :])
        tyro.cli(COMMANDS[command], prog=f"polygait {command}", args=words, registry=READING)


def _command_name(arguments: list[str]) -> str:
    """The name of what is asked for: one word, or two for a family such as study."""
    further = arguments[:1] and arguments[0] in _FAMILIES and arguments[1:2] and arguments[1] not in _HELP
    return " ".join(arguments[: 2 if further else 1])


def _told(error: UserError, command: str) -> str:
    """An error in the words of the command line; who is told of no remedy is told where to look for one."""
    told = on_the_command_line(error, COMMANDS.get(command))
    return (
        told
        if error.remedy
        else f"{told}\nSee polygait {f'{command} ' if command in COMMANDS else ''}--help."
    )


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say(str(message))


def _say(text: str) -> None:
    """A line of its own, whatever progress was shown before."""
    finish()
    print(f"polygait: {text}", file=sys.stderr)


def overview(names: Iterable[str]) -> str:
    """Commands with a line each, made without the parser's cost."""
    lines = ["usage: polygait COMMAND …", "", _SUMMARY, ""]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for name in names:
        paragraphs = (inspect.getdoc(COMMANDS[name]) or "").split("\n\n")
        example = next(one for one in paragraphs if one.startswith("Example: "))
        lines += textwrap.wrap(f"  {name:<14}{paragraphs[0]}", width, subsequent_indent=" " * 16)
        lines.append(f"{'':<16}{example.removeprefix('Example: ')}")
    return "\n".join([*lines, "", "One command's options: polygait COMMAND --help"])


_PLAIN = {
    **dict.fromkeys("–—−─·", "-"),
    **dict.fromkeys("▶▸", ">"),
    **{"…": "...", "±": "+-", "×": "x", "→": "->", "′": "'", "█": "#", "░": "."},
}
_SUMMARY = "Many different ways for a robot to do a task, and the one that still works after damage."
