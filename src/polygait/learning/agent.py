"""A Soft Actor-Critic agent at work: play a block of steps, remember them, learn from what is remembered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float32, Key

from polygait.config import SACConfig
from polygait.errors import UserError
from polygait.learning.replay import Replay
from polygait.learning.rollout import (
    Environments,
    Position,
    Rollout,
    collect,
    rollout_noise,
    start_position,
)
from polygait.learning.sac import SACState, SACStatistics, initial_learner, sac_update
from polygait.learning.shuffling import order_seeds
from polygait.learning.squashed import EvenActor, NumpySquashed


class AgentState(NamedTuple):
    """Everything that changes while an agent learns, but for its memory and the physics."""

    learner: SACState
    position: Position
    iteration: np.ndarray
    """Blocks played so far."""


class Block(NamedTuple):
    """What one block of steps gave."""

    rollout: Rollout
    """With one member."""
    rows: Float32[np.ndarray, "update sample column"]
    """Minibatches to learn from; none before the warm-up is over."""


class Agent:
    """An agent with its environments and its memory, the only things that are changed in place."""

    def __init__(self, task: Environments, key: Key[Array, ""], config: SACConfig) -> None:
        self.task = task
        self.key = key
        self.config = config
        self.sizes = (task.observation_size, task.action_size)
        self.replay = Replay(config.replay_size, self.sizes)
        if config.block_steps % task.num_envs:
            raise UserError(
                f"sac.block_steps {config.block_steps} is not a multiple of {task.num_envs} environments.",
                "Choose numbers that divide, so that every environment steps equally often.",
            )

    def begin(self, seeds: list[int] | None = None) -> AgentState:
        """Fresh networks at the start of new episodes, each environment with its own seed where given."""
        learner = initial_learner(self.key, self.sizes, self.config)
        return AgentState(learner, start_position(self.task, 1, seeds), np.array(0))

    def play(self, state: AgentState) -> Block:
        """Act for a block of steps, remember them, and draw what to learn from."""
        config, iteration = self.config, int(state.iteration)
        warm = iteration * config.block_steps >= config.warmup_steps
        actor = NumpySquashed(state.learner.actor.policy) if warm else EvenActor(self.sizes[1])
        keys = self.key[None]
        shape = (config.block_steps // self.task.num_envs, self.task.num_envs, self.sizes[1])
        rollout = collect(self.task, actor, rollout_noise(keys, iteration, shape), state.position)
        self.replay.add(_columns(rollout))
        seed = order_seeds(keys, "replay", iteration)[0]
        updates = config.block_updates if warm else 0
        return Block(rollout, self.replay.draw(seed, (updates, config.minibatch_size)))

    def learn(self, state: AgentState, block: Block) -> tuple[AgentState, SACStatistics | None]:
        """The state after a block; no statistics while there is nothing to learn from."""
        learner, statistics = state.learner, None
        if len(block.rows):
            learner, statistics = sac_update(learner, block.rows, self.key, int(state.iteration), self.config)
        return AgentState(learner, block.rollout.position, state.iteration + 1), statistics


def _columns(rollout: Rollout) -> list[np.ndarray]:
    """A rollout's steps in a row, in the order of Transition."""
    parts = (
        rollout.observation,
        rollout.action,
        rollout.reward,
        rollout.terminated,
        rollout.next_observation,
    )
    return [part.reshape(rollout.reward.size, *part.shape[3:]) for part in parts]
