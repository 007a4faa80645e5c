"""The commands of experiments about filters: filters, motivation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from polygait.commands.shared import Flat, Json, RobotSource, RunPath, interruptible, name_robot, print_json
from polygait.config import FiltersConfig, MotivationConfig
from polygait.console import print_filters, print_motivation

if TYPE_CHECKING:
    from polygait.experiments.motivation import Result


def filters(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    options: Annotated[FiltersConfig, Flat],
    json: Json = False,
) -> None:
    """Which state parts reveal the action: what a filter would leave open to diversity.

    Example: polygait filters runs/walker --remove "right_leg.*" "*.velocity,torso.*"
    """
    from polygait.experiments.filters import diagnose
    from polygait.population.population import load
    from polygait.progress import Counter, finish

    name_robot(task)
    diagnosis = diagnose(load(run), Counter("filters"), **vars(options))
    finish()
    if json:
        print_json(diagnosis.to_json())
    else:
        print_filters(diagnosis)


def motivation(*, out: str, options: Annotated[MotivationConfig, Flat], json: Json = False) -> None:
    """The paper's Figure 1: the less of the state a model sees, the less sure it is of the action.

    Example: polygait motivation --steps 300k --out runs/motivation

    Args:
        out: The folder to make; chart and table go there too. A stopped one goes on with polygait resume.

    """
    from polygait.experiments.motivation import run_motivation

    _run_motivation(out, lambda report: run_motivation(options, out, report), json)


def go_on_with_motivation(path: str, threads: int | None) -> None:
    """A stopped motivation experiment to its end."""
    from polygait.experiments.motivation import resume_motivation

    _run_motivation(path, lambda report: resume_motivation(path, threads, report), json=False)


def _run_motivation(path: str, work: Callable[[Any], Result], json: bool) -> None:
    """The motivation experiment with progress, and its chart and table."""
    from polygait.experiments.motivation_chart import write_result
    from polygait.progress import printer

    result = interruptible(path, lambda: work(printer()))
    written = write_result(result, path)
    if json:
        print_json(result.to_json())
    else:
        print_motivation(result, written)
