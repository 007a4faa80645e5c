"""The loop of the motivation experiment: an agent learns to walk while four models learn to read its actions.

repeat: block  = agent.play()                 a block of steps, remembered; minibatches drawn
        agent  = agent.learn(block)           } side by side, from the same minibatches
        models = fit(block) behind f_1 … f_4  }
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from polygait.config import DirConfig, SACConfig, seed_problems
from polygait.diversity.inverse_dynamics import (
    InverseDynamics,
    Transitions,
    fit_model,
    initial_optimizer,
    normalized,
)
from polygait.errors import UserError
from polygait.interruption import Interruption
from polygait.learning.agent import Agent, AgentState, Block
from polygait.learning.keys import named_key
from polygait.learning.normalizer import Moments, initial_moments, merge_moments
from polygait.learning.replay import transitions
from polygait.learning.rollout import recent_mean, with_newest
from polygait.population.checkpoints import Checkpoint
from polygait.population.store import RunFolder
from polygait.population.trees import flatten_tree, unflatten_tree
from polygait.progress import Progress, Report
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateFilter, StateLayout
from polygait.tasks.task import Task

TASK = "walker"
SETTINGS: dict[str, tuple[str, ...]] = {
    "whole state": (),
    "without foot velocities": ("*_leg.velocity.foot",),
    "without foot and leg velocities": ("*_leg.velocity.foot", "*_leg.velocity.leg"),
    "without foot, leg and thigh velocities": ("*_leg.velocity",),
}
"""Models 1 to 4, and what each may not see (Appendix A, table of state settings)."""
CHECKPOINT_SECONDS = 20.0
"""At least so long from one checkpoint to the next."""
CHECKPOINT_SHARE = 0.02
"""Of the time may go into checkpoints: they hold the memory, hundreds of megabytes in the end."""
RECENT_EPISODES = 20
"""Completed episodes that the return shown while training averages over."""
LOG_BLOCKS = 32
"""Blocks of steps to one line of the log."""


@dataclass(frozen=True)
class MotivationConfig:
    """What is run; the defaults are the paper's."""

    steps: int = 1_000_000
    """Environment steps of the agent, rounded up to whole blocks."""
    seed: int = 0
    """All randomness follows from it."""
    envs: int = 16
    """Environments that the agent acts in."""
    episodes: int = 30
    """Of the finished agent, about which the models are asked."""
    model_hidden: tuple[int, ...] = (256, 256)
    """Widths of each model's hidden layers."""
    model_learning_rate: float = 3e-4
    """Step size of each model's Adam."""
    sac: SACConfig = field(default_factory=SACConfig)
    """How the agent learns."""

    @property
    def model(self) -> DirConfig:
        """The models' part as they know it."""
        return DirConfig(hidden=self.model_hidden, learning_rate=self.model_learning_rate)

    @property
    def blocks(self) -> int:
        """Blocks of steps to play: all steps, rounded up."""
        return -(-self.steps // self.sac.block_steps)

    def check(self) -> None:
        """Raise one UserError that names every problem."""
        problems = [
            f"{name} must be at least {least}, got {getattr(self, name)}."
            for name, least in (("steps", 1), ("envs", 1), ("episodes", 1))
            if getattr(self, name) < least
        ]
        problems += (
            seed_problems(self.seed)
            + self.sac.problems()
            + [one.replace("dir.", "model_") for one in self.model.problems()]
        )
        if self.envs > 0 and self.sac.block_steps % self.envs:
            problems.append(f"sac.block_steps {self.sac.block_steps} is not a multiple of envs {self.envs}.")
        if problems:
            raise UserError("\n".join(problems), "Nothing was started.")

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> MotivationConfig:
        """The configuration that dataclasses.asdict() described."""
        try:
            return cls(**{**_tupled(data), "sac": SACConfig(**_tupled(data["sac"]))})
        except (AttributeError, KeyError, TypeError) as error:
            raise UserError(f"The experiment's configuration cannot be read: {error}.") from error


class ModelState(NamedTuple):
    """One model in training."""

    model: InverseDynamics
    optimizer: optax.OptState


class LoopState(NamedTuple):
    """Everything that changes, but for the physics and the memory."""

    agent: AgentState
    models: tuple[ModelState, ...]
    moments: Moments
    """Of all states seen so far, for the models to normalise with."""
    recent: np.ndarray
    """(member, RECENT_EPISODES) returns of completed episodes, newest last, NaN before the first."""


class Laboratory(NamedTuple):
    """What stays the same."""

    run: RunFolder
    config: MotivationConfig
    task: Task
    agent: Agent
    filters: tuple[StateFilter, ...]
    threads: int | None


class Turn(NamedTuple):
    """One turn of the loop: the new state, and a line for the log."""

    state: LoopState
    record: dict[str, Any]


def state_filters(layout: StateLayout) -> tuple[StateFilter, ...]:
    """f_1 to f_4."""
    return tuple(
        StateFilter.remove(layout, removed) if removed else StateFilter.identity(layout)
        for removed in SETTINGS.values()
    )


def make_laboratory(run: RunFolder, config: MotivationConfig, threads: int | None) -> Laboratory:
    """Everything in its place, nothing begun."""
    task = make_task(TASK, num_envs=config.envs, num_threads=threads)
    agent = Agent(task, named_key(jax.random.key(config.seed), "agent"), config.sac)
    return Laboratory(run, config, task, agent, state_filters(task.layout), threads)


def train(laboratory: Laboratory, report: Report, stop: Interruption) -> LoopState:
    """From the checkpoint, or from nothing, to the last step."""
    run, config = laboratory.run, laboratory.config
    state = initial_state(laboratory)
    checkpoint = run.load_checkpoint()
    if checkpoint is None:
        run.rewind_metrics()
    else:
        state = _restore(laboratory, state, checkpoint)
    first, begun = int(state.agent.iteration), time.monotonic()
    due = begun + CHECKPOINT_SECONDS
    with ThreadPoolExecutor() as pool:
        while int(state.agent.iteration) < config.blocks:
            state, record = _turn(laboratory, state, pool)
            played = int(state.agent.iteration)
            if played % LOG_BLOCKS == 0 or played == config.blocks:
                run.append_metrics(record)
            now = time.monotonic()
            report(_progress(config, record, (played - first) * config.sac.block_steps / (now - begun)))
            if stop.requested or now > due:
                _save(laboratory, state)
                taken = time.monotonic() - now
                due = time.monotonic() + max(CHECKPOINT_SECONDS, taken / CHECKPOINT_SHARE)
            if stop.requested:
                raise KeyboardInterrupt
    return state


def initial_state(laboratory: Laboratory) -> LoopState:
    """Fresh networks, and every environment at the start of its own seed's first episode."""
    config, task = laboratory.config, laboratory.task
    seeds = np.random.SeedSequence([config.seed, 0]).generate_state(config.envs, np.uint64).tolist()
    key = named_key(jax.random.key(config.seed), "models")
    models = [
        InverseDynamics(named_key(key, index), one.size, task.action_size, config.model)
        for index, one in enumerate(laboratory.filters)
    ]
    return LoopState(
        agent=laboratory.agent.begin(seeds),
        models=tuple(ModelState(model, initial_optimizer(model, config.model)) for model in models),
        moments=initial_moments(1, task.observation_size),
        recent=np.full((1, RECENT_EPISODES), np.nan),
    )


def _turn(laboratory: Laboratory, state: LoopState, pool: ThreadPoolExecutor) -> Turn:
    """Play, then learn."""
    agent, config = laboratory.agent, laboratory.config
    block = agent.play(state.agent)
    moments = merge_moments(state.moments, block.rollout.observation)
    fitting = _start_fitting(laboratory, state.models, block, moments, pool)
    learned, statistics = agent.learn(state.agent, block)
    fitted = [one.result() for one in fitting]
    recent = with_newest(state.recent, block.rollout.episodes)
    record = {
        "steps": int(learned.iteration) * config.sac.block_steps,
        "return": float(recent_mean(recent)[0]),
        "diverged": laboratory.task.num_diverged,
        "model_loss": [float(loss) for _, _, loss in fitted],
        **(statistics._asdict() if statistics else {}),
    }
    models = tuple(ModelState(model, optimizer) for model, optimizer, _ in fitted) or state.models
    return Turn(LoopState(learned, models, moments, recent), record)


def _start_fitting(
    laboratory: Laboratory,
    models: tuple[ModelState, ...],
    block: Block,
    moments: Moments,
    pool: ThreadPoolExecutor,
) -> list[Future]:
    """One gradient step of every model for every minibatch of the agent; nothing during its warm-up."""
    if not len(block.rows):
        return []
    updates, samples, _ = block.rows.shape
    taken = transitions(jnp.asarray(block.rows.reshape(updates * samples, -1)), laboratory.agent.sizes)
    order = jnp.arange(updates * samples).reshape(updates, samples)

    def fit(state: ModelState, own: StateFilter) -> tuple:
        seen = Moments(moments.num_values, own(moments.mean), own(moments.variance))
        given = Transitions(own(taken.observation), own(taken.next_observation), taken.action)
        model = normalized(state.model, seen)
        return jax.block_until_ready(fit_model(model, state.optimizer, given, order, laboratory.config.model))

    return [pool.submit(fit, *one) for one in zip(models, laboratory.filters, strict=True)]


def _save(laboratory: Laboratory, state: LoopState) -> None:
    run = laboratory.run
    run.sync_metrics()
    tensors = {f"state{name}": array for name, array in flatten_tree(state).items()}
    for home, snapshot in (
        ("task", laboratory.task.snapshot()),
        ("replay", laboratory.agent.replay.snapshot()),
    ):
        tensors |= {f"{home}.{name}": np.asarray(array) for name, array in snapshot.items()}
    run.save_checkpoint(int(state.agent.iteration), tensors, {"metrics": run.metrics_size()})


def _restore(laboratory: Laboratory, like: LoopState, checkpoint: Checkpoint) -> LoopState:
    for skipped in checkpoint.skipped:
        warnings.warn(f"Passed over a damaged checkpoint: {skipped}", stacklevel=4)
    laboratory.run.truncate_metrics(checkpoint.metadata["metrics"])
    laboratory.task.restore(checkpoint.section("task."))
    laboratory.agent.replay.restore(checkpoint.section("replay."))
    return unflatten_tree(like, checkpoint.section("state"))


def _progress(config: MotivationConfig, record: dict[str, Any], rate: float) -> Progress:
    total = config.blocks * config.sac.block_steps
    return Progress(
        members="1/1",
        share=record["steps"] / total,
        steps=record["steps"],
        total_steps=total,
        steps_per_second=rate,
        episode_return=record["return"],
        bonus_ratio=0.0,
        seconds_left=(total - record["steps"]) / rate,
        record=record,
    )


def _tupled(data: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where a configuration has tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
