"""Proximal policy optimisation as a Learner: normalise a rollout, then improve policy and critic on it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from polygait.config import PPOConfig
from polygait.learning.acting import NumpyPolicy
from polygait.learning.batch import prepare_batch
from polygait.learning.learner import Learner, LearnerUpdate, PlainPolicy, PolicyState
from polygait.learning.networks import Critic, Policy
from polygait.learning.normalizer import (
    Normalizer,
    center_and_factor,
    initial_moments,
    initial_normalizer,
)
from polygait.learning.optimizer import Span, discount_at, exploration_std
from polygait.learning.ppo import PPONetworks, initial_networks, ppo_update
from polygait.learning.rollout import Rollout

_WARMUP = 0.1
"""Of its steps, in which who goes on lets its critic learn the new world (docs/specialists.md)."""


class PPOState(NamedTuple):
    """Networks, their optimisers, and what is known about the scale of observations and rewards."""

    networks: PPONetworks
    normalizer: Normalizer


class PPO(Learner):
    """Schulman et al. 2017; the update itself is in learning/ppo.py."""

    name = "ppo"
    Config = PPOConfig
    envs = {"robust": 64, "paper": 20}
    presets = {
        "robust": {  # docs/learning.md has the runs behind each number
            "anneal_iterations": None,
            "minibatch_size": 64,
            "adam_epsilon": 1e-5,
            "hidden_init_scale": 1.414,
            "policy_init_scale": 0.01,
            "recompute_advantages": True,
            "rollout_steps": 2048,
        },
        "paper": {
            "entropy_coefficient": 0.1,
            "normalize_observations": False,
            "scale_rewards": False,
            "bootstrap_truncation": False,
            "value_target": "monte-carlo",
            "episodes_per_iteration": 20,  # of 10 workers, two each
            "rollout_steps": 20_000,  # as many as these have when nobody falls
        },
    }

    config: PPOConfig

    @classmethod
    def to_go_on(cls, config: PPOConfig) -> PPOConfig:
        """The step size falls over the steps that are asked for now; the critic goes ahead."""
        discount = max(config.discount, config.final_discount)
        return replace(config, anneal_iterations=None, discount=discount, critic_warmup=_WARMUP)

    def init(self, keys: Key[Array, " member"]) -> PPOState:
        networks = initial_networks(keys, self.sizes, self.config)
        # Whole episodes stand in a rollout one after the other, as if of one environment.
        num_envs = 1 if self.config.episodes_per_iteration else self.num_envs
        return PPOState(networks, initial_normalizer(len(keys), num_envs, self.sizes.observation))

    def start_from(self, state: PPOState, policies: PolicyState, critics: Critic) -> PPOState:
        """Optimisers and the scale of rewards begin anew, as does the noise unless it is learned."""
        policy: Policy = policies.policy
        if not self.config.learn_std:
            policy = policy.exploring(exploration_std(0, self.config))
        networks = eqx.tree_at(lambda one: (one.policy, one.critic), state.networks, (policy, critics))
        normalizer = state.normalizer._replace(observation=policies.moments)
        return PPOState(jax.device_put(networks), normalizer)

    def update(
        self,
        state: PPOState,
        rollout: Rollout,
        reward: Float[np.ndarray, "time member env"],
        keys: Key[Array, " member"],
        iteration: int,
    ) -> LearnerUpdate:
        span = _span(rollout, self.config) if rollout.varies else Span(iteration, iteration + 1)
        discount = discount_at(span.start, self.config)
        prepared = prepare_batch(rollout, reward, state.normalizer, self.config, discount)
        networks, statistics = ppo_update(state.networks, prepared.batch, keys, iteration, self.config, span)
        return LearnerUpdate(PPOState(networks, prepared.normalizer), statistics._asdict())

    def export(self, state: PPOState) -> PolicyState:
        return PolicyState(state.networks.policy, state.normalizer.observation)

    def critic(self, state: PPOState) -> Critic:
        return state.networks.critic

    def actor(self, policies: PolicyState, num_envs: int, tile: int) -> NumpyPolicy:
        moments = policies.moments if self.config.normalize_observations else None
        return NumpyPolicy(policies.policy, moments, num_envs, tile, self._clips)

    def plain(self, policy: PolicyState) -> PlainPolicy:
        network = policy.policy.network
        layers = tuple(map(np.asarray, network.weights)), tuple(map(np.asarray, network.biases))
        normalization = (
            center_and_factor(policy.moments) if self.config.normalize_observations else (None, None)
        )
        std = np.asarray(policy.policy.std()) if self._clips else None
        return PlainPolicy(*layers, network.activation, *normalization, std)

    @property
    def _clips(self) -> bool:
        return self.config.deterministic_action == "clipped-mean"

    def policy_shape(self) -> PolicyState:
        policy = jax.eval_shape(lambda: Policy(jax.random.key(0), self.sizes, self.config))
        return PolicyState(policy, jax.tree.map(lambda array: array[0], initial_moments(1, self.sizes[0])))


def _span(rollout: Rollout, config: PPOConfig) -> Span:
    """Where a rollout of changing size stands in a run: by its steps, whatever their number of updates."""
    end = int(rollout.position.num_steps)
    start = end - len(rollout.reward)
    return Span(start / config.rollout_steps, end / config.rollout_steps)
