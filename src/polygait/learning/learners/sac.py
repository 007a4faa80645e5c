"""Soft Actor-Critic as a Learner: remember every step, learn from what is remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Float32, Key

from polygait.config import SACConfig
from polygait.learning.acting import TRAINING_TILE
from polygait.learning.learner import Learner, LearnerUpdate, PlainPolicy, PolicyState, Sizes
from polygait.learning.normalizer import initial_moments
from polygait.learning.replay import Replay
from polygait.learning.rollout import Actor, Rollout
from polygait.learning.sac import Critics, SACNetworks, initial_networks, sac_update
from polygait.learning.shuffling import order_seeds
from polygait.learning.squashed import EvenActor, NumpySquashed, SquashedPolicy
from polygait.learning.stacking import member_of, stacked

Minibatches = Float32[np.ndarray, "update sample column"]


class SAC(Learner):
    """Haarnoja et al. 2018; the update itself is in learning/sac.py. Observations are not normalised."""

    name = "sac"
    Config = SACConfig
    envs = {"robust": 16, "paper": 16}
    off_policy = True
    log_interval = 32

    config: SACConfig

    @classmethod
    def to_go_on(cls, config: SACConfig) -> SACConfig:
        """With a small temperature: an able policy that is paid for noise alone forgets its gait."""
        return replace(config, initial_temperature=0.1)

    def __init__(self, config: SACConfig, sizes: Sizes, num_envs: int) -> None:
        super().__init__(config, sizes, num_envs)
        self._replays: list[Replay] = []
        self._able = False

    def init(self, keys: Key[Array, " member"]) -> SACNetworks:
        self._replays = [Replay(self.config.replay_size, self.sizes) for _ in keys]
        return jax.device_put(stacked([initial_networks(key, self.sizes, self.config) for key in keys]))

    def start_from(self, state: SACNetworks, policies: PolicyState, critics: Critics) -> SACNetworks:
        """Optimisers, temperature and replay buffer begin anew; the policy itself fills the buffer."""
        self._able = True
        started = eqx.tree_at(lambda one: (one.actor.policy, one.critics), state, (policies.policy, critics))
        return jax.device_put(started)

    def policy(self, state: SACNetworks, iteration: int) -> Actor:
        if self._able or self._is_warm(iteration):
            return self.actor(self.export(state), self.num_envs, TRAINING_TILE)
        return EvenActor(self.sizes.action)

    def update(
        self,
        state: SACNetworks,
        rollout: Rollout,
        reward: Float[np.ndarray, "time member env"],
        keys: Key[Array, " member"],
        iteration: int,
    ) -> LearnerUpdate:
        return self.improve(state, self.remember(rollout, reward, keys, iteration), keys, iteration)

    def remember(
        self,
        rollout: Rollout,
        reward: Float[np.ndarray, "time member env"],
        keys: Key[Array, " member"],
        iteration: int,
    ) -> list[Minibatches]:
        """Keep every member's steps, and draw what it learns from; nothing before the warm-up is over."""
        updates = self.config.block_updates if self._is_warm(iteration) else 0
        shape = (updates, self.config.minibatch_size)
        drawn = []
        for member, (replay, seed) in enumerate(
            zip(self._replays, order_seeds(keys, "replay", iteration), strict=True)
        ):
            replay.add(_columns(rollout, reward, member))
            drawn.append(replay.draw(seed, shape))
        return drawn

    def improve(
        self,
        state: SACNetworks,
        minibatches: Sequence[Minibatches],
        keys: Key[Array, " member"],
        iteration: int,
    ) -> LearnerUpdate:
        """One gradient step for every minibatch; no statistics while there is none."""
        if not len(minibatches[0]):
            return LearnerUpdate(state, {})
        learned = [
            sac_update(member_of(state, member), rows, keys[member], iteration, self.config)
            for member, rows in enumerate(minibatches)
        ]
        networks, statistics = zip(*learned, strict=True)
        columns = zip(*statistics, strict=True)
        names = statistics[0]._fields
        told = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
        return LearnerUpdate(jax.device_put(stacked(networks)), told)

    def export(self, state: SACNetworks) -> PolicyState:
        policy = state.actor.policy
        return PolicyState(policy, initial_moments(len(policy.network.biases[0]), self.sizes.observation))

    def critic(self, state: SACNetworks) -> Critics:
        return state.critics

    def actor(self, policies: PolicyState, num_envs: int, tile: int) -> NumpySquashed:
        return NumpySquashed(policies.policy, num_envs, tile)

    def plain(self, policy: PolicyState) -> PlainPolicy:
        """The last layer without its half for the spread of actions."""
        network, size = policy.policy.network, self.sizes.action
        weights, biases = list(map(np.asarray, network.weights)), list(map(np.asarray, network.biases))
        weights[-1], biases[-1] = weights[-1][:, :size], biases[-1][:size]
        return PlainPolicy(tuple(weights), tuple(biases), network.activation)

    def policy_shape(self) -> PolicyState:
        policy: Any = jax.eval_shape(
            lambda: SquashedPolicy(jax.random.key(0), self.sizes, self.config.policy_hidden)
        )
        return PolicyState(policy, jax.tree.map(lambda array: array[0], initial_moments(1, self.sizes[0])))

    def snapshot(self) -> Mapping[str, np.ndarray]:
        """The replay buffers."""
        return {
            f"{member}.{name}": array
            for member, replay in enumerate(self._replays)
            for name, array in replay.snapshot().items()
        }

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        for member, replay in enumerate(self._replays):
            replay.restore({name: snapshot[f"{member}.{name}"] for name in replay.snapshot()})

    def _is_warm(self, iteration: int) -> bool:
        return iteration * self.config.block_steps >= self.config.warmup_steps


def _columns(rollout: Rollout, reward: np.ndarray, member: int) -> list[np.ndarray]:
    """One member's steps in a row, in the order of Transition."""
    parts = (rollout.observation, rollout.action, reward, rollout.terminated, rollout.next_observation)
    own = [part[:, member] for part in parts]
    return [part.reshape(part.shape[0] * part.shape[1], *part.shape[2:]) for part in own]
