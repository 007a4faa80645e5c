"""Our robots against Gymnasium's own v5 environments, from the same states with the same actions."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.planar import GYMNASIUM_MODELS, PlanarRobot
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.half_cheetah import HalfCheetah
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.humanoid import Humanoid
from polygait.tasks.robots.swimmer import Swimmer
from polygait.tasks.robots.walker import Walker

GYMNASIUM = {
    "hopper": "Hopper-v5",
    "walker": "Walker2d-v5",
    "ant": "Ant-v5",
    "half-cheetah": "HalfCheetah-v5",
    "swimmer": "Swimmer-v5",
    "humanoid": "Humanoid-v5",
}
BEFORE_FORCES = {"ant": 27, "humanoid": 45}
"""The numbers of a state that are Gymnasium's also where contact forces are asked for."""


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
    forces = task.robot.needs_contact_forces
    alike = slice(BEFORE_FORCES[task.name] if forces else None)
    started = env.unwrapped._get_obs()
    assert_close(observation[0, alike], started[alike])
    endings = {"terminated": 0, "truncated": 0}
    for action in smooth_actions(steps, task.action_size, seed):
        # Gymnasium takes the motors' controls, which are ours but for the Humanoid's.
        expected, reward, terminated, truncated, info = env.step(task.action_law.controls(action))
        step = task.step(action[None])
        assert np.array_equal(task.physics.qpos[0], data.qpos)
        assert_close(step.observation[0, alike], expected[alike])
        reward_ours = step.reward[0] + contact_cost(task)
        assert reward_ours == pytest.approx(reward - info.get("reward_contact", 0.0), abs=1e-9)
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
    if task.name == "humanoid":
        return min(10.0, 5e-7 * np.square(task._observation[0, 270:]).sum())
    return 5e-4 * np.square(task._observation[0, 27:]).sum()


ROBOTS = [
    Hopper(),
    Walker(),
    Ant(),
    Ant(contact_forces=False),
    HalfCheetah(),
    Swimmer(),
    Humanoid(),
    Humanoid(contact_forces=False),
]
WITHOUT_FORCES = {
    "ant": {"include_cfrc_ext_in_observation": False},
    "humanoid": {"include_cfrc_ext_in_observation": False},
}
NEVER_FALLING = ("ant", "half-cheetah", "swimmer")


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: f"{robot.name}-{robot.needs_contact_forces}")
def test_equals_gymnasium_over_1500_steps(robot):
    options = {} if robot.needs_contact_forces else WITHOUT_FORCES.get(robot.name, {})
    endings = compare(MujocoTask(robot, num_threads=1), gymnasium_env(robot.name, **options))
    assert endings["truncated" if robot.name in NEVER_FALLING else "terminated"] >= 1


def test_the_walker_with_its_old_feet_is_that_of_version_4():
    old = mujoco.MjModel.from_xml_path(str(GYMNASIUM_MODELS / "walker2d.xml"))
    ours = MujocoTask(Walker(right_foot_friction=0.9), num_threads=1).model
    feet = [
        [model.geom(foot).friction[0] for foot in ("foot_geom", "foot_left_geom")] for model in (old, ours)
    ]
    assert feet == [[0.9, 1.9]] * 2
    np.testing.assert_array_equal(ours.geom_friction, old.geom_friction)
    usual, v5 = Walker().spec().compile(), PlanarRobot.spec(Walker()).compile()
    np.testing.assert_array_equal(usual.geom_friction, v5.geom_friction)


def lock_right_foot(model):
    model.jnt_range[model.joint("foot_joint").id] *= 0


def double_foot_friction(model):
    for geom in ("foot_geom", "foot_left_geom"):
        model.geom_friction[model.geom(geom).id, 0] *= 2


def heavier_legs(model):
    model.body_mass[2:] *= 1.5  # everything but the world and the torso


def lock_back_foot(model):
    model.jnt_range[model.joint("bfoot").id] *= 0


def heavier_head(model):
    model.body_mass[model.body("torso").id] *= 2


def heavier_feet(model):
    for body in ("right_foot", "left_foot"):
        model.body_mass[model.body(body).id] *= 3


@pytest.mark.parametrize(
    ("robot", "variation", "edit"),
    [
        (Walker(), "broken-foot", lock_right_foot),
        (Walker(), "foot-friction=2", double_foot_friction),
        (Ant(), "leg-mass=1.5", heavier_legs),
        (HalfCheetah(), "broken-back-foot", lock_back_foot),
        (Swimmer(), "head-mass=2", heavier_head),
        (Humanoid(), "foot-mass=3", heavier_feet),
    ],
    ids=["broken-foot", "foot-friction", "leg-mass", "broken-back-foot", "head-mass", "foot-mass"],
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


def test_a_humanoid_with_contact_forces_shows_what_holds_at_the_observed_state():
    """Checked against mj_forward and mj_rnePostConstraint on a single MjData at the same state."""
    task = MujocoTask(Humanoid(), num_threads=1)
    model = Humanoid().spec().compile()
    data = mujoco.MjData(model)
    touched = 0
    for action in smooth_actions(60, 17, seed=3):
        step = task.step(action[None])
        mujoco.mj_setState(model, data, task.physics.batch.state[0], mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        derived = (data.cinert[1:], data.cvel[1:], data.qfrc_actuator[6:], data.cfrc_ext[1:])
        expected = np.concatenate([values.ravel() for values in derived])
        np.testing.assert_allclose(step.observation[0, 45:], expected, rtol=1e-9, atol=1e-9)
        touched += bool(np.abs(data.cfrc_ext).sum() > 0)
    assert touched > 20
