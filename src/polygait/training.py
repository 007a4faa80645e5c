"""The main loop. Read this first: everything else is a detail of one of its lines.

    for each cohort of members (DiR: one at a time; Multi, DvD, SMERL: all at once)
        repeat: rollout = collect(policies, task)
                reward  = rollout.reward + method.bonus(rollout)
                policies = ppo_update(policies, batch)   } side by side
                method   = method.fit(rollout)           }
        write the members down

One LoopState, with the task's snapshot, is all there is to checkpoint: a run killed at any moment and
resumed ends in the same bits.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from polygait import learning
from polygait.diversity.method import Method, Setting
from polygait.diversity.registry import make_method
from polygait.episodes import Job, Outcome, run_episodes
from polygait.interruption import Interruption
from polygait.population.checkpoints import Checkpoint
from polygait.population.population import Brain, member_tensors, method_tensors
from polygait.population.store import RunFolder
from polygait.population.trees import flatten_tree, unflatten_tree
from polygait.presets import RunConfig
from polygait.progress import Progress, Report
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateFilter
from polygait.tasks.task import Task

CHECKPOINT_SECONDS = 20.0
RECENT_EPISODES = 100
"""Completed episodes per member that its recent return averages over."""
NOMINAL_EPISODES = 10
"""Episodes with mean actions by which a finished member is judged."""
_CHOOSING = (NOMINAL_EPISODES,)
"""The start from which weights are chosen: not one of those by which they are judged."""


class Kept(NamedTuple):
    """What a member would leave if training ended now."""

    brain: Brain
    score: np.ndarray
    """Of the best single episode so far, per member, where the configuration asks for it."""


class LoopState(NamedTuple):
    """Everything that changes while a cohort trains, but for the physics."""

    learner: learning.LearnerState
    normalizer: learning.Normalizer
    position: learning.Position
    method: Any
    recent: np.ndarray
    """(member, RECENT_EPISODES) returns of completed episodes, newest last, NaN before the first."""
    kept: Kept
    iteration: np.ndarray


class Cohort(NamedTuple):
    """What stays the same while members train together."""

    run: RunFolder
    config: RunConfig
    method: Method
    task: Task
    keys: Key[Array, " member"]
    first: int
    threads: int | None

    @property
    def size(self) -> int:
        """How many members train together."""
        return len(self.keys)


class Turn(NamedTuple):
    """One turn of the loop: the new state, and a line for the log."""

    state: LoopState
    record: dict[str, Any]


def train_cohort(cohort: Cohort, checkpoint: Checkpoint | None, report: Report, stop: Interruption) -> None:
    """Train some members from the checkpoint, or from nothing, to their end, and write them down."""
    # The programs of the first turn are compiled before anything can be counted.
    report(_standing(cohort, checkpoint.iteration if checkpoint else 0)._replace(phase="compiling"))
    state = _initial_state(cohort)
    if checkpoint is None:
        _save(cohort, state)
    else:
        state = _restore(cohort, state, checkpoint)
    saved = begun = time.monotonic()
    first_iteration = int(state.iteration)
    with ThreadPoolExecutor(max_workers=1) as pool:
        while int(state.iteration) < cohort.config.iterations:
            state, record = _turn(cohort, state, pool)
            cohort.run.append_metrics(record)
            done = int(state.iteration) - first_iteration
            seconds = time.monotonic() - begun
            report(_progress(cohort, state, record, done * cohort.config.ppo.rollout_steps / seconds))
            if stop.requested or time.monotonic() - saved > CHECKPOINT_SECONDS:
                _save(cohort, state)
                saved = time.monotonic()
            if stop.requested:
                raise KeyboardInterrupt
    _save(cohort, state)
    _write_members(cohort, state)
    cohort.run.clear_checkpoints()


def make_cohort(run: RunFolder, checkpoint: Checkpoint | None, threads: int | None) -> Cohort:
    """The members to train next: those of the checkpoint, or the first that are missing."""
    config = RunConfig.from_json(run.manifest["config"])
    method = make_method(config, StateFilter.from_json(run.manifest["filter"]))
    if checkpoint is None:
        first = len(run.members)
        size = config.members - first if method.simultaneous else 1
    else:
        first, size = checkpoint.metadata["first"], checkpoint.metadata["size"]
    task = make_task(config.task, num_envs=size * config.envs, num_threads=threads, **config.task_options)
    keys = learning.member_keys(jax.random.key(config.seed), first, size)
    return Cohort(run, config, method, task, keys, first, threads)


def _turn(cohort: Cohort, state: LoopState, pool: ThreadPoolExecutor) -> Turn:
    """Collect, reward, improve."""
    config, method, iteration = cohort.config, cohort.method, int(state.iteration)
    diverged = cohort.task.num_diverged
    rollout = _collect(cohort, state, iteration)
    bonus = method.bonus(state.method, rollout)
    prepared = learning.prepare_batch(rollout, rollout.reward + bonus.reward, state.normalizer, config.ppo)
    fitting = pool.submit(method.fit, state.method, rollout, cohort.keys, iteration)
    learner, statistics = learning.ppo_update(
        state.learner, prepared.batch, cohort.keys, iteration, config.ppo
    )
    fitted = fitting.result()

    recent = learning.with_newest(state.recent, rollout.episodes)
    state = LoopState(
        learner=learner,
        normalizer=prepared.normalizer,
        position=rollout.position,
        method=fitted.state,
        recent=recent,
        kept=_kept(cohort, state.kept, Brain(learner.policy, prepared.normalizer.observation)),
        iteration=state.iteration + 1,
    )
    numbers = {**statistics._asdict(), **bonus.statistics, **fitted.statistics}
    record = {
        "members": [cohort.first, cohort.first + cohort.size],
        "iteration": iteration,
        "steps": (iteration + 1) * config.ppo.rollout_steps,
        "return": learning.recent_mean(recent).tolist(),
        "episodes": np.bincount(rollout.episodes.member, minlength=cohort.size).tolist(),
        "diverged": cohort.task.num_diverged - diverged,
        **{name: np.asarray(values, dtype=np.float64).tolist() for name, values in numbers.items()},
    }
    return Turn(state, record)


def _collect(cohort: Cohort, state: LoopState, iteration: int) -> learning.Rollout:
    config = cohort.config
    policy = learning.acting_policy(state.learner.policy, state.normalizer, config.envs, config.ppo)
    shape = (learning.rollout_length(config.ppo, config.envs), config.envs, cohort.task.action_size)
    noise = learning.rollout_noise(cohort.keys, iteration, shape)
    return learning.collect(cohort.task, policy, noise, state.position)


def _initial_state(cohort: Cohort) -> LoopState:
    """Fresh networks, and every environment at the start of its own seed's first episode."""
    config, task, size = cohort.config, cohort.task, cohort.size
    learner = learning.initial_learner(cohort.keys, (task.observation_size, task.action_size), config.ppo)
    normalizer = learning.initial_normalizer(size, config.envs, task.observation_size)
    members = range(cohort.first, cohort.first + size)
    seeds = [seed for member in members for seed in _env_seeds(config.seed, member, config.envs)]
    earlier = [method_tensors(cohort.run, index) for index in range(cohort.first)]
    setting = Setting(task.action_size, size)
    return LoopState(
        learner=learner,
        normalizer=normalizer,
        position=learning.start_position(task, size, seeds),
        method=cohort.method.begin(cohort.keys, setting, earlier),
        recent=np.full((size, RECENT_EPISODES), np.nan),
        kept=Kept(Brain(learner.policy, normalizer.observation), np.full(size, -np.inf)),
        iteration=np.array(0),
    )


def _env_seeds(seed: int, member: int, count: int) -> list[int]:
    """Seeds of a member's environments, the same in whatever cohort it trains."""
    return np.random.SeedSequence([seed, member]).generate_state(count, np.uint64).tolist()


def _kept(cohort: Cohort, kept: Kept, brain: Brain) -> Kept:
    """The newest weights, or those of the best single deterministic episode so far, as the authors do."""
    if cohort.config.keep == "last":
        return Kept(brain, kept.score)
    score = _nominal(cohort, brain, _CHOOSING).total_reward
    better = score > kept.score
    chosen = jax.tree.map(
        lambda new, old: np.where(better.reshape(-1, *[1] * (np.ndim(new) - 1)), new, old), brain, kept.brain
    )
    return Kept(jax.tree.map(_like, brain, chosen), np.maximum(score, kept.score))


def _like(leaf: Any, value: np.ndarray) -> Any:
    return value.astype(leaf.dtype) if isinstance(leaf, np.ndarray) else jax.numpy.asarray(value, leaf.dtype)


def _nominal(cohort: Cohort, brain: Brain, seeds: Sequence[int]) -> Outcome:
    """Episodes with mean actions in the nominal world, the same starts for every member."""
    config = cohort.config
    moments = brain.moments if config.ppo.normalize_observations else None
    jobs = [Job(member, None, seed) for member in range(cohort.size) for seed in seeds]

    def make(count: int) -> Task:
        return make_task(config.task, count, num_threads=cohort.threads, **config.task_options)

    return run_episodes(brain.policy, moments, make, jobs)


def _save(cohort: Cohort, state: LoopState) -> None:
    cohort.run.sync_metrics()
    tensors = {f"state{name}": array for name, array in flatten_tree(state).items()}
    tensors |= {f"task.{name}": np.asarray(array) for name, array in cohort.task.snapshot().items()}
    metadata = {"first": cohort.first, "size": cohort.size, "metrics": cohort.run.metrics_size()}
    cohort.run.save_checkpoint(int(state.iteration), tensors, metadata)


def _restore(cohort: Cohort, like: LoopState, checkpoint: Checkpoint) -> LoopState:
    cohort.run.truncate_metrics(checkpoint.metadata["metrics"])
    cohort.task.restore(checkpoint.section("task."))
    return unflatten_tree(like, checkpoint.section("state"))


def _write_members(cohort: Cohort, state: LoopState) -> None:
    """Judge the finished members and write each into its file."""
    config = cohort.config
    kept = state._replace(
        learner=dataclasses.replace(state.learner, policy=state.kept.brain.policy),
        normalizer=state.normalizer._replace(observation=state.kept.brain.moments),
    )
    judged = cohort.method.judge(state.method, _collect(cohort, kept, config.iterations))
    outcome = _nominal(cohort, state.kept.brain, range(NOMINAL_EPISODES))
    returns = outcome.total_reward.reshape(cohort.size, NOMINAL_EPISODES)
    fell = outcome.fell.reshape(cohort.size, NOMINAL_EPISODES)
    recent = learning.recent_mean(state.recent)
    left = cohort.method.leave(state.method)
    for row in range(cohort.size):
        brain, critic = jax.tree.map(
            lambda array, row=row: np.asarray(array)[row], (state.kept.brain, state.learner.critic)
        )
        summary = {
            "nominal_return": float(returns[row].mean()),
            "nominal_std": float(returns[row].std()),
            "nominal_falls": float(fell[row].mean()),
            "training_return": float(recent[row]),
            **{name: float(values[row]) for name, values in judged.items()},
        }
        steps = config.iterations * config.ppo.rollout_steps
        cohort.run.save_member(cohort.first + row, member_tensors(brain, critic, left[row]), steps, summary)


def _progress(cohort: Cohort, state: LoopState, record: dict[str, Any], rate: float) -> Progress:
    """`rate` is of one member; all of a cohort's advance together."""
    config = cohort.config
    iteration, returns = int(state.iteration), record["return"]
    left = (config.members - cohort.first) / cohort.size - iteration / config.iterations
    return _standing(cohort, iteration)._replace(
        steps_per_second=rate * cohort.size,
        episode_return=float(np.nanmean(returns)) if not np.isnan(returns).all() else np.nan,
        bonus_ratio=float(np.mean(record.get("bonus_ratio", 0.0))),
        seconds_left=left * config.iterations * config.ppo.rollout_steps / rate,
        record=record,
    )


def _standing(cohort: Cohort, iteration: int) -> Progress:
    """How far a cohort is, but for its pace and its returns."""
    config, last = cohort.config, cohort.first + cohort.size
    members = f"{last}" if cohort.size == 1 else f"{cohort.first + 1}–{last}"
    return Progress(
        members=f"{members}/{config.members}",
        share=(cohort.first + iteration / config.iterations * cohort.size) / config.members,
        steps=iteration * config.ppo.rollout_steps,
        total_steps=config.iterations * config.ppo.rollout_steps,
    )
