"""A population from its folder: it acts, wherever the folder is moved, and names what is wrong."""

import shutil
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import tiny

import polygait as pg
from polygait.episodes import Job, run_episodes
from polygait.errors import UserError
from polygait.learning.clipping import clipped_mean


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    jax.config.update("jax_disable_most_optimizations", True)
    out = tmp_path_factory.mktemp("population") / "run"
    tiny.train(out, "ppo.policy_hidden=16,8")
    jax.config.update("jax_disable_most_optimizations", False)
    return out


@pytest.fixture(scope="module")
def population(folder):
    return pg.load(folder)


@pytest.fixture(scope="module")
def observations(population):
    """States near and far from those the population knows."""
    task = population.make_task(num_envs=40)
    near = task.reset()
    scale = np.geomspace(0.1, 1e3, 40)[:, None]
    return near + scale * np.random.default_rng(0).normal(size=near.shape)


def test_a_loaded_population_knows_its_run(population, folder):
    assert len(population) == len(population.members) == 2
    assert [member.index for member in population.members] == [0, 1]
    assert [member.steps for member in population.members] == [192, 192]
    assert population.config.task == "hopper" and population.config.learner.policy_hidden == (16, 8)
    assert population.layout == population.make_task().layout
    assert population.filter == population.make_task().default_filter
    assert np.isfinite(population.members[0].summary["nominal_return"])
    assert population.path == folder


@pytest.mark.parametrize("member", [0, 1])
def test_actions_are_what_robots_received_from_the_policy_on_average(population, observations, member):
    found = population.act(observations, member)
    assert found.shape == (40, 3)
    assert np.abs(found).max() <= 1
    policy, moments = population.members[member].policy
    seen = (observations - moments.mean) / np.sqrt(moments.variance)
    mean = policy.mean(jnp.asarray(np.clip(seen, -10, 10), jnp.float32))
    np.testing.assert_allclose(found, clipped_mean(np.asarray(mean), np.asarray(policy.std())), atol=1e-5)
    assert np.abs(seen).max() > 10  # so that clipping matters
    assert found.std(axis=0).min() > 0.01


def test_members_differ(population, observations):
    assert np.abs(population.act(observations, 0) - population.act(observations, 1)).max() > 0.01


def test_a_row_has_the_same_bits_alone_or_among_others(population, observations):
    together = population.act(observations, 1)
    for count in (1, 2, 15, 16, 17, 33):
        np.testing.assert_array_equal(population.act(observations[:count], 1), together[:count])
    for row in (0, 7, 39):
        np.testing.assert_array_equal(population.act(observations[row], 1)[0], together[row])
    np.testing.assert_array_equal(population.act(observations[::-1], 1), together[::-1])


def test_answers_are_not_overwritten_by_the_next(population, observations):
    first = population.act(observations, 0)
    copy = first.copy()
    population.act(observations + 1, 0)
    np.testing.assert_array_equal(first, copy)


def test_observations_are_left_as_they_were(population, observations):
    given = observations.astype(np.float32)
    copy = given.copy()
    population.act(given, 0)
    np.testing.assert_array_equal(given, copy)


@pytest.mark.parametrize("member", [-1, 2, 99])
def test_a_member_that_is_not_there(population, observations, member):
    with pytest.raises(UserError, match=f"no member {member}") as caught:
        population.act(observations, member)
    assert "0 to 1" in str(caught.value)


@pytest.mark.parametrize("shape", [(4, 10), (10,), (4, 12), (2, 3, 11), (0,)])
def test_observations_of_the_wrong_shape(population, shape):
    with pytest.raises(UserError, match=r"\(n, 11\)"):
        population.act(np.zeros(shape), 0)


def test_many_sizes_of_batches_cost_no_memory(population, observations):
    many = np.resize(observations, (600, 11))
    expected = population.act(many, 1)
    tracemalloc.start()
    for count in (*range(1, 100), *range(250, 600, 7)):
        np.testing.assert_array_equal(population.act(many[:count], 1), expected[:count])
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 500_000  # buffers for each size by itself would keep megabytes


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_observations_that_are_not_finite_are_named(population, observations, value):
    spoilt = observations.copy()
    spoilt[[3, 7], 2] = value
    with pytest.raises(UserError, match=r"rows 3, 7: every number must be finite"):
        population.act(spoilt, 0)
    with pytest.raises(UserError, match=r"rows 0, 1, 2, 3, 4 and 35 more"):
        population.act(np.full_like(observations, value), 0)


def test_no_observation_gives_no_action(population):
    assert population.act(np.zeros((0, 11)), 0).shape == (0, 3)


def test_some_members_act_together_as_each_alone(population, observations):
    rows = np.stack([observations, observations[::-1]]).astype(np.float32)
    together = population.actor([1, 0], 40).mean(rows)
    for own, member, seen in zip(together, (1, 0), rows, strict=True):
        np.testing.assert_array_equal(np.clip(own, -1, 1), population.act(seen, member))


def test_a_moved_folder_is_as_good(folder, population, observations, tmp_path, monkeypatch):
    moved = tmp_path / "elsewhere" / "renamed"
    shutil.copytree(folder, moved)
    monkeypatch.chdir(moved.parent)
    again = pg.load("renamed")
    np.testing.assert_array_equal(again.act(observations, 1), population.act(observations, 1))
    assert len(pg.extend("renamed", pg.Extension(1))) == 3


def test_a_population_of_raw_observations_acts_on_them(tmp_path, observations):
    settings = ("ppo.normalize_observations=false", "ppo.deterministic_action=mean")
    raw = tiny.train(tmp_path / "run", *settings, members=1, iterations=1)
    policy = raw.members[0].policy.policy
    small = observations[:5] / np.abs(observations[:5]).max()
    np.testing.assert_allclose(raw.act(small, 0), policy.mean(jnp.asarray(small, jnp.float32)), atol=1e-5)


def test_a_learned_spread_survives_loading(tmp_path):
    out = tmp_path / "run"
    tiny.train(out, "ppo.learn_std=true", "ppo.entropy_coefficient=0.1", members=1, iterations=2)
    std = np.asarray(pg.load(out).members[0].policy.policy.std())
    assert std.shape == (3,) and (std != np.float32(0.4)).all() and (std < 1).all()


def test_the_task_of_a_population_can_be_changed(population):
    task = population.make_task(num_envs=3, variation="broken-foot", seed=4)
    assert task.num_envs == 3 and task.name == "hopper"
    step = task.step(population.act(task.reset(), 1))
    assert np.isfinite(step.reward).all()


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_a_folder_that_is_no_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="Not a run folder"):
        pg.load(path)


def test_all_members_run_episodes_as_they_act(population):
    task = population.make_task()
    jobs = [Job(member, None, 6) for member in (1, 0)]
    found = run_episodes(population.actor, population.make_task, jobs)
    for total, job in zip(found.total_reward, jobs, strict=True):
        observation, expected, ended = task.reset(seeds=[6]), 0.0, False
        while not ended:
            step = task.step(population.act(observation, job.member))
            observation, ended = step.observation, bool(step.terminated[0] | step.truncated[0])
            expected += step.reward[0]
        assert total == expected
