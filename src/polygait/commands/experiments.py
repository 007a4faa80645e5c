"""The commands of experiments about filters: filters, motivation."""

from __future__ import annotations

import json as json_module
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polygait.commands.shared import RunPath, interruptible, name_robot
from polygait.console import print_filters, print_motivation

if TYPE_CHECKING:
    from polygait.experiments.motivation import Result


def filters(
    run: RunPath,
    /,
    *,
    task: str | None = None,
    remove: tuple[str, ...] = (),
    member: int | None = None,
    episodes: int = 8,
    epochs: int = 100,
    seed: int = 0,
    threads: int | None = None,
    json: bool = False,
) -> None:
    """Which state parts reveal the action: what a filter would leave open to diversity.

    Example: polygait filters runs/walker --remove "right_leg.*" "*.velocity,torso.*"

    Args:
        run: The run folder.
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
        remove: Candidate filters, each the parts to remove joined by commas; each part alone if left out.
        member: Whose actions to read; all members' together if left out.
        episodes: Episodes per member, with the noise of training; a quarter is held out.
        epochs: Passes of each model through its data, at most; it stops when it has learned what it can.
        seed: All starts and all first weights follow from it.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.experiments.filters import diagnose
    from polygait.population.population import load
    from polygait.progress import Counter, finish

    name_robot(task)
    options = {
        "remove": remove,
        "member": member,
        "episodes": episodes,
        "epochs": epochs,
        "seed": seed,
        "threads": threads,
    }
    diagnosis = diagnose(load(run), Counter("filters"), **options)
    finish()
    if json:
        print(json_module.dumps(diagnosis.to_json(), indent=2))
    else:
        print_filters(diagnosis)


def motivation(
    *,
    out: str,
    steps: int = 1_000_000,
    seed: int = 0,
    episodes: int = 30,
    updates_per_step: float = 1.0,
    threads: int | None = None,
    json: bool = False,
) -> None:
    """The paper's Figure 1: the less of the state a model sees, the less sure it is of the action.

    Example: polygait motivation --steps 300k --out runs/motivation

    Args:
        out: The folder to make; chart and table go there too. A stopped one goes on with polygait resume.
        steps: Environment steps of the Soft Actor-Critic agent that walks.
        seed: All randomness follows from it.
        episodes: Of the finished agent, about which the models are asked.
        updates_per_step: Gradient steps per environment step; fewer are faster and learn less.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.experiments.motivation import MotivationConfig, run_motivation

    config = MotivationConfig(steps, seed, episodes, updates_per_step, threads)
    _run_motivation(out, lambda report: run_motivation(config, out, report), json)


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
        print(json_module.dumps(result.to_json(), indent=2))
    else:
        print_motivation(result, written)
