"""The commands that try and measure members: adapt, evaluate, behaviour."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from polygait.commands.shared import Flat, Json, RobotSource, RunPath, name_robot, print_json
from polygait.config import AdaptConfig, BehaviourConfig, EvaluateConfig
from polygait.console import print_adaptation, print_behaviour, print_evaluation

if TYPE_CHECKING:
    from polygait.evaluation import Plan


def adapt(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    variation: str = "nominal",
    options: Annotated[AdaptConfig, Flat],
    json: Json = False,
) -> None:
    """Find the member that still works in a changed world.

    Example: polygait adapt runs/walker --variation broken-foot --selector racing --trials 40

    Args:
        variation: What changed, such as broken-foot or "foot-mass=1.5+broken-leg@300".

    """
    from polygait.adaptation import adapt as adapt_population
    from polygait.population.population import load
    from polygait.progress import Counter, finish

    name_robot(task)
    population = load(run)
    result = adapt_population(population, variation, Counter("trials"), **vars(options))
    finish()
    if json:
        print_json(result.to_json())
    else:
        print_adaptation(result, population)


def evaluate(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    options: Annotated[EvaluateConfig, Flat],
    json: Json = False,
) -> None:
    """Measure every member in every condition of a suite; goes on where it was interrupted.

    Example: polygait evaluate runs/walker --suite damage
    """
    from polygait.evaluation import evaluate as evaluate_population
    from polygait.evaluation import summarised
    from polygait.population.population import load
    from polygait.progress import Counter, duration, finish

    name_robot(task)

    def announce(plan: Plan) -> None:
        told = f"{plan.conditions} conditions, {plan.episodes:,} episodes to run, at most "
        told += f"{plan.most_steps:,} steps: about {duration(plan.seconds)} if nobody falls."
        print(told if plan.episodes else "Nothing to run: all was measured before.", file=sys.stderr)

    try:
        frame = evaluate_population(load(run), Counter("episodes"), announce, **vars(options))
    except KeyboardInterrupt:
        finish()
        print("Stopped; finished conditions are kept: the same command goes on.", file=sys.stderr)
        sys.exit(130)
    finish()
    if json:
        print_json(summarised(frame))
    else:
        print_evaluation(frame)


def behaviour(
    run: RunPath,
    /,
    *,
    task: RobotSource = None,
    options: Annotated[BehaviourConfig, Flat],
    json: Json = False,
) -> None:
    """How members differ: their actions, their feet, the parts of the state, and whether the filter ruled it.

    Example: polygait behaviour runs/walker
    """
    from polygait.behaviour import measure_behaviour
    from polygait.population.population import load
    from polygait.progress import Counter, finish

    name_robot(task)
    population = load(run)
    result = measure_behaviour(population, Counter, **vars(options))
    finish()
    if json:
        print_json(result.to_json())
    else:
        print_behaviour(result, population)
