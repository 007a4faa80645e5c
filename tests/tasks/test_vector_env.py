"""Tasks behind Gymnasium's interfaces."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

import polygait as pg
from polygait._gymnasium import gymnasium_id
from polygait.tasks.gym import GymTask
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.registry import task_names
from polygait.tasks.vector_env import TaskEnv, TaskVectorEnv

ROBOTS = task_names()


@pytest.mark.parametrize("name", ROBOTS)
def test_registered_environments_pass_the_checker(name):
    with warnings.catch_warnings():
        # The checker finds infinite bounds worth a remark; Gymnasium's own robots have them too.
        warnings.filterwarnings("ignore", message=".*A Box observation space.*")
        check_env(gymnasium.make(gymnasium_id(name)).unwrapped, skip_render_check=True)


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


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_steps_and_infos_are_those_of_gymnasiums_own_vector_environment(mode):
    ours = TaskVectorEnv("hopper", num_envs=3, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: TaskEnv("hopper")] * 3, autoreset_mode=mode)
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    chance, ended = np.random.default_rng(0), 0
    for _ in range(60):
        actions = chance.uniform(-1, 1, (3, 3)).astype(np.float32)
        actions[0] = 1.0
        found, expected = ours.step(actions), theirs.step(actions)
        for one, other in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(one, other)
        assert same_infos(found[4], expected[4])
        ended += int(found[2].sum())
    assert ended > 1
    assert ours.task.num_diverged == 0


def same_infos(found, expected) -> bool:
    """Whether two batches of infos hold the same entries for the same environments."""
    assert found.keys() == expected.keys()
    for name, value in found.items():
        if isinstance(value, dict):
            assert same_infos(value, expected[name])
        else:
            assert len(value) == 3
            for one, other in zip(value, expected[name], strict=True):
                np.testing.assert_array_equal(one, other)
    return True


def test_the_last_info_of_an_episode_says_whether_its_physics_broke_down():
    env = TaskVectorEnv("hopper", num_envs=2, autoreset_mode="SameStep")
    env.reset(seed=0)
    task = env.task
    assert isinstance(task, MujocoTask)
    task.physics.qvel[1] = np.nan
    *_, info = env.step(np.zeros((2, 3)))
    assert info["_final_info"].tolist() == [False, True]
    assert (
        info["final_info"]["diverged"].tolist() == info["final_info"]["_diverged"].tolist() == [False, True]
    )
    assert info["diverged"].tolist() == [False, False]
    assert info["_diverged"].tolist() == [True, False]


class Strict(gymnasium.Env):
    """Ends after two steps and refuses a third, as Gymnasium allows an environment to."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1), {}

    def step(self, action):
        self.steps += 1
        assert self.steps <= 2, "stepped after the end"
        return np.zeros(1), 1.0, self.steps == 2, False, {}


def test_an_environment_that_is_about_to_be_reset_is_not_stepped_beyond_its_end():
    env = TaskVectorEnv(GymTask(Strict, num_envs=2))
    env.reset(seed=0)
    rewards = [env.step(np.zeros((2, 1)))[1].tolist() for _ in range(6)]
    assert rewards == [[1, 1], [1, 1], [0, 0]] * 2


def test_seeds_must_be_one_per_environment():
    env = TaskVectorEnv("hopper", num_envs=3)
    for seeds in ([1], [1, 2, 3, 4]):
        with pytest.raises(pg.UserError, match="list of 3"):
            env.reset(seed=seeds)


def test_a_mode_of_rendering_that_does_not_exist_is_a_type_error_too():
    for make in (TaskEnv, TaskVectorEnv):
        with pytest.raises(TypeError, match=r"(?s)Unknown render_mode: 'rgb_array'\..*gymnasium\.make"):
            make("hopper", render_mode="rgb_array")


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
