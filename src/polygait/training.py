"""The main loop. Read this first: everything else is a detail of one of its lines.

    for each cohort of members (DiR: one at a time; Multi, DvD, SMERL: all at once)
        repeat: rollout = collect(learner.policy, task)
                reward  = rollout.reward + weigh(method.intrinsic_reward(rollout))
                learner.update(rollout, reward)   } side by side
                method.update(rollout)            }
        write the members down

One LoopState, with the task's and the learner's snapshot, is all there is to checkpoint: a run killed at any
moment and resumed ends in the same bits.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np

from polygait.cohort import Cohort
from polygait.diversity.method import IntrinsicReward, Setting, bonus_statistics
from polygait.diversity.strength import BonusScale, WeighedBonus, fading, guarded, initial_scale, weigh
from polygait.interruption import Interruption
from polygait.keeping import BestPolicy, kept_policies, scores
from polygait.learning.acting import TRAINING_TILE
from polygait.learning.rollout import (
    Actor,
    Position,
    Rollout,
    collect,
    recent_mean,
    rollout_noise,
    start_position,
    with_newest,
)
from polygait.learning.stacking import member_of
from polygait.learning.whole_episodes import collect_episodes
from polygait.population.checkpoints import Checkpoint
from polygait.population.migrations import migrated_state
from polygait.population.population import continued, member_tensors, section
from polygait.progress import Progress, Report
from polygait.storage.trees import flatten_tree, unflatten_tree
from polygait.tasks.batched import set_faulty_share

CHECKPOINT_SECONDS = 20.0
"""At least so long from one checkpoint to the next."""
CHECKPOINT_SHARE = 0.02
"""Of the time may go into checkpoints: those with a replay buffer hold hundreds of megabytes in the end."""
RECENT_EPISODES = 100
"""Completed episodes per member that its recent return averages over."""
_NUM_STEPS = ".position.num_steps"
"""The name of what a LoopState has of that kind in a checkpoint."""


class LoopState(NamedTuple):
    """Everything that changes while a cohort trains, but for the physics and a learner's memory."""

    learner: Any
    position: Position
    method: Any
    scale: BonusScale
    guard: np.ndarray
    """The share of its bonus that each member is paid: less while it is behind."""
    recent: np.ndarray
    """(member, RECENT_EPISODES) returns of completed episodes, newest last, NaN before the first."""
    kept: BestPolicy
    iteration: np.ndarray


class TrainIteration(NamedTuple):
    """What one iteration gave: the new state, and a line for the log."""

    state: LoopState
    record: dict[str, Any]


def train_cohort(cohort: Cohort, checkpoint: Checkpoint | None, report: Report, stop: Interruption) -> None:
    """Train some members from the checkpoint, or from their start, to their end, and write them down."""
    # The programs of the first turn are compiled before anything can be counted.
    report(_standing(cohort, _steps_done(cohort, checkpoint))._replace(phase="compiling"))
    state = _initial_state(cohort)
    if checkpoint is None:
        _save(cohort, state)
    else:
        state = _restore(cohort, state, checkpoint)
    begun = time.monotonic()
    due = begun + CHECKPOINT_SECONDS
    first_steps, all_steps = int(state.position.num_steps), cohort.config.steps_per_member
    with ThreadPoolExecutor(max_workers=1) as pool:
        while int(state.position.num_steps) < all_steps:
            state, record = _iterate(cohort, state, pool)
            steps = int(state.position.num_steps)
            if int(state.iteration) % cohort.learner.log_interval == 0 or steps >= all_steps:
                cohort.run.append_metrics(record)
            now = time.monotonic()
            report(_progress(cohort, state, record, (steps - first_steps) / (now - begun)))
            if stop.requested or now > due:
                _save(cohort, state)
                taken = time.monotonic() - now
                due = time.monotonic() + max(CHECKPOINT_SECONDS, taken / CHECKPOINT_SHARE)
            if stop.requested:
                raise KeyboardInterrupt
    _save(cohort, state)
    _write_members(cohort, state)
    cohort.run.clear_checkpoints()


def _iterate(cohort: Cohort, state: LoopState, pool: ThreadPoolExecutor) -> TrainIteration:
    """Collect, reward, improve."""
    learner, method, iteration = cohort.learner, cohort.method, int(state.iteration)
    diverged = cohort.task.num_diverged
    if cohort.config.curriculum:
        set_faulty_share(cohort.task, cohort.config.faulty_share(int(state.position.num_steps)))
    rollout = _collect(cohort, learner.policy(state.learner, iteration), state.position, iteration)
    bonus = method.intrinsic_reward(state.method, rollout)
    updating = pool.submit(method.update, state.method, rollout, cohort.keys, iteration)
    weighed = _weighed(cohort, state, bonus, rollout)
    learned = learner.update(state.learner, rollout, rollout.reward + weighed.reward, cohort.keys, iteration)
    updated = updating.result()

    recent = with_newest(state.recent, rollout.episodes)
    before, steps = int(state.position.num_steps), int(rollout.position.num_steps)
    state = LoopState(
        learner=learned.state,
        position=rollout.position,
        method=updated.state,
        scale=weighed.scale,
        guard=guarded(state.guard, recent_mean(recent), cohort.config.guard * cohort.pace_at(steps)),
        recent=recent,
        kept=kept_policies(cohort, state.kept, learner.export(learned.state), before, steps),
        iteration=state.iteration + 1,
    )
    numbers = {**learned.statistics, **bonus.statistics, **updated.statistics}
    if method.has_bonus:
        numbers |= bonus_statistics(bonus.value, weighed.reward, rollout)
    record = {
        "members": [cohort.first, cohort.first + cohort.size],
        "iteration": iteration,
        "steps": steps,
        "return": recent_mean(recent).tolist(),
        "episodes": np.bincount(rollout.episodes.member, minlength=cohort.size).tolist(),
        "diverged": cohort.task.num_diverged - diverged,
        **{name: np.asarray(values, dtype=np.float64).tolist() for name, values in numbers.items()},
    }
    return TrainIteration(state, record)


def _weighed(cohort: Cohort, state: LoopState, bonus: IntrinsicReward, rollout: Rollout) -> WeighedBonus:
    """The bonus as a reward beside the task's: by the paper's factor, or as a share of what the task pays."""
    config = cohort.config
    progress = int(state.position.num_steps) / config.steps_per_member
    weight = fading(progress, config.fade) * bonus.share * state.guard
    if config.diversity is None:
        weighed = WeighedBonus(weight[:, None] * config.alpha * bonus.value, state.scale)
        strength = np.full(cohort.size, config.alpha)
    else:
        weighed = weigh(state.scale, bonus.value, rollout.reward, weight * config.diversity)
        strength = config.diversity * weighed.scale.task
    if bonus.cost is None:
        return weighed
    return weighed._replace(reward=weighed.reward - (state.guard * strength)[:, None] * bonus.cost)


def _collect(cohort: Cohort, policy: Actor, position: Position, iteration: int) -> Rollout:
    config, task = cohort.config, cohort.task
    if episodes := config.episodes_per_iteration:
        shape = (task.max_episode_steps, episodes, task.action_size)
        return collect_episodes(task, policy, rollout_noise(cohort.keys, iteration, shape), position)
    shape = (config.learner.steps_per_iteration // config.envs, config.envs, task.action_size)
    return collect(task, policy, rollout_noise(cohort.keys, iteration, shape), position)


def _initial_state(cohort: Cohort) -> LoopState:
    """Fresh networks or those of the origin; every environment at the start of its seed's first episode."""
    config, task, size = cohort.config, cohort.task, cohort.size
    learner = cohort.learner.init(cohort.keys)
    if cohort.origin is not None:
        learner = continued(cohort.learner, learner, cohort.origin)
    members = range(cohort.first, cohort.first + size)
    if config.curriculum:
        set_faulty_share(task, config.faulty_share(0))
    seeds = [seed for member in members for seed in _env_seeds(config.seed, member, config.envs)]
    earlier = [section(cohort.run.load_member(index), "method.") for index in range(cohort.first)]
    return LoopState(
        learner=learner,
        position=start_position(task, size, seeds),
        method=cohort.method.init(cohort.keys, Setting(task.action_size, size), earlier),
        scale=initial_scale(size),
        guard=np.ones(size),
        recent=np.full((size, RECENT_EPISODES), np.nan),
        kept=BestPolicy(cohort.learner.export(learner), np.full(size, -np.inf)),
        iteration=np.array(0),
    )


def _env_seeds(seed: int, member: int, count: int) -> list[int]:
    """Seeds of a member's environments, the same in whatever cohort it trains."""
    return np.random.SeedSequence([seed, member]).generate_state(count, np.uint64).tolist()


def _save(cohort: Cohort, state: LoopState) -> None:
    cohort.run.sync_metrics()
    tensors = {f"state{name}": array for name, array in flatten_tree(state).items()}
    for owner, snapshot in (("task", cohort.task.snapshot()), ("learner", cohort.learner.snapshot())):
        tensors |= {f"{owner}.{name}": np.asarray(array) for name, array in snapshot.items()}
    metadata = {"first": cohort.first, "size": cohort.size, "metrics": cohort.run.metrics_size()}
    cohort.run.save_checkpoint(int(state.iteration), tensors, metadata)


def _restore(cohort: Cohort, like: LoopState, checkpoint: Checkpoint) -> LoopState:
    cohort.run.truncate_metrics(checkpoint.metadata["metrics"])
    cohort.task.restore(checkpoint.section("task."))
    cohort.learner.restore(checkpoint.section("learner."))
    unknown = {f".scale{name}": array for name, array in flatten_tree(like.scale).items()}
    unknown[".guard"] = like.guard
    unknown[_NUM_STEPS] = np.array(_steps_done(cohort, checkpoint))
    return unflatten_tree(like, unknown | migrated_state(checkpoint.section("state")))


def _write_members(cohort: Cohort, state: LoopState) -> None:
    """Judge the finished members and write each into its file."""
    config, policies = cohort.config, state.kept.policies
    actor = cohort.learner.actor(policies, config.envs, TRAINING_TILE)
    fresh = _collect(cohort, actor, state.position, int(state.iteration))
    metrics = cohort.method.metrics(state.method, fresh)
    earned = scores(cohort, policies, cohort.learner.export(state.learner))
    recent = recent_mean(state.recent)
    exported = cohort.method.export(state.method)
    finished = jax.tree.map(np.asarray, (policies, cohort.learner.critic(state.learner)))
    for row in range(cohort.size):
        summary = {
            **{name: float(values[row]) for name, values in earned.items()},
            "training_return": float(recent[row]),
            **{name: float(values[row]) for name, values in metrics.items()},
        }
        policy, critic = member_of(finished, row)
        tensors = member_tensors(policy, critic, exported[row])
        cohort.run.save_member(cohort.first + row, tensors, int(state.position.num_steps), summary)


def _progress(cohort: Cohort, state: LoopState, record: dict[str, Any], rate: float) -> Progress:
    """`rate` is of one member; all of a cohort's advance together."""
    steps, returns = int(state.position.num_steps), record["return"]
    left = 1 - _share(cohort, steps)
    return _standing(cohort, steps)._replace(
        steps_per_second=rate * cohort.size,
        episode_return=float(np.nanmean(returns)) if not np.isnan(returns).all() else np.nan,
        bonus_ratio=float(np.mean(record.get("bonus_ratio", 0.0))),
        seconds_left=left * cohort.total_steps / (rate * cohort.size),
        record=record,
    )


def _share(cohort: Cohort, steps: int) -> float:
    """How much of all training is over when each of these members has made so many steps."""
    made = min(steps, cohort.config.steps_per_member)  # whole episodes may make more
    return (cohort.steps_before + made * cohort.size) / cohort.total_steps


def _steps_done(cohort: Cohort, checkpoint: Checkpoint | None) -> int:
    """How far a checkpoint is; earlier versions counted iterations alone, all of one size."""
    if checkpoint is None:
        return 0
    state = checkpoint.section("state")
    if _NUM_STEPS in state:
        return int(state[_NUM_STEPS])
    return checkpoint.iteration * cohort.config.learner.steps_per_iteration


def _standing(cohort: Cohort, steps: int) -> Progress:
    """How far a cohort is, but for its pace and its returns."""
    config, last = cohort.config, cohort.first + cohort.size
    members = f"{last}" if cohort.size == 1 else f"{cohort.first + 1}–{last}"
    return Progress(
        members=f"{members}/{config.members}",
        share=_share(cohort, steps),
        steps=steps,
        total_steps=config.steps_per_member,
    )
