"""The whole of Soft Actor-Critic on tasks so small that each can fail for one reason only."""

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learning import probes

from polygait.config import SACConfig
from polygait.errors import UserError
from polygait.learning.agent import Agent, AgentState
from polygait.learning.squashed import NumpySquashed
from polygait.tasks.task import Step

pytestmark = pytest.mark.usefixtures("quick_compilation")

CONFIG = SACConfig(
    learning_rate=3e-3,
    minibatch_size=32,
    discount=0.8,
    target_rate=0.05,
    block_steps=32,
    lag=8,
    warmup_steps=64,
    replay_size=2_000,
    policy_hidden=(16,),
    critic_hidden=(16, 16),
)
KEY = jax.random.key(1)


def train(task, config: SACConfig, blocks: int) -> tuple[Agent, AgentState]:
    agent = Agent(task, KEY, config)
    state = agent.begin()
    for _ in range(blocks):
        state, _ = agent.learn(state, agent.play(state))
    return agent, state


def values(state: AgentState, observation: float, action: float) -> list[float]:
    pair = jnp.array([[observation]]), jnp.array([[action]])
    return [float(one[0]) for one in state.learner.judge.critics(*pair)]


NO_ENTROPY = replace(CONFIG, initial_temperature=1e-4, target_entropy=-20.0)


def test_a_time_limit_is_not_an_end():
    """Earning 1 for ever is worth 1/(1 − γ), though every episode is cut after five steps."""
    _, state = train(probes.TimeLimit(16), NO_ENTROPY, 60)
    assert values(state, 0.0, 0.0) == pytest.approx([5.0, 5.0], abs=0.5)


def test_failure_is_an_end():
    _, state = train(probes.ConstantReward(16), NO_ENTROPY, 30)
    assert values(state, 0.0, 0.0) == pytest.approx([1.0, 1.0], abs=0.1)


def test_the_policy_finds_the_rewarded_action():
    _, state = train(probes.RewardedAction(16), replace(NO_ENTROPY, discount=0.0), 60)
    mean = NumpySquashed(state.learner.actor.policy).mean(np.array([[[-1.0], [1.0]]], np.float32))
    assert mean[0, :, 0] == pytest.approx([-0.2, 0.2], abs=0.1)


class Pendulum(probes.Probe):
    """A rod that hangs down and must be swung up with a motor too weak to lift it: θ̈ = 15·sin θ + 3·a·2."""

    observation_size = 3
    episode_length = 100
    time_limit = True

    def __init__(self, num_envs: int) -> None:
        self.angle, self.speed = np.zeros(num_envs), np.zeros(num_envs)
        super().__init__(num_envs)

    def reset(self, env_ids=None, seeds=None) -> np.ndarray:
        ids = np.arange(self.num_envs) if env_ids is None else env_ids
        self.angle[ids] = self.random.uniform(-np.pi, np.pi, len(ids))
        self.speed[ids] = self.random.uniform(-1, 1, len(ids))
        return super().reset(env_ids, seeds)

    def step(self, actions: np.ndarray) -> Step:
        self.speed += 0.05 * (15 * np.sin(self.angle) + 6 * actions[:, 0])
        np.clip(self.speed, -8, 8, out=self.speed)
        self.angle += 0.05 * self.speed
        return super().step(actions)

    def observe(self, ids: np.ndarray) -> np.ndarray:
        angle = self.angle[ids]
        return np.stack([np.cos(angle), np.sin(angle), self.speed[ids] / 4], axis=1)

    def earn(self, actions: np.ndarray) -> np.ndarray:
        upright = (self.angle + np.pi) % (2 * np.pi) - np.pi
        return -(upright**2) - 0.1 * self.speed**2 - 0.004 * actions[:, 0] ** 2


@pytest.mark.slow
def test_a_pendulum_is_swung_up_and_held():
    config = SACConfig(
        learning_rate=1e-3,
        minibatch_size=128,
        target_rate=0.005,
        warmup_steps=1_000,
        policy_hidden=(64, 64),
        critic_hidden=(64, 64),
    )
    _, state = train(Pendulum(16), config, 200)
    task, actor = Pendulum(50), NumpySquashed(state.learner.actor.policy)
    seen = task.reset()
    for _ in range(99):
        seen = task.step(actor.mean(seen[None].astype(np.float32))[0]).observation
    assert np.mean(seen[:, 0] > np.cos(0.3)) > 0.9  # upright in the end, from wherever it began


class Mixed(probes.Probe):
    """A little of everything."""

    episode_length = 3

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return self.steps[ids, None] * 0.5 + self.random.random((len(ids), 1))

    def earn(self, actions: np.ndarray) -> np.ndarray:
        return 3 * self.seen[:, 0] + actions[:, 0]


TINY = replace(
    CONFIG, block_steps=16, warmup_steps=16, policy_hidden=(4,), critic_hidden=(4,), minibatch_size=8
)
CHANGES = {
    "learning_rate": 1e-2,
    "minibatch_size": 4,
    "discount": 0.5,
    "target_rate": 0.5,
    "updates_per_step": 0.5,
    "block_steps": 8,
    "lag": 2,
    "warmup_steps": 0,
    "replay_size": 20,
    "policy_hidden": (5,),
    "critic_hidden": (5,),
    "initial_temperature": 0.1,
    "target_entropy": 3.0,
}


def trained(config: SACConfig) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(train(Mixed(8), config, 4)[1].learner)]


@pytest.fixture(scope="module")
def unchanged(quick_compilation):
    return trained(TINY)


@pytest.mark.slow
@pytest.mark.parametrize("name", [field.name for field in fields(SACConfig)])
def test_every_option_changes_the_result(name, unchanged):
    found = trained(replace(TINY, **{name: CHANGES[name]}))
    assert [one.shape for one in found] != [one.shape for one in unchanged] or any(
        not np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(found, unchanged, strict=True)
    )


def test_the_same_again_has_the_same_bits(unchanged):
    for ours, theirs in zip(trained(TINY), unchanged, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_nothing_is_learned_before_the_warm_up_is_over():
    agent = Agent(Mixed(8), KEY, replace(TINY, warmup_steps=17))
    state = agent.begin()
    for updates in (0, 0, 16):
        block = agent.play(state)
        assert block.rows.shape[:2] == (updates, 8)
        state, statistics = agent.learn(state, block)
        assert (statistics is None) == (updates == 0)
    assert len(agent.replay) == 48


def test_blocks_must_divide():
    with pytest.raises(UserError, match="multiple"):
        Agent(Mixed(7), KEY, TINY)
