"""Tiny tasks that each isolate one kind of bug, and the shortest training loop that can solve them."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from polygait import learning
from polygait.config import PPOConfig
from polygait.learning.learner import Sizes, Statistics
from polygait.learning.learners.ppo import PPO
from polygait.tasks.task import Step

PROBE_CONFIG = PPOConfig(
    learning_rate=1e-2,
    minibatch_size=32,
    epochs=8,
    rollout_steps=80,
    discount=0.8,
    policy_hidden=(16,),
    critic_hidden=(16,),
    normalize_observations=False,
    scale_rewards=False,
)


class Probe:
    """Episodes of `episode_length` steps; subclasses say what is seen and earned, and how it ends."""

    observation_size = 1
    action_size = 1
    episode_length = 1
    max_episode_steps = 8
    time_limit = False

    def __init__(self, num_envs: int, seed: int = 0) -> None:
        self.num_envs = num_envs
        self.steps = np.zeros(num_envs, int)
        self.resting = np.zeros(num_envs, bool)
        self.random = np.random.default_rng(seed)
        self.seen = np.zeros((num_envs, self.observation_size))
        self.last_actions = np.zeros((num_envs, self.action_size))

    def reset(self, env_ids: np.ndarray | None = None, seeds: object = None) -> np.ndarray:
        ids = np.arange(self.num_envs) if env_ids is None else env_ids
        self.steps[ids] = 0
        self.resting[ids] = False
        self.seen[ids] = self.observe(ids)
        return self.seen.copy()

    def rest(self, env_ids: np.ndarray) -> None:
        self.resting[env_ids] = True

    def step(self, actions: np.ndarray) -> Step:
        self.last_actions = actions.copy()
        reward = self.earn(actions)
        self.steps += ~self.resting
        self.seen[:] = self.observe(np.arange(self.num_envs))
        over, never = self.steps == self.episode_length, np.zeros(self.num_envs, bool)
        terminated, truncated = (never, over) if self.time_limit else (over, never)
        return Step(self.seen.copy(), reward, terminated, truncated)

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return np.zeros((len(ids), self.observation_size))

    def earn(self, actions: np.ndarray) -> np.ndarray:
        return np.ones(self.num_envs)


class ConstantReward(Probe):
    """V = 1: the critic's loss and its optimiser work."""


class ObservedReward(Probe):
    """Earns the ±1 that it sees, V(s) = s: observations reach the critic in the right rows."""

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return self.random.choice([-1.0, 1.0], size=(len(ids), 1))

    def earn(self, actions: np.ndarray) -> np.ndarray:
        return self.seen[:, 0].copy()


class DelayedReward(Probe):
    """Sees 0 and earns nothing, sees 1 and earns 1: V(0) = γ, V(1) = 1, so discounting works."""

    episode_length = 2

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return self.steps[ids, None].astype(float)

    def earn(self, actions: np.ndarray) -> np.ndarray:
        return self.steps.astype(float)


class TimeLimit(Probe):
    """Earns 1 for ever but is cut every 5 steps: V = 1/(1 − γ) unless time limits count as failure."""

    episode_length = 5
    time_limit = True


class RewardedAction(Probe):
    """Earns −(a − s/5)² on a seen ±1: the surrogate pushes each action the right way."""

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return self.random.choice([-1.0, 1.0], size=(len(ids), 1))

    def earn(self, actions: np.ndarray) -> np.ndarray:
        return -((actions[:, 0] - 0.2 * self.seen[:, 0]) ** 2)


class Trained(NamedTuple):
    networks: learning.PPONetworks
    normalizer: learning.Normalizer
    rollout: learning.Rollout
    statistics: Statistics


def train(task: Probe, config: PPOConfig, iterations: int, num_members: int = 1, first: int = 0) -> Trained:
    """Act and learn: the whole of learning without diversity."""
    envs_per_member = task.num_envs // num_members
    keys = learning.member_keys(jax.random.key(0), first, num_members)
    learner = PPO(config, Sizes(task.observation_size, task.action_size), envs_per_member)
    state = learner.init(keys)
    position = learning.start_position(task, num_members)
    shape = (config.steps_per_iteration // envs_per_member, envs_per_member, task.action_size)
    collect = learning.collect
    if config.episodes_per_iteration:
        shape = (task.max_episode_steps, config.episodes_per_iteration, task.action_size)
        collect = learning.collect_episodes
    rollout = statistics = None
    for iteration in range(iterations):
        noise = learning.rollout_noise(keys, iteration, shape)
        rollout = collect(task, learner.policy(state, iteration), noise, position)
        position = rollout.position
        state, statistics = learner.update(state, rollout, rollout.reward, keys, iteration)
    assert rollout is not None and statistics is not None
    return Trained(state.networks, state.normalizer, rollout, statistics)


def member(tree, index: int = 0):
    """One member of a stacked tree."""
    return jax.tree.map(lambda array: array[index], tree)


def values(trained: Trained, *observations: float) -> np.ndarray:
    """What the first member's critic says about single-number observations."""
    return np.asarray(member(trained.networks.critic)(jnp.array(observations, jnp.float32)[:, None]))
