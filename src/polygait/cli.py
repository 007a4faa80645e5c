"""The command line: which verb is meant, and how mistakes and interruptions end."""

from __future__ import annotations

import codecs
import inspect
import io
import os
import sys
import warnings
from collections.abc import Callable

import tyro.conf

from polygait.errors import UserError, unknown_name
from polygait.verbs.experiments import filters, motivation
from polygait.verbs.measuring import adapt, behaviour, evaluate
from polygait.verbs.showing import render, report, tasks
from polygait.verbs.studies import study_report, study_run, study_status
from polygait.verbs.training import extend, resume, train

VERBS: dict[str, Callable[..., None]] = {
    "tasks": tasks,
    "train": train,
    "resume": resume,
    "extend": extend,
    "adapt": adapt,
    "evaluate": evaluate,
    "behaviour": behaviour,
    "filters": filters,
    "motivation": motivation,
    "study run": study_run,
    "study status": study_status,
    "study report": study_report,
    "render": render,
    "report": report,
}


def main() -> None:
    """Run the command line; a user's mistake ends with its explanation and code 2."""
    _write_plainly_where_needed()
    try:
        _call(sys.argv[1:])
    except UserError as error:
        print(f"polygait: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("polygait: stopped.", file=sys.stderr)
        sys.exit(130)
    except MemoryError as error:
        print(f"polygait: Not enough memory: {error}", file=sys.stderr)
        print("Ask for fewer episodes, states or environments.", file=sys.stderr)
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
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return
    words = 2 if arguments[0] in {name.partition(" ")[0] for name in VERBS if " " in name} else 1
    verb = " ".join(arguments[:words])
    if verb == "--version":
        from polygait import __version__

        print(f"polygait {__version__}")
        return
    if verb not in VERBS:
        raise unknown_name("verb", verb, VERBS)
    warnings.showwarning = _show_warning
    tyro.cli(VERBS[verb], prog=f"polygait {verb}", args=arguments[words:])


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"polygait: {message}", file=sys.stderr)


def overview() -> str:
    """All verbs with a line each, made without the parser's cost."""
    lines = ["usage: polygait VERB …", "", _SUMMARY, ""]
    for name, verb in VERBS.items():
        paragraphs = (inspect.getdoc(verb) or "").split("\n\n")
        example = next(one for one in paragraphs if one.startswith("Example: "))
        lines += [f"  {name:<14}{paragraphs[0]}", f"  {'':<14}{example.removeprefix('Example: ')}"]
    return "\n".join([*lines, "", "One verb's options: polygait VERB --help"])


_PLAIN = {
    **dict.fromkeys("–—−─·", "-"),
    **dict.fromkeys("▶▸", ">"),
    **{"…": "...", "±": "+-", "×": "x", "→": "->", "′": "'", "█": "#", "░": "."},
}
_SUMMARY = "Many different ways for a robot to do a task, and the one that still works after damage."
