"""A robot from a model file alone: what is found in it, how it moves, and its file written out."""

import importlib.util
from typing import Any

import mujoco
import numpy as np
import pytest
from tests.tasks.models import ARM, DOG, LEGS, PLANAR, write_model

import polygait as pg
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.write_robot import class_name, write_robot


@pytest.fixture
def dog(tmp_path):
    return write_model(tmp_path, DOG)


@pytest.fixture
def planar(tmp_path):
    return write_model(tmp_path, PLANAR, "planar.xml")


def run(task, steps=80):
    """Observations, rewards and endings of random actions."""
    generator = np.random.default_rng(0)
    told = [task.reset()]
    for _ in range(steps):
        step = task.step(generator.uniform(-1, 1, (task.num_envs, task.action_size)))
        told += [step.observation, step.reward, step.terminated]
    return told


def test_a_quadruped_is_found_in_its_file(dog):
    robot = pg.robot_from_mjcf(dog)
    assert [limb.name for limb in robot.shape.limbs] == list(LEGS)
    assert robot.found["limbs"]["FL"] == ["hip", "knee"]
    assert robot.feet == {leg: (f"{leg}_calf.geom.1",) for leg in LEGS}
    assert robot.found["start"].startswith("keyframe home")
    assert robot.found["floor"] == "floor, added"
    assert robot.removed == tuple(LEGS)
    assert "FL.position.knee" in robot.layout.names
    assert robot.layout.select("imu.*").size == 6
    assert robot.action_law is not None
    assert set(robot.action_law.kinds) == {"position"}
    assert robot.action_law.default[:2] == (0.0, -0.8)
    assert robot.action_law.rate == 50.0


def test_it_stands_on_its_feet_and_every_number_is_what_its_name_says(dog):
    task = pg.make_task(dog, num_envs=2, num_threads=1)
    assert isinstance(task, MujocoTask)
    fell = [task.step(np.zeros((2, 8))).terminated.any() for _ in range(60)]
    assert task.foot_contacts().all()
    assert not any(fell)
    step = task.step(np.full((2, 8), 0.5))
    data = mujoco.MjData(task.model)
    mujoco.mj_setState(task.model, data, task.physics.batch.state[0], mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_forward(task.model, data)
    rotation = data.body("trunk").xmat.reshape(3, 3)
    expected = {
        "base.height": data.qpos[2:3],
        "base.gravity": rotation.T @ [0, 0, -1],
        "base.heading": rotation[:2, 0],
        "base.linear_velocity": rotation.T @ data.qvel[:3],
        "base.angular_velocity": data.qvel[3:6],
        "RR.position": data.qpos[13:15] - [0, -0.8],
        "RR.velocity": data.qvel[12:14],
        "imu.acc": data.sensor("acc").data,
        "imu.gyro": data.sensor("gyro").data,
    }
    for part, values in expected.items():
        np.testing.assert_allclose(step.observation[0, task.layout.slice(part)], values, atol=1e-9)


def test_reward_and_ending_are_those_that_are_told(dog):
    options = {"forward_weight": 3.0, "alive_weight": 0.5, "control_weight": 0.1, "posture_weight": 0.4}
    robot = pg.robot_from_mjcf(dog, forward="-y", speed=0.2, **options)
    task = MujocoTask(robot, num_envs=4, num_threads=1)
    actions = np.random.default_rng(0).uniform(-1, 1, (4, 8))
    fell = np.zeros(4, dtype=bool)
    for _ in range(30):
        before = -task.physics.qpos[:, 1].copy()
        step = task.step(actions)
        speed = np.minimum((-task.physics.qpos[:, 1] - before) / task.time_step, 0.2)
        state, layout = step.observation, task.layout
        leaning = np.square(state[:, layout.select("base.gravity")][:, :2]).sum(axis=1)
        away = np.square(state[:, layout.select([f"{leg}.position" for leg in LEGS])]).mean(axis=1)
        expected = 3 * speed + 0.5 * ~step.terminated - 0.1 * np.square(actions).mean(axis=1)
        np.testing.assert_allclose(step.reward, expected - 0.4 * (leaning + away), atol=1e-9)
        upright = -state[:, layout.select("base.gravity")[2]] > 0.5
        high = state[:, 0] > robot.least_height
        assert np.array_equal(step.terminated, ~(upright & high))
        fell |= step.terminated
    task.set_state(np.array([[0, 0, 0.02, 1, 0, 0, 0, *[0, -0.8] * 4]] * 4), np.zeros((4, 14)))
    assert task.step(np.zeros((4, 8))).terminated.all()


def test_a_planar_robot_with_tendon_and_activation(planar):
    task = pg.make_task(planar, num_envs=2, num_threads=1)
    assert isinstance(task, MujocoTask)
    assert task.feet == ("thigh",)
    assert task.action_law.names == ("hip", "tendon")
    assert task.action_law.kinds == ("torque", "torque")
    assert (task.action_law.low[1], task.action_law.default[1]) == (0.0, 1.0)
    assert task.layout.names[:2] == ("base.position.rootz", "base.position.rooty")
    step = task.step(np.ones((2, 2)))
    assert np.array_equal(step.observation[:, -1], task.physics.derived["act"][:, 0])
    assert (step.observation[:, -1] > 0).all()
    assert task.physics.ctrl[0].tolist() == [1.0, 2.0]


def test_options_choose_feet_start_law_and_limits(dog):
    robot = pg.robot_from_mjcf(
        dog, feet=["FL_calf", "trunk"], actions="torque", rate=125, max_episode_steps=7, healthy="always"
    )
    assert robot.feet["FL_calf"] == ("FL_calf.geom.0", "FL_calf.geom.1")
    assert robot.feet["trunk"] == ("trunk.geom.0",)
    task = MujocoTask(robot, num_threads=1)
    assert set(task.action_law.units) == {"N·m"}
    assert set(task.action_law.scale) == {15.0}
    assert task.time_step == pytest.approx(0.008)
    ended = [task.step(np.ones((1, 8))) for _ in range(7)]
    assert not any(step.terminated[0] for step in ended)
    assert ended[-1].truncated[0]


def test_reward_and_health_may_be_functions(dog):
    robot = pg.robot_from_mjcf(
        dog, reward=lambda motion: motion.velocity * 0 + 7.0, healthy=lambda physics: physics.qpos[:, 2] > 9
    )
    step = MujocoTask(robot, num_envs=2, num_threads=1).step(np.zeros((2, 8)))
    assert step.reward.tolist() == [7.0, 7.0]
    assert step.terminated.all()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"forward": "up"}, "Unknown value of forward: 'up'"),
        ({"feet": ["paw"]}, "Unknown geom or body of a foot: 'paw'"),
        ({"keyframe": "sit"}, "Unknown keyframe: 'sit'"),
        ({"rate": 0}, "rate must be above 0"),
        ({"speed": "fast"}, "speed must be a number, got"),
        ({"foot": []}, "Unknown option of a robot from a model file: 'foot'"),
    ],
)
def test_a_wrong_option_is_told(dog, options, problem):
    with pytest.raises(pg.UserError, match=problem):
        pg.make_task(dog, **options)


def test_files_that_are_no_robot_are_told(tmp_path):
    with pytest.raises(pg.UserError, match="no model file"):
        pg.make_task(str(tmp_path / "absent.xml"))
    with pytest.raises(pg.UserError, match="MuJoCo cannot read"):
        pg.make_task(write_model(tmp_path, "<mujoco><nonsense/></mujoco>", "broken.xml"))
    with pytest.raises(pg.UserError, match="can go anywhere"):
        pg.make_task(write_model(tmp_path, ARM, "arm.xml"))
    with pytest.raises(pg.UserError, match="cannot go along y"):
        pg.make_task(write_model(tmp_path, PLANAR, "planar.xml"), forward="y")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (DOG, {}),
        (DOG, {"actions": "torque", "forward": "-x", "speed": 0.5, "largest_tilt": 40.0}),
        (PLANAR, {}),
        (PLANAR, {"healthy": "always", "feet": ["sole"]}),
    ],
    ids=["dog", "dog-torque", "planar", "planar-always"],
)
def test_the_written_file_is_the_same_robot_to_the_bit(tmp_path, text, options):
    robot = pg.robot_from_mjcf(write_model(tmp_path, text, "my-robot.xml"), **options)
    path = write_robot(robot, tmp_path / "my_robot.py")
    written = loaded(path, class_name(robot))()
    assert class_name(robot) == "MyRobot"
    first, second = (MujocoTask(one, num_envs=3, num_threads=1) for one in (robot, written))
    assert first.layout == second.layout
    assert first.action_law == second.action_law
    assert dict(first.conditions) == dict(second.conditions)
    assert all(np.array_equal(one, other) for one, other in zip(run(first), run(second), strict=True))


def test_a_file_is_written_once_and_as_python(dog, tmp_path):
    robot = pg.robot_from_mjcf(dog)
    write_robot(robot, tmp_path / "my.py")
    for path, problem in (("my.py", "exists already"), ("my.txt", "is Python")):
        with pytest.raises(pg.UserError, match=problem):
            write_robot(robot, tmp_path / path)
    with pytest.raises(pg.UserError, match="cannot be written out"):
        write_robot(pg.robot_from_mjcf(dog, reward=lambda motion: motion.velocity), tmp_path / "other.py")


def loaded(path, name) -> Any:
    """A class from a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


@pytest.mark.slow
def test_a_model_file_is_trained_on(dog, tmp_path):
    population = pg.train(
        pg.TrainConfig(
            task=dog, method="multi", members=1, steps=2048, envs=4, overrides=("ppo.rollout_steps=1024",)
        ),
        out=str(tmp_path / "run"),
    )
    assert len(population.members) == 1
