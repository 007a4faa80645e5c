"""Rollouts of whole episodes: every one from its start to its end, and nothing else."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learning import probes

from polygait import learning
from polygait.config import PPOConfig
from polygait.learning import padding
from polygait.learning.learner import Sizes
from polygait.learning.learners.ppo import PPO
from polygait.learning.member_batch import share_of
from polygait.learning.networks import Policy
from polygait.learning.ppo import _advantages, _log_probability

pytestmark = pytest.mark.usefixtures("quick_compilation")

LIMIT = 6
CONFIG = replace(
    probes.PROBE_CONFIG, episodes_per_iteration=7, minibatch_size=8, epochs=3, discount=0.9, rollout_steps=50
)
KEYS = learning.member_keys(jax.random.key(0), 0, 1)


class Lives(probes.Probe):
    """Sees its row, how many episodes it began, and the step; lengths differ; the longest are cut by time."""

    observation_size = 3
    action_size = 2
    max_episode_steps = LIMIT
    lengths = np.array([[2, 5, 1, 9, 3, 2], [9, 3, 5, 1, 4, 4], [1, 1, 4, 2, 9, 3]])

    def __init__(self) -> None:
        super().__init__(3)
        self.begun = np.full(3, -1)
        self.rested = 0

    def reset(self, env_ids: np.ndarray | None = None, seeds: object = None) -> np.ndarray:
        self.begun[np.arange(3) if env_ids is None else env_ids] += 1
        return super().reset(env_ids, seeds)

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return np.stack([ids, self.begun[ids], self.steps[ids]], axis=1).astype(float)

    def earn(self, actions: np.ndarray) -> np.ndarray:
        self.rested += int(self.resting.sum())
        return np.where(self.resting, 0.0, 10.0 * self.begun + self.steps + 1)

    def step(self, actions: np.ndarray) -> probes.Step:
        step = super().step(actions)
        length = self.lengths[np.arange(3), self.begun]
        fallen = (self.steps >= length) & ~self.resting
        cut = (self.steps >= LIMIT) & ~fallen & ~self.resting
        return step._replace(terminated=fallen, truncated=cut)


def acting() -> learning.NumpyPolicy:
    policy = jax.vmap(lambda key: Policy(key, (3, 2), PPOConfig(policy_hidden=(8,))))(KEYS)
    return learning.NumpyPolicy(policy, None, 3)


def lived(iteration: int = 0, task: Lives | None = None, position=None) -> learning.Rollout:
    task = task or Lives()
    noise = learning.rollout_noise(KEYS, iteration, (LIMIT, 7, 2))
    return learning.collect_episodes(task, acting(), noise, position or learning.start_position(task, 1))


def episodes_of(rollout: learning.Rollout) -> list[slice]:
    """Where each episode stands, by its end."""
    ended = np.flatnonzero((rollout.terminated | rollout.truncated)[:, 0, 0])
    return [slice(start, end + 1) for start, end in zip([0, *ended[:-1] + 1], ended, strict=True)]


def test_a_rollout_is_whole_episodes_one_after_the_other():
    task = Lives()
    rollout = lived(task=task)
    seen, following = rollout.observation[:, 0, 0], rollout.next_observation[:, 0, 0]
    parts = episodes_of(rollout)
    assert len(parts) == 7 and parts[-1].stop == len(rollout.reward)
    assert task.rested > 0
    for part in parts:
        row, begun = seen[part.start, :2].astype(int)
        length = min(int(Lives.lengths[row, begun]), LIMIT)
        np.testing.assert_array_equal(seen[part], [[row, begun, step] for step in range(length)])
        np.testing.assert_array_equal(following[part, 2], np.arange(length) + 1)
        np.testing.assert_array_equal(rollout.reward[part, 0, 0], 10 * begun + np.arange(length) + 1)
        assert rollout.truncated[part.stop - 1, 0, 0] == (Lives.lengths[row, begun] > LIMIT)
    # Three begin at once, then whoever is free takes the next, the lower row first.
    starts = [tuple(seen[part.start, :2].astype(int)) for part in parts]
    assert starts == [(0, 0), (1, 0), (2, 0), (2, 1), (0, 1), (2, 2), (1, 1)]
    totals = sorted(rollout.reward[part].sum() for part in parts)
    assert sorted(rollout.episodes.total_reward) == totals
    assert sorted(rollout.episodes.length) == sorted(part.stop - part.start for part in parts)


def test_what_was_done_is_what_noise_and_policy_say():
    rollout, policy = lived(), acting()
    noise = learning.rollout_noise(KEYS, 0, (LIMIT, 7, 2))
    for episode, part in enumerate(episodes_of(rollout)):
        seen = rollout.observation[part, :, 0]
        for moment, (state, action) in enumerate(zip(seen, rollout.action[part, 0, 0], strict=True)):
            mean = policy.mean(np.repeat(state[None], 3, axis=1))[0, 0]
            np.testing.assert_allclose(action, mean + 0.4 * noise[moment, 0, episode], atol=1e-6)


def test_the_next_rollout_begins_new_episodes_and_has_its_own_size():
    task = Lives()
    first = lived(task=task)
    assert first.position.num_steps == len(first.reward)
    assert (first.position.observation[..., 2] == 0).all()
    second = lived(1, task, first.position)
    assert second.position.num_steps == len(first.reward) + len(second.reward)
    assert len(first.reward) != len(second.reward)
    old, new = (
        {tuple(one) for one in rollout.observation[:, 0, 0, :2].tolist()} for rollout in (first, second)
    )
    assert not old & new


def advantages_by_hand(rollout: learning.Rollout, critic, config: PPOConfig) -> tuple[np.ndarray, np.ndarray]:
    """Advantages and value targets, episode by episode, backwards."""
    advantage, target = np.empty((2, len(rollout.reward)))
    for part in episodes_of(rollout):
        value = np.asarray(critic(jnp.asarray(rollout.observation[part, 0, 0])), np.float64)
        last = float(critic(jnp.asarray(rollout.next_observation[part.stop - 1, 0, 0])))
        goes_on = rollout.truncated[part.stop - 1, 0, 0] and config.bootstrap_truncation
        following = last if goes_on else 0.0
        gathered, discounted = 0.0, following
        for place in reversed(range(len(value))):
            reward = rollout.reward[part.start + place, 0, 0]
            delta = reward + config.discount * following - value[place]
            gathered = delta + config.discount * config.gae_lambda * gathered
            discounted = reward + config.discount * discounted
            advantage[part.start + place] = gathered
            gae = config.value_target == "gae"
            target[part.start + place] = gathered + value[place] if gae else discounted
            following = value[place]
    return advantage, target


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("target", ["gae", "monte-carlo"])
def test_advantages_are_those_of_each_episode_alone(bootstrap, target):
    config = replace(CONFIG, bootstrap_truncation=bootstrap, value_target=target)
    rollout = lived()
    learner = PPO(config, Sizes(3, 2), 3)
    state = learner.init(KEYS)
    batch = learning.prepare_batch(rollout, rollout.reward, state.normalizer, config, config.discount).batch
    share = share_of(batch, 0, config)
    networks = probes.member(state.networks)
    acted, discount = _log_probability(networks, share, config), jnp.float32(config.discount)
    found = _advantages(networks, share, acted, discount, config)
    count = len(rollout.reward)
    assert len(found.advantage) == padding.SMALLEST_ROOM > count
    advantage, value_target = advantages_by_hand(rollout, networks.critic, config)
    np.testing.assert_allclose(found.advantage[:count], advantage, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.value_target[:count], value_target, rtol=1e-4, atol=1e-4)
    value = np.asarray(networks.critic(jnp.asarray(rollout.observation[:, 0, 0])))
    explained = 1 - np.var(value_target - value) / np.var(value_target)
    assert float(found.explained_variance) == pytest.approx(explained, rel=1e-3)


def updated(config: PPOConfig) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """What one update makes of a rollout, and how it went."""
    learner, rollout = PPO(config, Sizes(3, 2), 1), lived()
    found = learner.update(learner.init(KEYS), rollout, rollout.reward, KEYS, 0)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(found.state)], dict(found.statistics)


@pytest.mark.slow
@pytest.mark.parametrize("recompute", [False, True])
def test_what_fills_a_batch_has_no_part_in_it(recompute, monkeypatch):
    config = replace(CONFIG, normalize_observations=True, scale_rewards=True, recompute_advantages=recompute)
    usual, statistics = updated(config)
    monkeypatch.setattr(padding, "FILL", np.nan)
    spoiled, same = updated(config)
    for ours, theirs in zip(usual, spoiled, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert all(np.array_equal(statistics[name], same[name]) for name in statistics)
    assert all(np.isfinite(values).all() for values in statistics.values())
    # The same samples without any that fill.
    plain, expected = updated(replace(config, episodes_per_iteration=0))
    for ours, theirs in zip(usual, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
    for name, values in expected.items():
        np.testing.assert_allclose(statistics[name], values, rtol=1e-3, atol=1e-4)


def test_the_step_size_falls_with_steps_not_with_updates():
    """Twice as many steps of experience are twice as far, in however many rollouts they came."""
    config = replace(CONFIG, anneal_iterations=4, final_std=0.1, final_start=0.0)
    learner, rollout = PPO(config, Sizes(3, 2), 3), lived()
    state = learner.init(KEYS)

    def std_after(steps: int) -> float:
        end = rollout.position._replace(num_steps=np.array(steps))
        found = learner.update(state, rollout._replace(position=end), rollout.reward, KEYS, 0)
        return float(probes.member(found.state.networks.policy).std().mean())

    assert std_after(50) == pytest.approx(0.4 - 0.3 * 50 / 200, rel=1e-5)
    assert std_after(100) == pytest.approx(0.4 - 0.3 * 100 / 200, rel=1e-5)
    assert std_after(10_000) == pytest.approx(0.1, rel=1e-5)


def test_programs_are_few():
    sizes = {padding.room_for(count) for count in range(1, 20_001)}
    assert sizes == {256 * 2**power for power in range(8)}
    for order_length in (3, 60):
        order = padding.padded_order(np.ones((order_length, 4), np.int32), 78)
        assert order.order.shape == (78, 4) and int(order.num_steps) == order_length


def test_an_order_with_room_is_gone_through_as_one_without():
    order = np.arange(12, dtype=np.int32).reshape(4, 3)

    def step(total, ids):
        return total + ids.sum(), {"first": ids[0].astype(jnp.float32)}

    for one in (jnp.asarray(order), padding.padded_order(order, 9)):
        total, mean = padding.over_minibatches(step, jnp.int32(0), one)
        assert (int(total), float(mean["first"])) == (66, 4.5)
