"""Our robots against Gymnasium's own v5 environments, from the same states with the same actions."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.walker import Walker

GYMNASIUM = {"hopper": "Hopper-v5", "walker": "Walker2d-v5", "ant": "Ant-v5"}


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


def smooth_actions(steps, size, seed):
    """Random actions with memory, so that episodes last long enough to be worth comparing."""
    noise = np.random.default_rng(seed).uniform(-1, 1, (steps, size))
    actions = np.zeros((steps, size))
    for step in range(1, steps):
        actions[step] = 0.8 * actions[step - 1] + 0.2 * noise[step]
    return actions


def gymnasium_env(name, **options) -> Any:
    return gymnasium.make(GYMNASIUM[name], disable_env_checker=True, **options)


def compare(task, env, steps=1500, seed=0):
    """Run both; how many episodes ended, and the largest difference of qpos."""
    data = env.unwrapped.data
    env.reset(seed=seed)

    def align():
        env.reset()
        return task.set_state(data.qpos[None], data.qvel[None])

    observation = align()
    assert_close(observation[0, :27], env.unwrapped._get_obs()[:27])
    endings = {"terminated": 0, "truncated": 0}
    for action in smooth_actions(steps, task.action_size, seed):
        expected, reward, terminated, truncated, info = env.step(action)
        step = task.step(action[None])
        assert np.array_equal(task.physics.qpos[0], data.qpos)
        if task.name == "ant":
            reward -= info["reward_contact"]
            reward_ours = step.reward[0] + contact_cost(task)
            expected, observed = expected[:27], step.observation[0, :27]
        else:
            reward_ours, observed = step.reward[0], step.observation[0]
        assert_close(observed, expected)
        assert reward_ours == pytest.approx(reward, abs=1e-9)
        assert step.terminated[0] == terminated
        assert step.truncated[0] == truncated
        endings["terminated"] += terminated
        endings["truncated"] += truncated
        if terminated or truncated:
            align()
    return endings


def contact_cost(task):
    if not task.robot.needs_contact_forces:
        return 0.0
    return 5e-4 * np.square(task._observation[0, 27:]).sum()


ROBOTS = [Hopper(), Walker(), Ant(), Ant(contact_forces=False)]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: f"{robot.name}-{robot.needs_contact_forces}")
def test_equals_gymnasium_over_1500_steps(robot):
    options = {} if robot.name != "ant" else {"include_cfrc_ext_in_observation": robot.needs_contact_forces}
    endings = compare(MujocoTask(robot, num_threads=1), gymnasium_env(robot.name, **options))
    assert endings["truncated" if robot.name == "ant" else "terminated"] >= 1


def lock_right_foot(model):
    model.jnt_range[model.joint("foot_joint").id] *= 0


def double_foot_friction(model):
    for geom in ("foot_geom", "foot_left_geom"):
        model.geom_friction[model.geom(geom).id, 0] *= 2


def heavier_legs(model):
    model.body_mass[2:] *= 1.5  # everything but the world and the torso


@pytest.mark.parametrize(
    ("robot", "variation", "edit"),
    [
        (Walker(), "broken-foot", lock_right_foot),
        (Walker(), "foot-friction=2", double_foot_friction),
        (Ant(), "leg-mass=1.5", heavier_legs),
    ],
    ids=["broken-foot", "foot-friction", "leg-mass"],
)
def test_variations_equal_a_gymnasium_model_edited_by_hand(robot, variation, edit):
    env = gymnasium_env(robot.name)
    edit(env.unwrapped.model)
    mujoco.mj_setConst(env.unwrapped.model, mujoco.MjData(env.unwrapped.model))
    endings = compare(MujocoTask(robot, variation=variation, num_threads=1), env, steps=1000)
    assert sum(endings.values()) >= 1


def test_a_hand_edited_model_differs_from_the_nominal_task():
    """The comparison above can fail."""
    env = gymnasium_env("walker")
    lock_right_foot(env.unwrapped.model)
    with pytest.raises(AssertionError):
        compare(MujocoTask(Walker(), num_threads=1), env, steps=100)


def test_time_limit_equals_gymnasium():
    """A robot that lies still within its healthy range runs into the limit of 1000 steps."""
    task = MujocoTask(Ant(), num_threads=1)
    env = gymnasium_env("ant")
    env.reset(seed=0)
    task.set_state(env.unwrapped.data.qpos[None], env.unwrapped.data.qvel[None])
    truncated = False
    for _ in range(1000):
        _, _, terminated, truncated, _ = env.step(np.zeros(8))
        step = task.step(np.zeros((1, 8)))
        assert (step.terminated[0], step.truncated[0]) == (terminated, truncated)
    assert truncated


def test_a_new_ant_is_what_the_engine_says_though_nobody_asked_it():
    task = MujocoTask(Ant(), num_envs=200, num_threads=1)
    started, begun = task.reset(), task._progress.copy()
    placed = task.set_state(task.physics.qpos.copy(), task.physics.qvel.copy())  # asks the engine
    assert np.array_equal(started, placed)
    assert np.array_equal(begun, task._progress)


def test_contact_forces_and_cost_are_those_of_the_observed_state():
    """Checked against mj_forward and mj_rnePostConstraint on a single MjData at the same state."""
    task = MujocoTask(Ant(), num_threads=1)
    without = MujocoTask(Ant(contact_forces=False), num_threads=1)
    model = Ant().spec().compile()
    data = mujoco.MjData(model)
    touched = 0
    for action in smooth_actions(300, 8, seed=3):
        step, plain = task.step(action[None]), without.step(action[None])
        mujoco.mj_setState(model, data, task.physics.batch.state[0], mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        forces = np.clip(data.cfrc_ext, -1, 1)
        assert_close(step.observation[0, 27:], forces[1:].ravel())
        assert_close(plain.reward - step.reward, 5e-4 * np.square(forces).sum())
        touched += bool(np.abs(forces).sum() > 0)
    assert touched > 100
