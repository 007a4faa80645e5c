"""Joints that lock where they can be, and parts that nobody named."""

import warnings

import numpy as np
import pytest
from tests.tasks.lizard import Lizard

from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robot import Robot
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.walker import Walker
from polygait.variations import physics_edits

KNEE = 7  # its place among the positions


def make(variation=None, num_envs=1, robot: type[Robot] = Lizard):
    return MujocoTask(robot(), num_envs=num_envs, variation=variation, num_threads=1)


def knee_range(task, row=0):
    return task.physics.batch.get_model(row).joint("knee").range.tolist()


@pytest.fixture(autouse=True)
def untold(monkeypatch):
    """Whatever was said in other tests is said again here."""
    monkeypatch.setattr(physics_edits, "_told", set())


def test_every_geom_and_body_has_a_name_that_says_where_it_is():
    anatomy = make().anatomy
    assert list(anatomy.geoms) == [
        "floor",
        "trunk.geom.0",
        "trunk.geom.1",
        "tail",
        "shin.geom.0",
        "body_3.geom.0",
    ]
    assert list(anatomy.bodies) == ["trunk", "shin", "body_3"]
    assert list(anatomy.joints) == ["knee", "body_3.joint.0"]


def test_a_star_means_every_part_named_or_not():
    task = make("friction(*)=0.5+mass(*)=2")
    nominal, changed = task.model, task.physics.batch.get_model(0)
    assert np.array_equal(changed.geom_friction[:, 0], 0.5 * nominal.geom_friction[:, 0])
    assert np.array_equal(changed.body_mass, 2 * nominal.body_mass)


def test_a_part_without_a_name_can_be_changed_alone():
    task = make("friction(trunk.geom.1)=3")
    found = task.physics.batch.get_model(0).geom_friction[:, 0] / task.model.geom_friction[:, 0]
    assert found.tolist() == [1, 1, 3, 1, 1, 1]


@pytest.mark.parametrize("robot", [Hopper, Walker, Ant])
def test_no_part_of_our_own_robots_needed_a_new_name(robot):
    """So that their old texts with globs mean what they meant."""
    anatomy = make(robot=robot).anatomy
    assert not [name for name in (*anatomy.geoms, *anatomy.joints) if ".geom." in name or ".joint." in name]


def test_a_joint_that_cannot_reach_zero_locks_at_the_nearest_angle_and_says_so_once():
    with pytest.warns(UserWarning, match=r"knee cannot reach the angle 0.*-0\.8.*:hold"):
        task = make("broken(knee)")
    assert knee_range(task) == [-0.8, -0.8]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make("broken(knee)@5")


def test_a_locked_robot_does_not_jump():
    """At the angle 0, far from what the knee can do, the lock throws the robot up."""
    with pytest.warns(UserWarning, match="knee"):
        tasks = {text: make(text) for text in ("broken(knee):lock=0", "broken(knee)", "broken(knee):hold")}
    highest = {}
    for text, task in tasks.items():
        task.reset(seeds=[1])
        start = task.physics.qpos[0, 2]
        heights = [task.step(np.zeros((1, 1))).observation[0, 0] for _ in range(60)]
        highest[text] = max(heights) - start
    assert highest["broken(knee):lock=0"] > highest["broken(knee)"]
    assert highest["broken(knee):hold"] < 0.01


def test_a_lock_has_the_angle_that_is_given():
    assert knee_range(make("broken(knee):lock=-1.25")) == [-1.25, -1.25]
    assert knee_range(make("broken(knee):lock=0")) == [0.0, 0.0]


@pytest.mark.parametrize("onset", [0, 4])
def test_a_held_joint_stays_where_it_was_at_the_onset_in_every_episode(onset):
    task = make(f"broken(knee):hold@{onset}", num_envs=3)
    seen = []
    for episode in range(3):
        task.reset()
        for _ in range(onset):
            task.step(np.full((3, 1), 0.3))
        angle = task.physics.qpos[:, KNEE].copy()
        seen.append(angle)
        for _ in range(30):
            task.step(np.full((3, 1), 0.3))
        assert [knee_range(task, row) for row in range(3)] == [[one, one] for one in angle.tolist()], episode
        assert np.abs(task.physics.qpos[:, KNEE] - angle).max() < 0.05
    assert len(np.unique(np.round(seen, 9))) == 9


@pytest.mark.parametrize("when", ["", "@2..5", "@3", "@every(3)..+2"])
def test_a_snapshot_of_any_step_goes_on_with_the_same_held_angle(when):
    """Also of the step before the hold begins, whose angle nobody has written down yet."""
    text = f"broken(leg_joint):hold{when}"
    task, other = (MujocoTask(Hopper(), 2, variation=text, num_threads=1) for _ in range(2))
    actions = np.random.default_rng(0).uniform(-1, 1, (10, 2, 3))
    task.reset(seeds=[1, 2])
    for at in range(8):
        other.reset(seeds=[3, 4])  # it holds other angles before
        other.step(actions[9])
        other.restore({name: np.array(array) for name, array in task.snapshot().items()})
        step, same = task.step(actions[at]), other.step(actions[at])
        assert np.array_equal(step.observation, same.observation), at


def test_a_held_angle_survives_a_snapshot():
    task = make("broken(knee):hold@3", num_envs=2)
    for _ in range(10):
        task.step(np.full((2, 1), -0.5))
    other = make("broken(knee):hold@3", num_envs=2)
    other.restore(task.snapshot())
    assert knee_range(other, 1) == knee_range(task, 1)
    for _ in range(10):
        assert np.array_equal(task.step(np.ones((2, 1))).observation, other.step(np.ones((2, 1))).observation)


def test_a_joint_that_recovers_has_its_range_back():
    task = make("broken(knee):hold@2..5")
    nominal = make().physics.batch.get_model(0)
    for moment in range(8):
        task.step(np.zeros((1, 1)))
        locked = 2 <= moment < 5
        assert (knee_range(task)[0] == knee_range(task)[1]) == locked
    assert knee_range(task) == nominal.joint("knee").range.tolist()


def test_the_ants_ankles_lock_at_zero_as_in_the_paper():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = make("broken-ankle", robot=Ant)
    assert task.physics.batch.get_model(0).joint("ankle_1").range.tolist() == [0.0, 0.0]
