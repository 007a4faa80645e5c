"""The whole of Soft Actor-Critic on tasks so small that each can fail for one reason only."""

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learning import probes

from polygait.config import SACConfig
from polygait.learning import collect, member_keys, rollout_noise, start_position
from polygait.learning.learner import LearnerUpdate, Sizes
from polygait.learning.learners.sac import SAC
from polygait.learning.rollout import Position, Rollout
from polygait.learning.sac import SACNetworks, sac_update
from polygait.learning.squashed import EvenActor, NumpySquashed
from polygait.learning.stacking import member_of
from polygait.storage.trees import flatten_tree
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


class Agents:
    """A cohort with its environments, and what it has learned so far."""

    def __init__(self, task: probes.Probe, config: SACConfig, num_members: int = 1) -> None:
        self.task = task
        self.envs = task.num_envs // num_members
        self.keys = member_keys(jax.random.key(1), 0, num_members)
        self.learner = SAC(config, Sizes(task.observation_size, task.action_size), self.envs)
        self.networks: SACNetworks = self.learner.init(self.keys)
        self.position: Position = start_position(task, num_members)
        self.iteration = 0

    def play(self) -> Rollout:
        """The next block of steps."""
        shape = (self.learner.config.steps_per_iteration // self.envs, self.envs, self.task.action_size)
        noise = rollout_noise(self.keys, self.iteration, shape)
        policy = self.learner.policy(self.networks, self.iteration)
        rollout = collect(self.task, policy, noise, self.position)
        self.position = rollout.position
        return rollout

    def learn(self, rollout: Rollout) -> LearnerUpdate:
        update = self.learner.update(self.networks, rollout, rollout.reward, self.keys, self.iteration)
        self.networks = update.state
        self.iteration += 1
        return update


def train(task: probes.Probe, config: SACConfig, blocks: int, num_members: int = 1) -> Agents:
    agents = Agents(task, config, num_members)
    for _ in range(blocks):
        agents.learn(agents.play())
    return agents


def values(agents: Agents, observation: float, action: float) -> list[float]:
    """What both critics of the first member say."""
    pair = jnp.array([[observation]]), jnp.array([[action]])
    return [float(one[0]) for one in member_of(agents.networks.critics.online, 0)(*pair)]


NO_ENTROPY = replace(CONFIG, initial_temperature=1e-4, target_entropy=-20.0)


def test_a_time_limit_is_not_an_end():
    """Earning 1 for ever is worth 1/(1 − γ), though every episode is cut after five steps."""
    agents = train(probes.TimeLimit(16), NO_ENTROPY, 60)
    assert values(agents, 0.0, 0.0) == pytest.approx([5.0, 5.0], abs=0.5)


def test_failure_is_an_end():
    agents = train(probes.ConstantReward(16), NO_ENTROPY, 30)
    assert values(agents, 0.0, 0.0) == pytest.approx([1.0, 1.0], abs=0.1)


def test_the_policy_finds_the_rewarded_action():
    agents = train(probes.RewardedAction(16), replace(NO_ENTROPY, discount=0.0), 60)
    actor = NumpySquashed(agents.networks.actor.policy, 2)
    mean = actor.mean(np.array([[[-1.0], [1.0]]], np.float32))
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
    agents = train(Pendulum(16), config, 200)
    task, actor = Pendulum(50), NumpySquashed(agents.networks.actor.policy, 50)
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
    return [np.asarray(leaf) for leaf in jax.tree.leaves(train(Mixed(8), config, 4).networks)]


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


def test_the_warm_up_acts_evenly_and_learns_nothing():
    agents = Agents(Mixed(8), replace(TINY, warmup_steps=17))
    for updates in (0, 0, 16):
        before = agents.networks
        rollout = agents.play()
        assert isinstance(rollout.policy, EvenActor) == (updates == 0)
        update = agents.learn(rollout)
        unchanged = jax.tree.map(np.array_equal, agents.networks, before)
        assert all(jax.tree.leaves(unchanged)) == (updates == 0)
        assert set(update.statistics) == (
            {"critic_loss", "value", "entropy", "temperature"} if updates else set()
        )
        optimizers = agents.networks.actor_optimizer, agents.networks.critics_optimizer
        assert [int(flatten_tree(one)["[0].count"][0]) for one in optimizers] == [updates, updates]


def test_what_is_remembered_is_what_happened_with_the_reward_given():
    agents = Agents(Mixed(8), TINY)
    kept = []
    for _ in range(2):
        rollout = agents.play()
        update = agents.learner.update(agents.networks, rollout, rollout.reward + 7, agents.keys, 0)
        assert update.statistics == {}  # iteration 0 is in the warm-up
        parts = (rollout.observation, rollout.action, rollout.reward + 7, rollout.terminated)
        columns = [part.reshape(16, -1) for part in (*parts, rollout.next_observation)]
        kept.append(np.concatenate(columns, axis=1).astype(np.float32))
    snapshot = agents.learner.snapshot()
    memory = next(array for array in snapshot.values() if array.ndim == 2)
    np.testing.assert_array_equal(memory[:32], np.concatenate(kept))


def test_minibatches_are_drawn_from_memory_and_learned_from():
    """An update is one of sac_update on what was drawn, for every member by itself."""
    agents = train(Mixed(8), TINY, 2, num_members=2)
    rollout = agents.play()
    drawn = agents.learner.remember(rollout, rollout.reward, agents.keys, agents.iteration)
    memories = [array for array in agents.learner.snapshot().values() if array.ndim == 2]
    assert len(memories) == len(drawn) == 2
    for member, (rows, memory) in enumerate(zip(drawn, memories, strict=True)):
        assert rows.shape[:2] == (TINY.block_updates, TINY.minibatch_size)
        assert {row.tobytes() for row in rows.reshape(-1, rows.shape[-1])} <= {
            row.tobytes() for row in memory
        }
        alone, _ = sac_update(
            member_of(agents.networks, member), rows, agents.keys[member], agents.iteration, TINY
        )
        together = agents.learner.improve(agents.networks, drawn, agents.keys, agents.iteration).state
        jax.tree.map(np.testing.assert_array_equal, member_of(together, member), alone)


def test_members_learn_as_if_alone():
    """A cohort of two that sees the same as two cohorts of one ends in the same bits."""
    together = train(probes.DelayedReward(16), TINY, 3, num_members=2)
    alone = train(probes.DelayedReward(8), TINY, 3)
    jax.tree.map(np.testing.assert_array_equal, member_of(together.networks, 0), member_of(alone.networks, 0))


def test_a_restored_learner_goes_on_to_the_same_bits():
    agents = train(probes.DelayedReward(8), TINY, 3)
    snapshot = {name: array.copy() for name, array in agents.learner.snapshot().items()}
    rollout = agents.play()
    fresh = SAC(TINY, agents.learner.sizes, agents.envs)
    fresh.init(agents.keys)
    fresh.restore(snapshot)
    again = fresh.update(agents.networks, rollout, rollout.reward, agents.keys, agents.iteration)
    jax.tree.map(np.testing.assert_array_equal, agents.learn(rollout), again)
    for name, array in agents.learner.snapshot().items():
        np.testing.assert_array_equal(fresh.snapshot()[name], array)


def test_the_exported_policy_acts_like_the_one_that_learns():
    agents = train(Mixed(8), TINY, 3, num_members=2)
    exported = agents.learner.export(agents.networks)
    chance = np.random.default_rng(0)
    seen, noise = (chance.normal(size=(2, 4, 1)).astype(np.float32) for _ in range(2))
    out = np.empty_like(noise)
    agents.learner.actor(exported, 4, 16).act(seen, noise, out)
    policy = agents.networks.actor.policy
    expected = jax.vmap(lambda one, *rows: one.sample(*rows).action)(policy, *map(jnp.asarray, (seen, noise)))
    np.testing.assert_allclose(out, expected, atol=2e-6)
    shapes = jax.tree.map(np.shape, agents.learner.policy_shape())
    assert shapes == jax.tree.map(np.shape, member_of(exported, 0))
