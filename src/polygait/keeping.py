"""Which weights a member keeps, and what it earns with them: episodes with mean actions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from polygait.cohort import Cohort
from polygait.episodes import Job, Outcome, run_episodes
from polygait.learning.acting import ALONE
from polygait.learning.learner import PolicyState
from polygait.learning.rollout import Actor
from polygait.learning.stacking import member_of
from polygait.population.trained_on import TrainedOn
from polygait.tasks.task import Task

NOMINAL_EPISODES = 10
"""Episodes with mean actions by which a finished member is judged."""
_CHOOSING = (NOMINAL_EPISODES,)
"""The start from which weights are chosen: not one of those by which they are judged."""
_VALIDATING = range(NOMINAL_EPISODES, NOMINAL_EPISODES + 4)
"""The same where they are validated."""
VALIDATIONS, VALIDATED_SHARE = 8, 0.2
"""How often, and in which last share of a training."""


class BestPolicy(NamedTuple):
    """What a member would keep if training ended now."""

    policies: PolicyState
    score: np.ndarray
    """Of the best single episode so far, per member, where the configuration asks for it."""


def kept_policies(
    cohort: Cohort, kept: BestPolicy, newest: PolicyState, before: int, steps: int
) -> BestPolicy:
    """What a member would keep now, with `steps` made after `before`.

    A gait learned with noise may fall without it, and not just before.
    """
    keep = cohort.config.keep
    due = keep == "best-episode" or _validations(cohort, steps) > _validations(cohort, before)
    alone = np.isneginf(kept.score).all() and (not due or steps >= cohort.config.steps_per_member)
    if keep == "last" or (keep == "validated" and alone):
        return BestPolicy(newest, kept.score)
    if not due:
        return kept
    starts = _CHOOSING if keep == "best-episode" else _VALIDATING
    outcome = judged(cohort, newest, cohort.config.variation, starts)
    score = outcome.total_reward.reshape(cohort.size, len(starts)).mean(axis=1)
    better = score > kept.score
    chosen = jax.tree.map(
        lambda new, old: np.where(better.reshape(-1, *[1] * (np.ndim(new) - 1)), new, old),
        newest,
        kept.policies,
    )
    return BestPolicy(jax.tree.map(_like, newest, chosen), np.maximum(score, kept.score))


def _validations(cohort: Cohort, steps: int) -> int:
    """How many tests are due when a member has made so many steps."""
    late = 1 - (1 - steps / cohort.config.steps_per_member) / VALIDATED_SHARE
    return math.floor(VALIDATIONS * min(max(late, 0.0), 1.0) + 1e-9)


def _like(leaf: Any, value: np.ndarray) -> Any:
    return value.astype(leaf.dtype) if isinstance(leaf, np.ndarray) else jax.numpy.asarray(value, leaf.dtype)


def judged(cohort: Cohort, policies: PolicyState, variation: str | None, seeds: Sequence[int]) -> Outcome:
    """Episodes with mean actions in one world, the same starts for every member."""
    config, trained_on = cohort.config, TrainedOn.of(cohort.run.manifest)
    jobs = [Job(member, variation, seed) for member in range(cohort.size) for seed in seeds]

    def actor(members: Sequence[int], num_envs: int) -> Actor:
        return cohort.learner.actor(member_of(policies, np.array(members)), num_envs, ALONE)

    def make(count: int) -> Task:
        return trained_on.make(config, num_envs=count, num_threads=cohort.threads)

    return run_episodes(actor, make, jobs)


def scores(cohort: Cohort, kept: PolicyState, newest: PolicyState) -> dict[str, np.ndarray]:
    """What finished members earn: nominally, in their training's variation, with last weights if not kept."""
    config = cohort.config
    asked = {"nominal": (kept, None)} | ({"variation": (kept, config.variation)} if config.variation else {})
    if config.keep != "last":
        asked["last"] = (newest, None)
    found: dict[str, np.ndarray] = {}
    for name, (policies, variation) in asked.items():
        outcome = judged(cohort, policies, variation, range(NOMINAL_EPISODES))
        returns, fell, speed = (
            values.reshape(cohort.size, NOMINAL_EPISODES)
            for values in (outcome.total_reward, outcome.fell, outcome.speed)
        )
        found |= {f"{name}_return": returns.mean(axis=1), f"{name}_std": returns.std(axis=1)}
        found |= {f"{name}_falls": fell.mean(axis=1), f"{name}_speed": speed.mean(axis=1)}
    return {name: values for name, values in found.items() if np.isfinite(values).all()}
