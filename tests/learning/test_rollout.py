"""What collect() writes down is what happened."""

import jax
import numpy as np
import pytest
from tests.learning import probes

from polygait import learning
from polygait.config import PPOConfig
from polygait.errors import UserError
from polygait.learning.networks import Policy


class Counting(probes.Probe):
    """Sees its own row and step; row r's episodes last r + 2 steps; remembers what it was told."""

    observation_size = 2
    action_size = 3

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        self.episode_length = np.arange(num_envs) + 2
        self.commands: list[np.ndarray] = []

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return np.stack([ids, self.steps[ids]], axis=1).astype(float)

    def earn(self, actions: np.ndarray) -> np.ndarray:
        self.commands.append(actions.copy())
        return self.steps + 1.0

    def step(self, actions: np.ndarray) -> probes.Step:
        step = super().step(actions)
        return step._replace(truncated=step.terminated & (np.arange(self.num_envs) % 2 == 1))


def cohort(num_members: int, num_envs: int = 2, std: float = 0.4) -> learning.NumpyPolicy:
    config = PPOConfig(policy_hidden=(8,), action_std=std)
    keys = learning.member_keys(jax.random.key(0), 0, num_members)
    policy = jax.vmap(lambda key: Policy(key, (2, 3), config))(keys)
    return learning.NumpyPolicy(policy, None, num_envs)


def noise(length: int, num_members: int = 2, num_envs: int = 2) -> np.ndarray:
    keys = learning.member_keys(jax.random.key(0), 0, num_members)
    return learning.rollout_noise(keys, 0, (length, num_envs, 3))


def test_rows_times_and_ends():
    task = Counting(4)
    rollout = learning.collect(task, cohort(2), noise(9), learning.start_position(task, 2))
    for row in range(4):
        member, env = divmod(row, 2)
        length = row + 2
        step = np.arange(9) % length
        np.testing.assert_array_equal(rollout.observation[:, member, env, 0], row)
        np.testing.assert_array_equal(rollout.observation[:, member, env, 1], step)
        np.testing.assert_array_equal(rollout.next_observation[:, member, env, 1], step + 1)
        np.testing.assert_array_equal(rollout.reward[:, member, env], step + 1)
        np.testing.assert_array_equal(rollout.terminated[:, member, env], step + 1 == length)
        np.testing.assert_array_equal(
            rollout.truncated[:, member, env], (step + 1 == length) & (row % 2 == 1)
        )
        np.testing.assert_array_equal(rollout.position.observation[member, env], [row, 9 % length])
        np.testing.assert_array_equal(rollout.position.episode_length[member, env], 9 % length)
    episodes = sorted(zip(*rollout.episodes, strict=True))
    lengths = [(0, 2)] * 4 + [(0, 3)] * 3 + [(1, 4)] * 2 + [(1, 5)]
    assert episodes == sorted((member, length * (length + 1) / 2, length) for member, length in lengths)


def test_the_record_keeps_what_the_environment_gets_clipped():
    task, acting = Counting(4), cohort(2, std=2.0)
    drawn = noise(5)
    rollout = learning.collect(task, acting, drawn, learning.start_position(task, 2))
    commands = np.stack(task.commands).reshape(rollout.action.shape)
    assert np.abs(rollout.action).max() > 1
    np.testing.assert_array_equal(commands, np.clip(rollout.action, -1, 1))
    np.testing.assert_allclose(
        rollout.action[2], acting.mean(rollout.observation[2]) + 2 * drawn[2], rtol=1e-5, atol=1e-6
    )


def test_two_short_rollouts_are_one_long_one():
    long_task, short_task = Counting(4), Counting(4)
    drawn = noise(9)
    long = learning.collect(long_task, cohort(2), drawn, learning.start_position(long_task, 2))
    start = learning.start_position(short_task, 2)
    first = learning.collect(short_task, cohort(2), drawn[:4], start)
    second = learning.collect(short_task, cohort(2), drawn[4:], first.position)
    for field in ("observation", "action", "reward", "terminated", "truncated", "next_observation"):
        joined = np.concatenate([getattr(first, field), getattr(second, field)])
        np.testing.assert_array_equal(joined, getattr(long, field))
    for ours, theirs, whole in zip(first.episodes, second.episodes, long.episodes, strict=True):
        np.testing.assert_array_equal(np.concatenate([ours, theirs]), whole)
    for ours, whole in zip(second.position, long.position, strict=True):
        np.testing.assert_array_equal(ours, whole)
    np.testing.assert_array_equal(start.episode_length, 0)


def test_noise_depends_on_member_and_iteration_only():
    keys = learning.member_keys(jax.random.key(0), 0, 3)
    together = learning.rollout_noise(keys, 4, (8, 16, 3))
    np.testing.assert_array_equal(together[:, 2:], learning.rollout_noise(keys[2:], 4, (8, 16, 3)))
    assert not np.array_equal(together, learning.rollout_noise(keys, 5, (8, 16, 3)))
    assert not np.array_equal(together[:, 0], together[:, 1])
    assert abs(together.mean()) < 0.1
    assert together.std() == pytest.approx(1, abs=0.1)


def test_sizes_that_do_not_divide_are_named():
    with pytest.raises(UserError, match="5 environments cannot be shared evenly by 2"):
        learning.start_position(Counting(5), 2)
    with pytest.raises(UserError, match="rollout_steps") as caught:
        PPOConfig(rollout_steps=0, discount=2.0).check()
    assert "discount" in caught.value.problem
