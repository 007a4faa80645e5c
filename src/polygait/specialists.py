"""Specialists: members that go on from an earlier one in a damage that nobody survives yet.

Every member is tried in every damage that nobody survives yet. The next specialist is for the one that is
nearest to being survived. It goes on from whoever comes farthest there, in that world alone, and is tried in
the others itself before another begins: what it has learned may help elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

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
"""Of a member in a world, when it is tried."""
TRIED = "tried"
"""In the manifest: what members kept in the nominal world and in damages."""


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
    done = config.steps_of_first(len(population)) / config.total_steps
    standing = Progress(f"{len(population) + 1}/{config.members}", done, 0, config.specialist_steps)

    def tell(finished: int, total: int) -> None:
        report(standing._replace(phase=f"trying damages, {finished} of {total} episodes"))

    kept = _known(run, texts)
    while (untried := to_try(kept)).any():
        kept[untried] = _tried(population, untried, [None, *texts], threads, tell)
    assigned = run.manifest.get(SPECIALISTS, {})
    attempts = [sum(one["variation"] == text for one in assigned.values()) for text in texts]
    need = most_needed(kept, attempts)
    newest = {"variation": texts[need.damage], "origin": population.members[need.origin].index}
    rows = [[None if np.isnan(value) else value for value in row] for row in kept.tolist()]
    run.update_manifest(
        {
            TRIED: {"damages": texts, "kept": {str(member): row for member, row in enumerate(rows)}},
            SPECIALISTS: {**assigned, str(len(population)): newest},
        }
    )


def to_try(kept: Float[np.ndarray, "member world"]) -> Bool[np.ndarray, "member world"]:
    """Who has to be tried where: everybody in the nominal world and in each damage that nobody survives.

    `kept` has the nominal world first, and NaN where a member has not been tried.
    """
    best = np.fmax.reduce(kept, axis=0)
    wanted = ~(best >= KEPT_SHARE * best[0])
    wanted[0] = True
    return np.isnan(kept) & wanted


def most_needed(kept: Float[np.ndarray, "member world"], attempts: Sequence[int]) -> Need:
    """Among damages that nobody survives the least often tried, and of these the one nearest to survival.

    `kept` is as in `to_try`; `attempts` counts the specialists of every damage. When all are survived, it is
    the one in which least is kept.
    """
    best = np.fmax.reduce(kept[:, 1:], axis=0)
    survived = best >= KEPT_SHARE * kept[:, 0].max()
    order = sorted(
        range(len(best)),
        key=lambda one: (survived[one], attempts[one], best[one] if survived[one] else -best[one], one),
    )
    return Need(order[0], int(np.nanargmax(kept[:, 1 + order[0]])))


def _known(run: RunFolder, texts: Sequence[str]) -> Float[np.ndarray, "member world"]:
    """What members kept in earlier trials of these damages; NaN where there was none."""
    before = run.manifest.get(TRIED, {})
    rows: dict[str, list[float | None]] = before["kept"] if before.get("damages") == list(texts) else {}
    never = [None] * (1 + len(texts))
    return np.array([rows.get(str(member), never) for member in range(len(run.members))], dtype=float)


def _tried(
    population: Population,
    untried: Bool[np.ndarray, "member world"],
    worlds: Sequence[str | None],
    threads: int | None,
    tell: Count,
) -> Float[np.ndarray, " trial"]:
    """The mean speed of members in worlds; their return where that is unknown."""
    seeds = episode_seeds(population.config.seed, EpisodePurpose.SPECIALISTS, EPISODES)
    jobs = [
        Job(member, worlds[world], seed) for member, world in np.argwhere(untried).tolist() for seed in seeds
    ]
    make = task_factory(population, None, threads)
    outcome = run_members(population, jobs, make, counting(tell, len(jobs)))
    values = outcome.speed if np.isfinite(outcome.speed).all() else outcome.total_reward
    return values.reshape(-1, EPISODES).mean(axis=1)
