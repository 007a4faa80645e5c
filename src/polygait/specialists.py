"""Specialists: members that go on from an earlier one in a damage that nobody survives yet.

Every member is tried in every damage. The next specialist is for the damage that is nearest to being survived
among those that are not. It goes on from whoever comes farthest there, in that world alone, and is tried in
all damages itself before another begins: what it has learned may help elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from polygait.cohort import Assignment
from polygait.episodes import Job, counting, episode_seeds, run_members, task_factory
from polygait.errors import UserError
from polygait.population.population import SPECIALISTS, Population, load
from polygait.population.store import RunFolder
from polygait.progress import Count, Progress, Report
from polygait.resilience import KEPT_SHARE
from polygait.run_config import RunConfig
from polygait.suites import NAMES, NOMINAL, suite_conditions
from polygait.tasks.randomness import EpisodePurpose
from polygait.tasks.task import Task
from polygait.variations import listed_variations, parse_variation

EPISODES = 4
"""Of every member in every damage, before the next specialist begins."""
TRIED = "tried"
"""In the manifest: what every member kept in every damage."""


class Need(NamedTuple):
    """The damage that the next specialist is for, and who comes farthest in it."""

    damage: int
    origin: int


def damages(against: str, task: Task) -> list[str]:
    """The variations behind the name of a suite, or behind a list of them; all are checked."""
    if against in NAMES:
        found = [one.variation for one in suite_conditions(against, task) if one != NOMINAL]
    else:
        found = listed_variations(against)
    changed = [text for text in found if parse_variation(text, task.conditions).edits]
    if not changed:
        raise UserError(
            f"`against` names no damage: {against!r}.",
            f'Give a suite ({", ".join(NAMES[1:])}) or variations, such as "broken(foot_joint), delay=2".',
        )
    for text in changed:
        task.set_variation(text, [0])
    task.set_variation(None, [0])
    return changed


def assign_next(run: RunFolder, threads: int | None, report: Report) -> None:
    """Write down what the run's next member is for, where that is not known yet."""
    if Assignment.of(run, len(run.members)) is not None:
        return
    config, population = RunConfig.from_json(run.manifest["config"]), load(run.path)
    texts = damages(config.against, population.make_task(1))
    before = run.manifest.get(TRIED, {})
    kept: dict[str, list[float]] = before["kept"] if before.get("damages") == texts else {}
    new = [member.index for member in population.members if str(member.index) not in kept]
    done = config.steps_of_first(len(population)) / config.total_steps
    standing = Progress(f"{len(population) + 1}/{config.members}", done, 0, config.specialist_steps)

    def tell(finished: int, total: int) -> None:
        report(standing._replace(phase=f"trying damages, {finished} of {total} episodes"))

    kept = kept | _kept(population, new, texts, threads, tell)
    assigned = run.manifest.get(SPECIALISTS, {})
    attempts = [sum(one["variation"] == text for one in assigned.values()) for text in texts]
    need = most_needed(np.array([kept[str(member.index)] for member in population.members]), attempts)
    newest = {"variation": texts[need.damage], "origin": population.members[need.origin].index}
    run.update_manifest(
        {
            TRIED: {"damages": texts, "kept": kept},
            SPECIALISTS: {**assigned, str(len(population)): newest},
        }
    )


def most_needed(kept: Float[np.ndarray, "member world"], attempts: Sequence[int]) -> Need:
    """Among damages that nobody survives the least often tried, and of these the one nearest to survival.

    `kept` has the nominal world first; `attempts` counts the specialists of every damage. When all are
    survived, it is the one in which least is kept.
    """
    best = kept[:, 1:].max(axis=0)
    survived = best >= KEPT_SHARE * kept[:, 0].max()
    order = sorted(
        range(len(best)),
        key=lambda one: (survived[one], attempts[one], best[one] if survived[one] else -best[one], one),
    )
    return Need(order[0], int(kept[:, 1 + order[0]].argmax()))


def _kept(
    population: Population, members: Sequence[int], texts: Sequence[str], threads: int | None, tell: Count
) -> dict[str, list[float]]:
    """The mean speed of members in the nominal world and every damage; their return where that is unknown."""
    place = {member.index: place for place, member in enumerate(population.members)}
    seeds = episode_seeds(population.config.seed, EpisodePurpose.SPECIALISTS, EPISODES)
    worlds = [None, *texts]
    jobs = [Job(place[member], world, seed) for member in members for world in worlds for seed in seeds]
    make = task_factory(population, None, threads)
    outcome = run_members(population, jobs, make, counting(tell, len(jobs)))
    shape = (len(members), len(worlds), EPISODES)
    speed, earned = (values.reshape(shape).mean(axis=2) for values in (outcome.speed, outcome.total_reward))
    values = speed if np.isfinite(speed).all() else earned
    return {str(member): row.tolist() for member, row in zip(members, values, strict=True)}
