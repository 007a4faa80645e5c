"""Few-shot selection: which member still works in a changed world (paper, Algorithm 2), and cheaper.

A member is chosen by its returns in some trials, so that very average flatters it: the more members and
the fewer trials, the more. What it is worth is told by fresh episodes, the held-out return.
"""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from polygait.adaptation.result import Adaptation
from polygait.adaptation.selector import SELECTORS, Choice, Selector
from polygait.adaptation.trials import Episodes, Trials
from polygait.config import AdaptConfig, from_options
from polygait.config.settings import with_setting
from polygait.episodes import counting, task_factory
from polygait.errors import UserError, did_you_mean
from polygait.population.population import Population, PopulationLike, as_population
from polygait.population.results import make_results_folder, save_result
from polygait.progress import Count, silent
from polygait.tasks.fingerprint import fingerprint_of
from polygait.variations import Edit, Variation, parse_variation, variation_text

_SHARED = ("selector", "settings", "held_out", "seed", "on", "threads")
"""Options of every adaptation; the others are a selector's own."""


def adapt(
    population: PopulationLike,
    variation: str | Variation | Edit | None = None,
    report: Count = silent,
    **options: Any,
) -> Adaptation:
    """Choose the member that works best in a changed world; the options are those of AdaptConfig.

    Every answer is kept in the run's folder; only who asks the very same again replaces it.
    """
    population = as_population(population)
    config = from_options(AdaptConfig, options)
    selector = make_selector(config, population)
    config = replace(
        config, **{name: one for name, one in asdict(selector.config).items() if hasattr(config, name)}
    )
    make = task_factory(population, config.on, config.threads)
    text = variation_text(variation)
    task = make(1)
    task.set_variation(text)  # an unknown name is told before any episode is run
    make_results_folder(population.path / "adaptations")
    counter = counting(report, selector.budget + config.held_out)
    episodes = Episodes(population, make, text, config.seed, counter)
    choice = select(selector, episodes)
    result = Adaptation(
        task=config.on or population.config.task,
        variation=text,
        config=config,
        best=choice.best,
        returns=episodes.returns,
        falls=episodes.falls,
        diverged=episodes.diverged,
        stopped=choice.stopped,
        held_out_returns=episodes.held_out(choice.best, config.held_out),
        world=str(parse_variation(text, task.conditions)),
        weights=tuple(population.weights(place) for place in range(len(population))),
        robot=fingerprint_of(task).digest,
    )
    save_result(population.path / "adaptations", result.name, result.to_json())
    return result


def select(selector: Selector, trials: Trials) -> Choice:
    """Make all trials that a selector asks for, and take the member it chooses."""
    for request in selector.requests(trials):
        trials.try_out(request.members, request.trials)
    return selector.choose(trials)


def make_selector(config: AdaptConfig, population: Population) -> Selector:
    """The selector that is asked for, with its own options; all problems at once."""
    kind = SELECTORS.find(config.selector)
    problems = config.problems()
    options = kind.Config()
    own = [field.name for field in fields(options)]
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in own:
            options = replace(options, **{field.name: value})
        elif field.name not in _SHARED and value is not None:
            problems.append(_misplaced(field.name, kind))
    for text in config.settings:
        name, _, value = text.partition("=")
        if name not in own:
            problems.append(f"Unknown option of {kind.name}: {text!r}. {did_you_mean(name, own)}")
            continue
        try:
            options = with_setting(options, name, value)
        except ValueError as error:
            problems.append(f"{name} must be {error}, got {value!r}.")
    problems += kind.problems(options, len(population))
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    nominal = np.array([member.summary["nominal_return"] for member in population.members])
    return kind(kind.complete(options, len(population)), nominal)


def _misplaced(name: str, kind: type[Selector]) -> str:
    """What to say of an option that belongs to other selectors than the one that was asked for."""
    owners = [one.name for one in SELECTORS.all() if name in {field.name for field in fields(one.Config)}]
    own = " and ".join(f"`{field.name}`" for field in fields(kind.Config))
    elsewhere = " or ".join(f"`selector='{owner}'`" for owner in owners)
    return f"`{name}` belongs to {' and '.join(owners)}: give {elsewhere}, or for {kind.name} {own}."
