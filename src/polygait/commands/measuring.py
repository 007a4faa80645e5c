"""The commands that try and measure members: adapt, evaluate, behaviour."""

from __future__ import annotations

import json as json_module
import sys
from typing import TYPE_CHECKING

from polygait.commands.shared import RunPath, name_robot
from polygait.console import print_adaptation, print_behaviour, print_evaluation

if TYPE_CHECKING:
    from polygait.evaluation import Plan


def adapt(
    run: RunPath,
    /,
    *,
    task: str | None = None,
    variation: str = "nominal",
    selector: str = "exhaustive",
    episodes: int | None = None,
    trials: int | None = None,
    max_falls: int | None = None,
    set: tuple[str, ...] = (),
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
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
        variation: What changed, such as broken-foot or "foot-mass=1.5+broken-leg@300".
        selector: exhaustive tries every member as often (the paper's way); racing spends a budget of trials.
        episodes: Episodes per member, for exhaustive; 20 if left out.
        trials: Episodes of all members together, for racing; four per member if left out.
        max_falls: A member that has fallen so often is tried no more, for racing.
        set: Options of a selector from another package, such as prior=0.5.
        held_out: Fresh episodes on which the chosen member is scored.
        seed: All starts follow from it.
        on: Another task with the same state and actions, such as another simulator.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.adaptation import adapt as adapt_population
    from polygait.population.population import load
    from polygait.progress import Counter, finish
    from polygait.storage.strict_json import to_plain

    name_robot(task)
    population = load(run)
    options = {
        "selector": selector,
        "episodes": episodes,
        "trials": trials,
        "max_falls": max_falls,
        "settings": set,
        "held_out": held_out,
        "seed": seed,
        "on": on,
        "threads": threads,
    }
    result = adapt_population(population, variation, Counter("trials"), **options)
    finish()
    if json:
        print(json_module.dumps(to_plain(result.to_json()), indent=2))
    else:
        print_adaptation(result, population)


def evaluate(
    run: RunPath,
    /,
    *,
    task: str | None = None,
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
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
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

    name_robot(task)

    def announce(plan: Plan) -> None:
        told = f"{plan.conditions} conditions, {plan.episodes:,} episodes to run, at most "
        told += f"{plan.most_steps:,} steps: about {duration(plan.seconds)} if nobody falls."
        print(told if plan.episodes else "Nothing to run: all was measured before.", file=sys.stderr)

    options = {"suite": suite, "episodes": episodes, "seed": seed, "on": on, "threads": threads}
    try:
        frame = evaluate_population(load(run), Counter("episodes"), announce, **options)
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
    task: str | None = None,
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
        task: Where the run's robot is, if it comes from a file or module, such as my_robot.py:MyRobot.
        states: Random states on which members' actions are compared.
        episodes: Episodes per member in which feet are watched.
        transitions: Steps per member, at least, from which variance and information are estimated.
        seed: All randomness follows from it.
        threads: Physics threads, all cores if left out; results do not depend on it.
        json: Print for a program to read.

    """
    from polygait.behaviour import measure_behaviour
    from polygait.population.population import load
    from polygait.progress import Counter, finish
    from polygait.storage.strict_json import to_plain

    name_robot(task)
    population = load(run)
    options = {
        "states": states,
        "episodes": episodes,
        "transitions": transitions,
        "seed": seed,
        "threads": threads,
    }
    result = measure_behaviour(population, Counter, **options)
    finish()
    if json:
        print(json_module.dumps(to_plain(result.to_json()), indent=2))
    else:
        print_behaviour(result, population)
