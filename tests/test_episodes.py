"""run_episodes against a plain loop: an outcome depends on its job only, to the bit."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from polygait import training
from polygait.config import PPOConfig
from polygait.episodes import IDLE, ActorFactory, Frame, Job, Outcome, episode_seeds, run_episodes
from polygait.learning import NumpyPolicy, initial_networks, member_keys
from polygait.learning.acting import ALONE
from polygait.learning.normalizer import Moments
from polygait.learning.stacking import member_of
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.registry import make_task
from polygait.tasks.robots.hopper import Hopper

MEMBERS = 3
LIMIT = 25
VARIATIONS = (
    None,
    "broken-foot",
    "foot-mass=1.5",
    "motor(leg_joint)",
    "sensor(leg.position):noise=0.1",
    "delay=2@3",
    "broken-leg@7",
)


def cohort(observation_size: int, action_size: int) -> tuple[Any, Moments]:
    keys = member_keys(jax.random.key(3), 0, MEMBERS)
    policy = initial_networks(keys, (observation_size, action_size), PPOConfig(policy_hidden=(8,))).policy
    chance = np.random.default_rng(3)
    shape = (MEMBERS, observation_size)
    return policy, Moments(np.full(MEMBERS, 9.0), chance.normal(size=shape), chance.uniform(0.1, 2.0, shape))


def acting(policy: Any, moments: Moments | None) -> ActorFactory:
    """Some of the members, each row by itself."""

    def actor(members: Sequence[int], num_envs: int) -> NumpyPolicy:
        chosen = np.array(members)
        return NumpyPolicy(
            member_of(policy, chosen),
            None if moments is None else member_of(moments, chosen),
            num_envs,
            tile=ALONE,
        )

    return actor


POLICY, MOMENTS = cohort(11, 3)
NORMALISED, RAW = acting(POLICY, MOMENTS), acting(POLICY, None)


def hoppers(count: int) -> MujocoTask:
    task = make_task("hopper", count, max_episode_steps=LIMIT)
    assert isinstance(task, MujocoTask)
    return task


def alone(job: Job, make: Any, policies: tuple[Any, Moments | None]) -> Outcome:
    """One episode of one member in a task of its own."""
    actor = acting(*policies)([job.member], 1)
    task = make(1)
    task.set_variation(job.variation)
    observation = task.reset(seeds=[job.seed])
    total, length, begun, moved = 0.0, 0, task.progress[0], 0.0
    while True:
        action = np.clip(actor.mean(observation[None].astype(np.float32))[0], -1, 1)
        step = task.step(action)
        observation = step.observation
        total += step.reward[0]
        length += 1
        if not task.diverged[0]:
            moved = task.progress[0] - begun
        if step.terminated[0] or step.truncated[0]:
            speed = moved / (task.max_episode_steps * (task.time_step or np.nan))
            found = (total, length, step.terminated[0], task.diverged[0], moved, speed)
            return Outcome(*map(np.array, found))


def assert_same(found: Outcome, expected: list[Outcome]) -> None:
    for ours, theirs in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(ours, np.array(theirs))


JOBS = [
    Job(member, variation, seed)
    for member in range(MEMBERS)
    for variation in VARIATIONS
    for seed in (0, 5, 2**40)
]


@pytest.fixture(scope="module")
def expected():
    return {job: alone(job, hoppers, (POLICY, MOMENTS)) for job in JOBS}


def test_many_jobs_at_once_are_as_each_alone(expected):
    found = run_episodes(NORMALISED, hoppers, JOBS)
    assert_same(found, [expected[job] for job in JOBS])
    assert found.fell.any() and not found.fell.all()  # both endings occur
    assert (found.length[~found.fell] == LIMIT).all() and found.length.min() < LIMIT
    assert len(np.unique(found.total_reward)) == len(JOBS)  # each variation and seed has its own outcome


@pytest.mark.parametrize("packing", range(4))
def test_packing_does_not_matter(packing, expected):
    """Shuffled, repeated, unevenly shared among members, some of which have no job at all."""
    chance = np.random.default_rng(packing)
    size = (1, 3, 20, 60)[packing]
    jobs = [JOBS[index] for index in chance.choice(len(JOBS), size=size)]
    jobs = [job for job in jobs if job.member != 1] or [JOBS[0]]
    assert_same(run_episodes(NORMALISED, hoppers, jobs), [expected[job] for job in jobs])


def test_raw_observations_where_nothing_is_normalised():
    jobs = [Job(1, None, 4), Job(0, None, 4)]
    found = run_episodes(RAW, hoppers, jobs)
    assert_same(found, [alone(job, hoppers, (POLICY, None)) for job in jobs])
    assert not np.array_equal(found.total_reward, run_episodes(NORMALISED, hoppers, jobs).total_reward)


def test_a_gymnasium_task_goes_on_beside_one_that_has_ended():
    policies = cohort(4, 1)

    def make(count: int) -> Any:
        return make_task("gym:InvertedPendulum-v5", count)

    jobs = [Job(member, None, seed) for member in range(MEMBERS) for seed in (1, 2)]
    found = run_episodes(acting(*policies), make, jobs)
    assert len(set(found.length.tolist())) > 1
    assert_same(found, [alone(job, make, policies) for job in jobs])


class Breaking(MujocoTask):
    """A Hopper whose physics breaks down at the fourth step of every episode with the seed 13."""

    def step(self, actions: np.ndarray) -> Any:
        self.physics.qvel[(self._keys[:, 0] == 13) & (self._step_count == 3)] = 1e300
        return super().step(actions)


def test_diverged_physics_ends_its_own_episode_with_finite_numbers(expected):
    def make(count: int) -> Breaking:
        robot = Hopper()
        robot.max_episode_steps = LIMIT
        return Breaking(robot, count)

    jobs = [Job(0, None, 0), Job(0, None, 13), Job(1, "broken-foot", 13), Job(2, None, 5)]
    found = run_episodes(NORMALISED, make, jobs)
    assert found.diverged.tolist() == [False, True, True, False]
    assert found.fell[1:3].all() and found.length[1:3].tolist() == [4, 4]
    assert np.isfinite(found.total_reward).all()
    for index in (0, 3):
        assert found.total_reward[index] == expected[jobs[index]].total_reward
    assert_same(found, [alone(job, make, (POLICY, MOMENTS)) for job in jobs])


def test_actions_are_those_of_the_mean_and_of_the_right_member():
    """A task that only records what it is told to do."""
    received: list[np.ndarray] = []

    class Recording(MujocoTask):
        def step(self, actions: np.ndarray) -> Any:
            received.append(actions.copy())
            return super().step(actions)

    silent = jax.tree.map(jnp.zeros_like, POLICY)
    bias = jnp.array([[-9.0, 0, 0], [0, 0, 0], [9.0, 0, 0]])
    loud = eqx.tree_at(lambda policy: policy.network.biases[-1], silent, bias)
    run_episodes(
        acting(loud, None), lambda count: Recording(Hopper(), count), [Job(2, None, 0), Job(0, None, 0)]
    )
    np.testing.assert_allclose(received[0][:, 0], [-1, 1], atol=1e-6)  # who has no job is not simulated
    assert np.abs(np.concatenate(received)).max() <= 1


def test_few_rows_take_turns(expected, monkeypatch):
    """A row that ends an episode takes the next job of its member, in whatever world that is."""
    for rows in (1, MEMBERS * 2, MEMBERS * 5):
        monkeypatch.setattr("polygait.episodes.MAX_ROWS", rows)
        assert_same(run_episodes(NORMALISED, hoppers, JOBS), [expected[job] for job in JOBS])


def test_no_jobs_no_outcome():
    assert run_episodes(NORMALISED, hoppers, []).total_reward.shape == (0,)


def test_a_watcher_sees_every_step_of_every_job(expected):
    jobs = JOBS[:7]
    totals, ends = np.zeros(7), np.zeros(7, dtype=int)

    def watch(frame: Frame) -> None:
        rows = np.flatnonzero(frame.job != IDLE)
        totals[frame.job[rows]] += frame.step.reward[rows]
        ends[frame.job[rows]] += frame.ended[rows]
        assert (frame.time[rows] < LIMIT).all() and frame.observation.shape[1] == 11
        assert not frame.ended[frame.job == IDLE].any()

    outcome = run_episodes(NORMALISED, hoppers, jobs, watch)
    np.testing.assert_array_equal(totals, outcome.total_reward)
    np.testing.assert_array_equal(ends, 1)


def test_exploring_adds_the_noise_of_training_drawn_from_the_seed():
    """Actions scatter about the mean with the policy's own standard deviation, alike wherever they run."""
    jobs = [Job(0, None, seed, explore=True) for seed in range(8)]
    means = RAW([0], 8)
    scatter: list[np.ndarray] = []

    def watch(frame: Frame) -> None:
        mean = means.mean(frame.observation[None].astype(np.float32))[0]
        scatter.append((frame.action - mean)[frame.job != IDLE])

    found = run_episodes(RAW, hoppers, jobs, watch)
    noise = np.concatenate(scatter) / PPOConfig().action_std
    assert abs(noise.mean()) < 4 / np.sqrt(noise.size) and abs(noise.std() - 1) < 4 / np.sqrt(2 * noise.size)
    alone_again = run_episodes(RAW, hoppers, jobs[3:4])
    assert alone_again.total_reward[0] == found.total_reward[3]
    calm = run_episodes(RAW, hoppers, [Job(0, None, 3)])
    assert calm.total_reward[0] != found.total_reward[3]
    mixed = run_episodes(RAW, hoppers, [Job(0, None, 3), jobs[3]])
    assert mixed.total_reward.tolist() == [calm.total_reward[0], found.total_reward[3]]


def test_nobody_is_judged_on_the_starts_of_training():
    trained = {seed for member in range(4) for seed in training._env_seeds(0, member, 64)}
    judged = {seed for purpose in range(4) for seed in episode_seeds(0, purpose, 64)}
    assert len(trained) == len(judged) == 256 and trained.isdisjoint(judged)
