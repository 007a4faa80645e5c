"""The learner of the motivation experiment: Soft Actor-Critic, and four models that read its actions.

It is added to the learners by an entry point, as any other package would add its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from polygait.config import SACConfig
from polygait.config.learners import WIDTHS, possible_widths
from polygait.diversity.inverse_dynamics import (
    InverseDynamics,
    ModelConfig,
    Transitions,
    fit_model,
    initial_optimizer,
    normalized,
)
from polygait.learning.keys import named_key
from polygait.learning.learner import Learner, LearnerUpdate, PolicyState, Sizes
from polygait.learning.learners.sac import SAC, Minibatches
from polygait.learning.normalizer import Moments, initial_moments, merge_moments
from polygait.learning.replay import transitions
from polygait.learning.rollout import Actor, Rollout
from polygait.learning.sac import SACNetworks
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateFilter, StateLayout

TASK = "walker"
SETTINGS: dict[str, tuple[str, ...]] = {
    "whole state": (),
    "without foot velocities": ("*_leg.velocity.foot",),
    "without foot and leg velocities": ("*_leg.velocity.foot", "*_leg.velocity.leg"),
    "without foot, leg and thigh velocities": ("*_leg.velocity",),
}
"""Models 1 to 4, and what each may not see (Appendix A, table of state settings)."""


@dataclass(frozen=True)
class ReadingConfig(SACConfig):
    """How the agent and its readers learn; the defaults are the paper's."""

    name: ClassVar[str] = "motivation"
    model_hidden: tuple[int, ...] = (256, 256)
    """Widths of each model's hidden layers."""
    model_learning_rate: float = 3e-4
    """Step size of each model's Adam."""

    @property
    def model(self) -> ModelConfig:
        """The models' part as they know it."""
        return ModelConfig(hidden=self.model_hidden, learning_rate=self.model_learning_rate)

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = super().problems()
        if not 0 < self.model_learning_rate < math.inf:
            found.append(f"model_learning_rate must be finite and above 0, got {self.model_learning_rate}.")
        if not possible_widths(self.model_hidden):
            found.append(f"model_hidden must {WIDTHS}, got {self.model_hidden}.")
        return found


class Reader(NamedTuple):
    """One model in training."""

    model: InverseDynamics
    optimizer: optax.OptState


class ReadingState(NamedTuple):
    """The agent's networks, its readers, and the moments of all states seen, which readers normalise with."""

    agent: SACNetworks
    readers: tuple[Reader, ...]
    moments: Moments


class ReadingSAC(Learner):
    """Soft Actor-Critic of one member; every reader makes one gradient step for each of its minibatches."""

    name = "motivation"
    Config = ReadingConfig
    envs = SAC.envs
    off_policy = True
    log_interval = SAC.log_interval

    config: ReadingConfig

    def __init__(self, config: ReadingConfig, sizes: Sizes, num_envs: int) -> None:
        super().__init__(config, sizes, num_envs)
        self._agent = SAC(config, sizes, num_envs)

    def init(self, keys: Key[Array, " member"]) -> ReadingState:
        key = named_key(keys[0], "readers")
        models = [
            InverseDynamics(named_key(key, index), own.size, self.sizes.action, self.config.model)
            for index, own in enumerate(state_filters())
        ]
        readers = tuple(Reader(model, initial_optimizer(model, self.config.model)) for model in models)
        return ReadingState(self._agent.init(keys), readers, initial_moments(1, self.sizes.observation))

    def policy(self, state: ReadingState, iteration: int) -> Actor:
        return self._agent.policy(state.agent, iteration)

    def update(
        self,
        state: ReadingState,
        rollout: Rollout,
        reward: Float[np.ndarray, "time member env"],
        keys: Key[Array, " member"],
        iteration: int,
    ) -> LearnerUpdate:
        moments = merge_moments(state.moments, rollout.observation)
        minibatches = self._agent.remember(rollout, reward, keys, iteration)
        with ThreadPoolExecutor() as pool:
            fitting = self._start_fitting(state.readers, minibatches[0], moments, pool)
            learned = self._agent.improve(state.agent, minibatches, keys, iteration)
            fitted = [future.result() for future in fitting]
        readers = tuple(Reader(model, optimizer) for model, optimizer, _ in fitted) or state.readers
        losses = {"model_loss": np.array([float(loss) for _, _, loss in fitted])}
        return LearnerUpdate(ReadingState(learned.state, readers, moments), {**learned.statistics, **losses})

    def export(self, state: ReadingState) -> PolicyState:
        return self._agent.export(state.agent)

    def critic(self, state: ReadingState) -> dict[str, Any]:
        models = [jax.tree.map(lambda array: array[None], reader.model) for reader in state.readers]
        return {"critics": self._agent.critic(state.agent), "models": models}

    def actor(self, policies: PolicyState, num_envs: int, tile: int) -> Actor:
        return self._agent.actor(policies, num_envs, tile)

    def policy_shape(self) -> PolicyState:
        return self._agent.policy_shape()

    def snapshot(self) -> Mapping[str, np.ndarray]:
        return self._agent.snapshot()

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        self._agent.restore(snapshot)

    def _start_fitting(
        self,
        readers: tuple[Reader, ...],
        minibatches: Minibatches,
        moments: Moments,
        pool: ThreadPoolExecutor,
    ) -> list[Future]:
        """Nothing while the agent has nothing to learn from."""
        if not len(minibatches):
            return []
        updates, samples, _ = minibatches.shape
        taken = transitions(jnp.asarray(minibatches.reshape(updates * samples, -1)), self.sizes)
        order = jnp.arange(updates * samples).reshape(updates, samples)

        def fit(reader: Reader, own: StateFilter) -> tuple:
            seen = Moments(moments.num_values, own(moments.mean), own(moments.variance))
            given = Transitions(own(taken.observation), own(taken.next_observation), taken.action)
            model = normalized(reader.model, seen)
            return jax.block_until_ready(fit_model(model, reader.optimizer, given, order, self.config.model))

        return [pool.submit(fit, *pair) for pair in zip(readers, state_filters(), strict=True)]


def state_filters(layout: StateLayout | None = None) -> tuple[StateFilter, ...]:
    """f_1 to f_4."""
    layout = layout or make_task(TASK).layout
    return tuple(
        StateFilter.remove(layout, removed) if removed else StateFilter.identity(layout)
        for removed in SETTINGS.values()
    )
