"""Fine-tuning: a member goes on learning in a changed world, in a run folder of its own."""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numpy as np

from polygait.adaptation import Adaptation, adapt
from polygait.config import FinetuneConfig, from_options
from polygait.errors import UserError
from polygait.population.population import Population, PopulationLike, as_population
from polygait.population.store import RunFolder
from polygait.progress import Count, Report, printer, reporting, silent
from polygait.resilience import stands_still
from polygait.resolving import resolve_finetuning
from polygait.runs import begin_resolved, go_on
from polygait.variations import Edit, Variation, parse_variation, variation_text
from polygait.zoo import spoken

AUTO = "auto"


class Chosen(NamedTuple):
    """Who goes on, and what it was chosen by; nothing where it was named."""

    member: int
    adaptation: Adaptation | None = None


def finetune(
    population: PopulationLike,
    variation: str | Variation | Edit | None,
    out: str | os.PathLike[str],
    report: Report | None = None,
    progress: bool = False,
    **options: Any,
) -> Population:
    """Go on training one member in a changed world; the options are those of FinetuneConfig.

    The member keeps its policy, its statistics of observations and its critic. Its optimisers and the scale
    of its rewards were not kept when it was finished, and begin anew.
    """
    if isinstance(single := options.get("overrides"), str):
        options["overrides"] = (single,)
    config = from_options(FinetuneConfig, options)
    run = begin_finetuning(population, variation, out, config)
    with reporting(report, progress, printer) as told:
        return go_on(run, config.threads, told)


def begin_finetuning(
    population: PopulationLike,
    variation: str | Variation | Edit | None,
    out: str | os.PathLike[str],
    config: FinetuneConfig,
    count: Count = silent,
) -> RunFolder:
    """A new run folder that starts from the member asked for, or from the one that choose() takes."""
    RunFolder.require_unused(out)
    population = as_population(population)
    text = variation_text(variation)
    world = parse_variation(text, population.make_task().conditions)
    run = resolve_finetuning(population.config, config, text if world.edits else None)
    chosen = choose(population, text, config, count)
    origin = {
        "run": spoken(population.path),
        "member": chosen.member,
        "weights": population.weights(chosen.member),
        "steps": population.members[chosen.member].steps,
        "variation": text,
        "world": str(world),
        "adaptation": chosen.adaptation.name if chosen.adaptation else None,
        "settings": list(config.overrides),
    }
    start = RunFolder.open(population.path).load_member(population.members[chosen.member].index)
    return begin_resolved(run, out, start, {"origin": origin})


def choose(population: Population, variation: str, config: FinetuneConfig, count: Count = silent) -> Chosen:
    """The member asked for, or the one that comes farthest in this world and does not stand still.

    Standing still earns more than a walk that ends in a fall, and learning from there stays there. So members
    are compared by progress where the simulator tells it, and one that stands still goes on only if all do.
    """
    if config.member != AUTO:
        if not str(config.member).isdecimal():
            raise UserError(f"There is no member {config.member!r}.", f"Give its number, or {AUTO}.")
        population.require_member(member := int(config.member))
        return Chosen(member)
    told = np.isfinite(population.make_task().progress).all()
    by = "progress" if told else "return"
    found = adapt(population, variation, count, by=by, seed=config.seed, threads=config.threads)
    return Chosen(_farthest_moving(population, found) if told else found.best, found)


def _farthest_moving(population: Population, found: Adaptation) -> int:
    """The member with the most progress among those that do not stand still, if there are any."""
    nominal = [float(member.summary.get("nominal_speed", math.nan)) for member in population.members]
    best_nominal = max((speed for speed in nominal if math.isfinite(speed)), default=math.nan)
    speeds = [found.speed_of(member) for member in range(len(population))]
    moving = [
        member
        for member, speed in enumerate(speeds)
        if not stands_still(speed, found.falls_of(member), best_nominal)
    ]
    return found.best if found.best in moving or not moving else max(moving, key=lambda one: speeds[one])
