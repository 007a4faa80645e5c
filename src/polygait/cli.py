"""The command line: parse, call, print. Heavy imports happen inside the verbs."""

from __future__ import annotations

import inspect
import json as json_module
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import tyro.conf

from polygait.console import (
    print_adaptation,
    print_behaviour,
    print_evaluation,
    print_filters,
    print_members,
    print_motivation,
    print_task,
    print_tasks,
)
from polygait.errors import UserError, unknown_name
from polygait.picture_verbs import draw_robot, render, report
from polygait.study_verbs import study_report, study_run, study_status

if TYPE_CHECKING:
    from polygait.evaluation import Plan
    from polygait.experiments.motivation import Result
    from polygait.population.population import Population

Outcome = TypeVar("Outcome")
RunPath = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
TaskName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def tasks(name: TaskName = "", /, *, json: bool = False, picture: str | None = None) -> None:
    """The robots, or one robot's state parts, filter, conditions, joints and bodies.

    Example: polygait tasks walker --picture walker.svg

    Args:
        name: The robot to describe; all are listed when left out.
        json: Print for a program to read.
        picture: Draw the robot with the names of its joints, bodies and feet into this .svg or .png instead.

    """
    if picture is not None:
        draw_robot(name, picture, json)
        return
    from polygait.tasks.describe import describe_task
    from polygait.tasks.registry import task_names

    described = [describe_task(one) for one in ([name] if name else task_names())]
    if json:
        print(json_module.dumps(described[0] if name else described, indent=2))
    elif name:
        print_task(described[0])
    else:
        print_tasks(described)


def train(
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")],
    /,
    *,
    out: str,
    method: str = "dir",
    members: int | None = None,
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
        method: dir, smerl, dvd, multi or pg.
        members: How many different ways to find (10 if left out); pg finds one, with the steps of so many.
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

    folder = RunFolder.open(run)
    if "experiment" in folder.manifest["config"]:
        from polygait.experiments.motivation import resume_motivation

        if tensorboard:
            raise UserError("An experiment writes no event files.", "Leave --tensorboard out.")
        _run_motivation(run, lambda report: resume_motivation(run, threads, report), json=False)
        return
    if folder.complete:
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


def adapt(
    run: RunPath,
    /,
    *,
    variation: str = "nominal",
    selector: str = "exhaustive",
    episodes: int | None = None,
    trials: int | None = None,
    max_falls: int | None = None,
    held_out: int = 20,
    seed: int = 0,
    on: str | None = None,
    threads: int | None = None,
    json: bool = False,
) -> None:
    """Find the member that still works in a changed world.

    Example: polygait adapt runs/walker --variation broken-foot --selector racing --trials 40

    Args:
        run: The run folder.
        variation: What changed, such as broken-foot or "foot-mass=1.5+broken-leg@300".
        selector: exhaustive tries every member as often (the paper's way); racing spends a budget of trials.
        episodes: Episodes per member, for exhaustive; 20 if left out.
        trials: Episodes of all members together, for racing; four per member if left out.
        max_falls: A member that has fallen so often is tried no more, for racing.
        held_out: Fresh episodes on which the chosen member is scored.
        seed: All starts follow from it.
        on: Another task with the same state and actions, such as another simulator.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.adaptation import adapt as adapt_population
    from polygait.population.population import load
    from polygait.population.strict_json import to_plain
    from polygait.progress import Counter, finish

    population = load(run)
    wishes = {
        "selector": selector,
        "episodes": episodes,
        "trials": trials,
        "max_falls": max_falls,
        "held_out": held_out,
        "seed": seed,
        "on": on,
        "threads": threads,
    }
    result = adapt_population(population, variation, Counter("trials"), **wishes)
    finish()
    if json:
        print(json_module.dumps(to_plain(result.to_json()), indent=2))
    else:
        print_adaptation(result, population)


def evaluate(
    run: RunPath,
    /,
    *,
    suite: str = "paper",
    episodes: int = 20,
    seed: int = 0,
    on: str | None = None,
    threads: int | None = None,
    json: bool = False,
) -> None:
    """Measure every member in every condition of a suite; goes on where it was interrupted.

    Example: polygait evaluate runs/walker --suite damage

    Args:
        run: The run folder.
        suite: nominal, damage, dynamics, sensors, paper, or a TOML file with variations = ["broken-foot", …].
        episodes: Episodes per member and condition.
        seed: All starts follow from it.
        on: Another task with the same state and actions, such as another simulator.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.evaluation import evaluate as evaluate_population
    from polygait.population.population import load
    from polygait.progress import Counter, duration, finish

    def announce(plan: Plan) -> None:
        if plan.episodes:
            print(
                f"{plan.conditions} conditions, {plan.episodes:,} episodes to run, at most "
                f"{plan.most_steps:,} steps: about {duration(plan.seconds)} if nobody falls.",
                file=sys.stderr,
            )

    wishes = {"suite": suite, "episodes": episodes, "seed": seed, "on": on, "threads": threads}
    try:
        frame = evaluate_population(load(run), Counter("episodes"), announce, **wishes)
    except KeyboardInterrupt:
        finish()
        print("Stopped; finished conditions are kept: the same command goes on.", file=sys.stderr)
        sys.exit(130)
    finish()
    if json:
        print(json_module.dumps(frame.to_dicts(), indent=2))
    else:
        print_evaluation(frame)


def behaviour(
    run: RunPath,
    /,
    *,
    states: int = 2000,
    episodes: int = 20,
    transitions: int = 20_000,
    seed: int = 0,
    threads: int | None = None,
    json: bool = False,
) -> None:
    """How members differ: their actions, their feet, the parts of the state, and whether the filter ruled it.

    Example: polygait behaviour runs/walker

    Args:
        run: The run folder.
        states: Random states on which members' actions are compared.
        episodes: Episodes per member in which feet are watched.
        transitions: Steps per member, at least, from which variance and information are estimated.
        seed: All randomness follows from it.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.behaviour import measure_behaviour
    from polygait.population.population import load
    from polygait.population.strict_json import to_plain
    from polygait.progress import Counter, finish

    population = load(run)
    wishes = {
        "states": states,
        "episodes": episodes,
        "transitions": transitions,
        "seed": seed,
        "threads": threads,
    }
    result = measure_behaviour(population, Counter, **wishes)
    finish()
    if json:
        print(json_module.dumps(to_plain(result.to_json()), indent=2))
    else:
        print_behaviour(result, population)


def filters(
    run: RunPath,
    /,
    *,
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

    wishes = {
        "remove": remove,
        "member": member,
        "episodes": episodes,
        "epochs": epochs,
        "seed": seed,
        "threads": threads,
    }
    diagnosis = diagnose(load(run), Counter("filters"), **wishes)
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

    Example: polygait motivation --steps 300000 --out runs/motivation

    Args:
        out: The folder to make; chart and table go there too. A stopped one goes on with polygait resume.
        steps: Environment steps of the Soft Actor-Critic agent that walks.
        seed: All randomness follows from it.
        episodes: Of the finished agent, about which the models are asked.
        updates_per_step: Gradient steps per environment step; fewer are faster and learn less.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.config import SACConfig
    from polygait.experiments.motivation import run_motivation
    from polygait.experiments.reading import MotivationConfig

    sac = SACConfig(updates_per_step=updates_per_step)
    config = MotivationConfig(steps=steps, seed=seed, episodes=episodes, sac=sac)
    _run_motivation(out, lambda report: run_motivation(config, out, threads, report), json)


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


def _run(path: str, work: Callable[[Any], Population], tensorboard: bool) -> None:
    """Training with progress, and its members."""
    from polygait.progress import all_of, printer
    from polygait.tensorboard import event_writer

    report = all_of(printer(), event_writer(path)) if tensorboard else printer()
    print_members(path, _interruptible(path, lambda: work(report)))


def _run_motivation(path: str, work: Callable[[Any], Result], json: bool) -> None:
    """The motivation experiment with progress, and its chart and table."""
    from polygait.experiments.motivation_chart import write_result
    from polygait.progress import printer

    result = _interruptible(path, lambda: work(printer()))
    written = write_result(result, path)
    if json:
        print(json_module.dumps(result.to_json(), indent=2))
    else:
        print_motivation(result, written)


def _interruptible(path: str, work: Callable[[], Outcome]) -> Outcome:
    """Long work; an interruption says how to go on."""
    from polygait.progress import finish

    try:
        outcome = work()
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
    return outcome


def main() -> None:
    """Run the command line; a user's mistake ends with its explanation and code 2."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return
    try:
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
        lines += [f"  {name:<14}{paragraphs[0]}", f"  {'':<14}{example.removeprefix('Example: ')}"]
    return "\n".join([*lines, "", "One verb's options: polygait VERB --help"])


_SUMMARY = "Many different ways for a robot to do a task, and the one that still works after damage."
