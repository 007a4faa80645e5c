"""A task with two equally good ways, and the shortest loop that trains members on it."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from polygait import learning
from polygait.config import PPOConfig
from polygait.diversity.method import Method, Setting
from polygait.diversity.methods.dir import DirConfig, Regulation
from polygait.learning.learner import Sizes
from polygait.learning.learners.ppo import PPO
from polygait.tasks.state import StateFilter, StateLayout
from polygait.tasks.task import Step

PEAK = 0.6
WIDTH = 0.2
ENVS = 8
ITERATIONS = 18
LAYOUT = StateLayout(("weather", "place"))
FREE_PLACE = StateFilter.remove(LAYOUT, ["place"])
EVERYTHING = StateFilter.identity(LAYOUT)
SETTING = Setting(action_size=1, num_members=1)
PPO_CONFIG = PPOConfig(
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
    numbers stay small, so that a policy cannot easily go one way here and the other way there. A wind
    pushes every walker: the way it blows is as good as the other, but easier to find.
    """

    observation_size = 2
    action_size = 1
    episode_length = 8

    def __init__(self, num_envs: int, seed: int, wind: float = 0.0) -> None:
        self.num_envs = num_envs
        self.wind = wind
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
        moved = actions[:, 0] + self.wind
        self.seen[:, 0] = 0.01 * self.random.normal(size=self.num_envs)
        self.seen[:, 1] += 0.01 * moved
        truncated = self.steps == self.episode_length
        return Step(self.seen.copy(), reward(moved), np.zeros(self.num_envs, bool), truncated)


def reward(moved: np.ndarray) -> np.ndarray:
    """Two peaks of height 1."""
    return np.exp(-((np.abs(moved) - PEAK) ** 2) / (2 * WIDTH**2)).astype(np.float64)


class Course(NamedTuple):
    """How members train."""

    ppo: PPOConfig = PPO_CONFIG
    iterations: int = ITERATIONS
    wind: float = 0.0
    alpha: float = 0.04
    """Factor of the bonus."""


class Way(NamedTuple):
    """What became of a member."""

    action: float
    """Its median action."""
    tensors: list
    """What its method leaves."""


def walk(method: Method, member: int, seed: int, earlier: list) -> Way:
    """Train one member."""
    return walk_together(method, range(member, member + 1), seed, earlier)[0]


def walk_together(
    method: Method, members: range, seed: int, earlier: list, course: Course | None = None
) -> list[Way]:
    """Train some members in one cohort."""
    ppo, iterations, wind, alpha = course or Course()
    count = len(members)
    task = TwoWays(count * ENVS, 1000 * seed + members[0], wind)
    keys = learning.member_keys(jax.random.key(seed), members[0], count)
    learner = PPO(ppo, Sizes(2, 1), ENVS)
    learned = learner.init(keys)
    position = learning.start_position(task, count)
    state = method.init(keys, Setting(1, count), earlier)
    shape = (ppo.steps_per_iteration // ENVS, ENVS, 1)
    rollout = None
    for iteration in range(iterations):
        policy = learner.policy(learned, iteration)
        rollout = learning.collect(task, policy, learning.rollout_noise(keys, iteration, shape), position)
        position = rollout.position
        bonus = method.intrinsic_reward(state, rollout)
        reward = rollout.reward + alpha * bonus.value
        learned = learner.update(learned, rollout, reward, keys, iteration).state
        state = method.update(state, rollout, keys, iteration).state
    assert rollout is not None
    actions = [float(np.median(rollout.action[:, row])) for row in range(count)]
    return [Way(action, [left]) for action, left in zip(actions, method.export(state), strict=True)]


class Wanderer:
    """Does what the noise says."""

    def act(self, observation: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None:
        out[:] = noise

    def mean(self, observation: np.ndarray) -> np.ndarray:
        return np.zeros((*observation.shape[:-1], 1), np.float32)


def all_knowing(method: Regulation) -> list:
    """What a member leaves whose model has seen every action everywhere, and so knows how s′ tells a."""
    keys = learning.member_keys(jax.random.key(99), 0, 1)
    state = method.init(keys, SETTING, [])
    length = PPO_CONFIG.steps_per_iteration // ENVS
    task = TwoWays(ENVS, seed=99)
    position = learning.start_position(task, 1)
    for iteration in range(2 * ITERATIONS):
        # Each environment leans its own way, so that far places are seen too.
        chance = np.random.default_rng([99, iteration])
        noise = chance.uniform(-1, 1, (length, 1, ENVS, 1)) + np.linspace(-1, 1, ENVS)[:, None]
        rollout = learning.collect(task, Wanderer(), np.clip(noise, -1, 1).astype(np.float32), position)
        position = rollout.position
        state = method.update(state, rollout, keys, iteration).state
    return method.export(state)


def regulation(state_filter: StateFilter) -> Regulation:
    return Regulation(DIR, state_filter)
