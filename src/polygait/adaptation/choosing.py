"""Few-shot selection: which member still works in a changed world (paper, Algorithm 2), and cheaper.

A member is chosen by its returns in some trials, so that very average flatters it: the more members and
the fewer trials, the more. What it is worth is told by fresh episodes, the held-out return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from polygait.adaptation.loop import AskTell
from polygait.adaptation.result import Adaptation
from polygait.adaptation.selector import SELECTORS, Selector
from polygait.adaptation.simulator import Simulator
from polygait.config import AdaptConfig, from_options
from polygait.config.settings import with_setting
from polygait.episodes import Job, counting, episode_seconds, episode_seeds, run_members, task_factory
from polygait.errors import UserError, did_you_mean
from polygait.population.population import Member, Population, PopulationLike, as_population
from polygait.population.results import make_results_folder, save_result
from polygait.progress import Count, Counter, reporting, silent
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.randomness import EpisodePurpose
from polygait.variations import Edit, Variation, parse_variation, variation_text

_SHARED = ("selector", "settings", "by", "held_out", "seed", "on", "threads")
"""Options of every adaptation; the others are a selector's own."""
_NOMINAL_EPISODES = 5


def adapt(
    population: PopulationLike,
    variation: str | Variation | Edit | None = None,
    report: Count = silent,
    progress: bool = False,
    **options: Any,
) -> Adaptation:
    """Choose the member that works best in a changed world; the options are those of AdaptConfig.

    `progress` shows on standard error how far it is.

    The loop of Trials with a simulator in it. Every answer is kept in the run's folder; only who asks the
    very same again replaces it.
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
    if config.by == "progress" and np.isnan(task.progress).any():
        raise UserError(
            f"{task.name} does not tell how far its robot comes, so nobody can be chosen by progress.",
            "Leave `by` out to choose by return.",
        )
    make_results_folder(population.path / "adaptations")
    with reporting(report, progress, lambda: Counter("episodes")) as told:
        counter = counting(told, selector.budget + config.held_out)
        simulator = Simulator(population, make, text, config.seed, counter)
        simulator.by = config.by
        loop = AskTell(selector, len(population))
        while wanted := loop.ask_all():
            for trial in simulator.trials(wanted):
                loop.tell(*trial)
        choice = loop.choose()
        fresh = simulator.held_out(choice.best, config.held_out)
    result = Adaptation(
        task=config.on or population.config.task,
        variation=text,
        config=config,
        best=choice.best,
        returns=simulator.returns,
        progress=simulator.progress,
        falls=loop.record.falls,
        diverged=loop.record.diverged,
        stopped=choice.stopped,
        held_out_returns=fresh.total_reward,
        held_out_progress=fresh.progress,
        seconds=episode_seconds(task),
        world=str(parse_variation(text, task.conditions)),
        weights=tuple(population.weights(place) for place in range(len(population))),
        robot=fingerprint_of(task).digest,
    )
    save_result(population.path / "adaptations", result.name, result.to_json())
    return result


def make_selector(config: AdaptConfig, population: Population, budget: int | None = None) -> Selector:
    """The selector that is asked for, with its own options and what it must know; all problems at once."""
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
    if budget is not None:
        options = kind.with_budget(options, budget, len(population))
    problems += kind.problems(options, len(population))
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    selector = kind(kind.complete(options, len(population)), _nominal(population, config.by))
    selector.prepare(population)
    return selector


def _nominal(population: Population, by: str) -> np.ndarray:
    """What members reach when nothing is wrong; all 0, which says nothing, where 0.1 did not measure speeds.

    A prior uses nominal values in proportion only, so a speed serves where metres are compared. Members that
    were trained elsewhere are tried first.
    """
    name = "nominal_speed" if by == "progress" else "nominal_return"
    _measure_nominal(
        [member for member in population.members if "nominal_return" not in member.summary], population
    )
    summaries = [member.summary for member in population.members]
    if not all(name in summary for summary in summaries):
        return np.zeros(len(summaries))
    return np.array([summary[name] for summary in summaries])


def _measure_nominal(members: Sequence[Member], population: Population) -> None:
    """What members earn in the unchanged world, into their summaries."""
    seeds = episode_seeds(0, EpisodePurpose.NOMINAL, _NOMINAL_EPISODES)
    outcome = run_members(population, [Job(member.index, None, seed) for member in members for seed in seeds])
    for place, member in enumerate(members):
        episodes = outcome.total_reward[place * len(seeds) : (place + 1) * len(seeds)]
        member.summary["nominal_return"] = float(episodes.mean())


def _misplaced(name: str, kind: type[Selector]) -> str:
    """What to say of an option that belongs to other selectors than the one that was asked for."""
    owners = [one.name for one in SELECTORS.all() if name in {field.name for field in fields(one.Config)}]
    own = " and ".join(f"`{field.name}`" for field in fields(kind.Config))
    elsewhere = " or ".join(f"`selector='{owner}'`" for owner in owners)
    return f"`{name}` belongs to {' and '.join(owners)}: give {elsewhere}, or for {kind.name} {own}."
