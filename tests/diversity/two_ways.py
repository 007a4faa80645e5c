"""A task with two equally good ways, and the shortest loop that trains one member after another on it."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from polygait import learning
from polygait.config import DirConfig, PPOConfig
from polygait.diversity.method import Method, Setting
from polygait.diversity.regulation import Regulation
from polygait.tasks.state import StateFilter, StateLayout
from polygait.tasks.task import Step

PEAK = 0.6
ENVS = 8
ITERATIONS = 18
LAYOUT = StateLayout(("weather", "place"))
FREE_PLACE = StateFilter.remove(LAYOUT, ["place"])
EVERYTHING = StateFilter.identity(LAYOUT)
SETTING = Setting(action_size=1, num_members=1)
PPO = PPOConfig(
    learning_rate=2e-2,
    minibatch_size=64,
    epochs=4,
    rollout_steps=256,
    discount=0.0,
    gae_lambda=0.0,
    action_std=0.3,
    policy_hidden=(8,),
    critic_hidden=(8,),
    normalize_observations=False,
    scale_rewards=False,
)
DIR = DirConfig(hidden=(16,), learning_rate=2e-2, epochs=4, minibatch_size=64, std_floor=0.3)


class TwoWays:
    """Walking left or right at ±0.6 earns the same; the place tells which, the weather says nothing.

    The place moves with the action, so s′ − s gives the action away to whoever may see the place. Both
    numbers stay small, so that a policy cannot easily go one way here and the other way there.
    """

    observation_size = 2
    action_size = 1
    episode_length = 8

    def __init__(self, num_envs: int, seed: int) -> None:
        self.num_envs = num_envs
        self.random = np.random.default_rng(seed)
        self.steps = np.zeros(num_envs, int)
        self.seen = np.zeros((num_envs, 2))

    def reset(self, env_ids: np.ndarray | None = None, seeds: object = None) -> np.ndarray:
        ids = np.arange(self.num_envs) if env_ids is None else env_ids
        self.steps[ids] = 0
        self.seen[ids] = 0.0
        return self.seen.copy()

    def step(self, actions: np.ndarray) -> Step:
        self.steps += 1
        self.seen[:, 0] = 0.01 * self.random.normal(size=self.num_envs)
        self.seen[:, 1] += 0.01 * actions[:, 0]
        truncated = self.steps == self.episode_length
        return Step(self.seen.copy(), reward(actions[:, 0]), np.zeros(self.num_envs, bool), truncated)


def reward(action: np.ndarray) -> np.ndarray:
    """Two peaks of height 1."""
    return np.exp(-((np.abs(action) - PEAK) ** 2) / (2 * 0.2**2)).astype(np.float64)


class Way(NamedTuple):
    """What became of a member."""

    action: float
    """Its mean action, averaged over what it meets."""
    tensors: list
    """What its method leaves."""


def walk(method: Method, member: int, seed: int, earlier: list) -> Way:
    """Train one member."""
    task = TwoWays(ENVS, seed=1000 * seed + member)
    keys = learning.member_keys(jax.random.key(seed), member, 1)
    learner = learning.initial_learner(keys, (2, 1), PPO)
    normalizer = learning.initial_normalizer(1, ENVS, 2)
    position = learning.start_position(task, 1)
    state = method.begin(keys, SETTING, earlier)
    shape = (learning.rollout_length(PPO, ENVS), ENVS, 1)
    rollout = None
    for iteration in range(ITERATIONS):
        policy = learning.acting_policy(learner.policy, normalizer, ENVS, PPO)
        rollout = learning.collect(task, policy, learning.rollout_noise(keys, iteration, shape), position)
        position = rollout.position
        bonus = method.bonus(state, rollout)
        batch, normalizer = learning.prepare_batch(rollout, rollout.reward + bonus.reward, normalizer, PPO)
        learner, _ = learning.ppo_update(learner, batch, keys, iteration, PPO)
        state = method.fit(state, rollout, keys, iteration).state
    assert rollout is not None
    return Way(float(np.median(rollout.action)), method.leave(state))


def all_knowing(method: Regulation) -> list:
    """What a member leaves whose model has seen every action everywhere, and so knows how s′ tells a."""
    keys = learning.member_keys(jax.random.key(99), 0, 1)
    state = method.begin(keys, SETTING, [])
    length = learning.rollout_length(PPO, ENVS)
    task = TwoWays(ENVS, seed=99)
    position = learning.start_position(task, 1)
    policy = learning.acting_policy(
        jax.tree.map(jnp.zeros_like, learning.initial_learner(keys, (2, 1), PPO).policy),
        learning.initial_normalizer(1, ENVS, 2),
        ENVS,
        PPO,
    )
    policy.std[:] = 1.0
    for iteration in range(2 * ITERATIONS):
        # Each environment leans its own way, so that far places are seen too.
        chance = np.random.default_rng([99, iteration])
        noise = chance.uniform(-1, 1, (length, 1, ENVS, 1)) + np.linspace(-1, 1, ENVS)[:, None]
        rollout = learning.collect(task, policy, np.clip(noise, -1, 1).astype(np.float32), position)
        position = rollout.position
        state = method.fit(state, rollout, keys, iteration).state
    return method.leave(state)


def regulation(state_filter: StateFilter, alpha: float) -> Regulation:
    return Regulation(DIR, state_filter, alpha)
