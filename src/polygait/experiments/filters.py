"""Which state parts reveal the action: the diagnostic for choosing a filter f(s).

One inverse-dynamics model per candidate filter learns from the same episodes of a population and is asked
about the same other ones. A model that is sure leaves members nothing to be different in on the states that
it knows; one that knows no more than the model that sees nothing regulates nothing.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np

from polygait.config import FiltersConfig, from_options
from polygait.diversity.inverse_dynamics import ModelConfig
from polygait.episodes import IDLE, Frame, Job, episode_seeds, run_members, task_factory
from polygait.errors import UserError
from polygait.experiments.revealing import Inference, RawTransitions, filtered, fit, infer, marginal
from polygait.learning.keys import named_key
from polygait.population.population import Population
from polygait.progress import Count, silent
from polygait.tasks.randomness import EpisodePurpose
from polygait.tasks.state import StateFilter

WHOLE, NOTHING = "nothing removed", "everything removed"
PERIOD = 4
"""Of so many episodes the last is held out for the questions, and the last but one says when to stop."""


class Verdict(NamedTuple):
    """What one filter shows."""

    name: str
    kept: int
    """Numbers of the state that the filter keeps."""
    inference: Inference
    """On the episodes that the model has not learned from."""
    revealed: float
    """Nats by which f(s), f(s′) make the action more likely than no state at all does."""


class Diagnosis(NamedTuple):
    """All candidate filters on the same data, the one that reveals most first."""

    verdicts: list[Verdict]
    actions: list[str]
    """The names of the action's dimensions."""
    held_in: int
    """Transitions that every model learned from."""
    held_out: int
    """Transitions that every model was asked about."""

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as plain data."""
        filters = [
            {
                "filter": one.name,
                "kept": one.kept,
                "variance": float(one.inference.variance.mean()),
                "variance_by_action": dict(zip(self.actions, one.inference.variance.tolist(), strict=True)),
                "squared_error": float(one.inference.error.mean()),
                "log_likelihood": one.inference.log_likelihood,
                "revealed": one.revealed,
            }
            for one in self.verdicts
        ]
        return {"filters": filters, "held_in": self.held_in, "held_out": self.held_out}


def diagnose(population: Population, report: Count = silent, **options: Any) -> Diagnosis:
    """Fit and question a model behind every candidate filter; the options are those of FiltersConfig."""
    config = from_options(FiltersConfig, options)
    problems = config.problems()
    if config.member is not None and not 0 <= config.member < len(population):
        problems.append(f"There is no member {config.member}; there are 0 to {len(population) - 1}.")
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    candidates = candidate_filters(population, config.remove)
    seen, checked, fresh = _experience(population, config)
    key, model_config = jax.random.key(config.seed), _model_config(population, config, len(seen.action))

    def question(name: str) -> Inference:
        own = candidates[name]
        if not own.kept:
            return marginal(seen, fresh)
        model = fit(seen, checked, own, model_config, named_key(key, "filter", *own.kept))
        return infer(model, filtered(fresh, own))

    inferences = {}
    report(0, len(candidates))
    with ThreadPoolExecutor() as pool:
        for done, (name, one) in enumerate(zip(candidates, pool.map(question, candidates), strict=True)):
            inferences[name] = one
            report(done + 1, len(candidates))
    blind = next(
        inference for name, inference in inferences.items() if not candidates[name].kept
    ).log_likelihood
    verdicts = [
        Verdict(name, candidates[name].size, inference, inference.log_likelihood - blind)
        for name, inference in inferences.items()
    ]
    verdicts.sort(key=lambda verdict: -verdict.revealed)
    actions = list(population.make_task().anatomy.actions)
    return Diagnosis(verdicts, actions, len(seen.action), len(fresh.action))


def candidate_filters(population: Population, remove: tuple[str, ...]) -> dict[str, StateFilter]:
    """The filters to compare by name: a user's own, or else each top-level part removed.

    With them always the whole state, nothing of it, and what the population was trained with. A filter that
    keeps the same numbers as an earlier one is left out.
    """
    layout = population.layout
    named = [(WHOLE, StateFilter.identity(layout)), (NOTHING, StateFilter.nothing(layout))]
    for text in remove or [part for part in layout.parts if "." not in part]:
        patterns = [pattern.strip() for pattern in text.split(",")]
        named.append((f"without {', '.join(patterns)}", StateFilter.remove(layout, patterns)))
    named.append((f"keeping {population.filter.size} of {layout.size} numbers", population.filter))
    found: dict[tuple[int, ...], str] = {}
    for name, one in named:
        found.setdefault(one.kept, name)
    found[population.filter.kept] += " (this run's)"
    return {name: StateFilter(layout, kept) for kept, name in found.items()}


def _experience(
    population: Population, config: FiltersConfig
) -> tuple[RawTransitions, RawTransitions, RawTransitions]:
    """Whole episodes to learn from, others that say when to stop, and others to ask about."""
    members = range(len(population)) if config.member is None else [config.member]
    seeds = episode_seeds(config.seed, EpisodePurpose.SELECTION, config.episodes)
    jobs = [Job(member, None, seed, explore=True) for member in members for seed in seeds]
    frames: list[tuple[np.ndarray, RawTransitions]] = []

    def watch(frame: Frame) -> None:
        rows = frame.job != IDLE
        steps = (frame.observation, np.clip(frame.action, -1.0, 1.0), frame.step.observation)
        frames.append((frame.job[rows], RawTransitions(*(part[rows].astype(np.float32) for part in steps))))

    run_members(population, jobs, task_factory(population, None, config.threads), watch)
    job = np.concatenate([rows for rows, _ in frames])
    order = np.argsort(job, kind="stable")  # by episode: independent of which rows ran it, and when
    whole = [np.concatenate(part)[order] for part in zip(*(steps for _, steps in frames), strict=True)]
    # At least one episode of each member for every purpose.
    period = min(PERIOD, config.episodes)
    place = job[order] % config.episodes % period
    purposes = (place < period - 2, place == period - 2, place == period - 1)
    seen, checked, fresh = (RawTransitions(*(part[rows] for part in whole)) for rows in purposes)
    return seen, checked, fresh


def _model_config(population: Population, config: FiltersConfig, held_in: int) -> ModelConfig:
    """The models that this population would be trained with, and a minibatch that the data can fill."""
    own = population.config.method_config
    if not isinstance(own, ModelConfig):
        own = ModelConfig()
    fitting = 2 ** int(math.log2(max(1, min(own.minibatch_size, held_in))))
    return ModelConfig(
        hidden=own.hidden,
        learning_rate=own.learning_rate,
        weight_decay=own.weight_decay,
        max_gradient_norm=own.max_gradient_norm,
        normalize_inputs=own.normalize_inputs,
        epochs=config.epochs,
        minibatch_size=fitting,
    )
