"""Tasks behind Gymnasium's interfaces."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import polygait as pg
from polygait._gymnasium import TASKS
from polygait.tasks.registry import task_names
from polygait.tasks.vector_env import TaskEnv, TaskVectorEnv

ROBOTS = [name for name in TASKS if name in task_names()]


@pytest.mark.parametrize("name", ROBOTS)
def test_registered_environments_pass_the_checker(name):
    with warnings.catch_warnings():
        # The checker finds infinite bounds worth a remark; Gymnasium's own robots have them too.
        warnings.filterwarnings("ignore", message=".*A Box observation space.*")
        check_env(gymnasium.make(TASKS[name]).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("first", ["gymnasium", "polygait"])
def test_registration_does_not_depend_on_the_order_of_imports(first):
    second = "polygait" if first == "gymnasium" else "gymnasium"
    code = f"import {first}, {second}; print(gymnasium.make_vec('polygait/Walker-v0', num_envs=3).num_envs)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3"]
    assert done.stderr == ""


def test_make_vec_passes_the_variation_on():
    env = gymnasium.make_vec("polygait/Walker-v0", num_envs=8, variation="broken-foot")
    assert isinstance(env, TaskVectorEnv)
    assert [str(one) for one in env.task.variations] == ["broken(foot_joint)"] * 8  # type: ignore[attr-defined]
    observation, _ = env.reset(seed=4)
    assert env.observation_space.contains(observation)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert observation.shape == (8, 17)
    assert reward.shape == terminated.shape == truncated.shape == info["diverged"].shape == (8,)


def test_vector_and_single_environments_agree():
    vector = gymnasium.make_vec("polygait/Hopper-v0", num_envs=3)
    single = gymnasium.make("polygait/Hopper-v0")
    many, _ = vector.reset(seed=10)
    one, _ = single.reset(seed=12)  # Gymnasium seeds environment i with seed + i
    assert np.array_equal(many[2], one)


def test_unseeded_environments_differ_and_seeded_ones_repeat():
    first, second = (gymnasium.make("polygait/Hopper-v0") for _ in range(2))
    assert not np.array_equal(first.reset()[0], second.reset()[0])
    assert np.array_equal(first.reset(seed=1)[0], second.reset(seed=1)[0])
    assert not np.array_equal(first.reset()[0], first.reset(seed=1)[0])


def fall(env, limit=200):
    """Step with full torque until a robot falls; the last step's results."""
    for _ in range(limit):
        result = env.step(np.ones(env.action_space.shape))
        if result[2].any():
            return result
    raise AssertionError("no robot fell")


def test_next_step_mode_resets_one_step_later():
    env = TaskVectorEnv("hopper", num_envs=4)
    env.reset(seed=0)
    observation, _, terminated, _, _ = fall(env)
    assert (observation[terminated, 0] < 0.9).all() or (np.abs(observation[terminated, 1]) > 0.2).all()
    after, reward, ended, _, _ = env.step(np.ones((4, 3)))
    assert (np.abs(after[terminated, 0] - 1.25) < 0.01).all()
    assert (reward[terminated] == 0).all()
    assert not ended[terminated].any()


def test_same_step_mode_hands_out_the_final_observation():
    env = TaskVectorEnv("hopper", num_envs=4, autoreset_mode="SameStep")
    env.reset(seed=0)
    observation, _, terminated, _, info = fall(env)
    assert (np.abs(observation[terminated, 0] - 1.25) < 0.01).all()
    assert np.array_equal(info["_final_obs"], terminated)
    row = int(np.flatnonzero(terminated)[0])
    assert abs(info["final_obs"][row][0] - 1.25) > 0.01


def test_disabled_mode_leaves_resets_to_the_caller():
    env = TaskVectorEnv("hopper", num_envs=4, autoreset_mode="Disabled")
    start, _ = env.reset(seed=0)
    *_, terminated, _, _ = fall(env)
    observation, *_ = env.step(np.ones((4, 3)))
    assert (np.abs(observation[terminated, 0] - 1.25) > 0.01).all()
    observation, _ = env.reset(options={"reset_mask": terminated})
    assert (np.abs(observation[terminated, 0] - 1.25) < 0.01).all()
    assert not np.array_equal(observation[terminated], start[terminated])


def test_a_task_object_can_be_wrapped():
    task = pg.make_task("ant", num_envs=2, contact_forces=False)
    env = TaskVectorEnv(task)
    assert env.reset(seed=0)[0].shape == (2, 27)


def test_a_seed_given_to_the_environment_is_its_first():
    for make in (lambda: TaskEnv("hopper", seed=3), lambda: TaskVectorEnv("hopper", 2, seed=3)):
        assert np.array_equal(make().reset()[0], make().reset()[0])
