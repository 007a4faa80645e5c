"""Soft Actor-Critic, the learner of the motivation experiment, on any robot.

Run: .venv/bin/python examples/sac.py hopper 500000 [SEED [TARGET_RATE]]
"""

import sys
import time

import jax
import numpy as np

import polygait as pg
from polygait.config import SACConfig
from polygait.learning.agent import Agent
from polygait.learning.rollout import collect, first_episodes, start_position
from polygait.learning.squashed import NumpySquashed

SHOWN = 20_000
"""Steps from one line to the next."""


def mean_returns(name: str, policy: NumpySquashed, episodes: int = 10) -> np.ndarray:
    """Returns of whole episodes with mean actions."""
    task = pg.make_task(name, num_envs=episodes)
    noise = np.zeros((task.max_episode_steps, 1, episodes, task.action_size), np.float32)
    rollout = collect(task, policy, noise, start_position(task, 1, list(range(episodes))))
    return np.where(first_episodes(rollout), rollout.reward, 0.0).sum(axis=(0, 1))


if len(sys.argv) < 3:
    sys.exit(__doc__)
name, steps = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
config = SACConfig(target_rate=float(sys.argv[4])) if len(sys.argv) > 4 else SACConfig()
agent = Agent(pg.make_task(name, num_envs=16, seed=seed), jax.random.key(seed), config)
state, begun = agent.begin(), time.monotonic()
for block in range(1, -(-steps // config.block_steps) + 1):
    state, _ = agent.learn(state, agent.play(state))
    played = block * config.block_steps
    if played % SHOWN < config.block_steps or played >= steps:
        returns = mean_returns(name, NumpySquashed(state.learner.actor.policy))
        rate = played / (time.monotonic() - begun)
        print(
            f"{played:>9,} steps  return {returns.mean():7.0f} ± {returns.std():.0f}  {rate:,.0f} steps/s",
            flush=True,
        )
