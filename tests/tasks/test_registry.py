"""Tasks by name."""

from typing import ClassVar

import numpy as np
import pytest
from tests.outside import write_package

import polygait as pg
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.registry import task_names
from polygait.tasks.robots.walker import Walker
from polygait.tasks.task import Task


@pytest.mark.parametrize("name", ["hopper", "walker", "ant"])
def test_own_robots_are_tasks(name):
    task = pg.make_task(name)
    assert isinstance(task, Task)
    assert task.name == name


def test_options_reach_the_robot():
    assert pg.make_task("ant", contact_forces=False).observation_size == 27
    old = pg.make_task("walker", right_foot_friction=0.9)
    assert isinstance(old, MujocoTask) and old.model.geom("foot_geom").friction[0] == 0.9
    assert pg.make_task("walker", max_episode_steps=7).max_episode_steps == 7
    assert pg.make_task("walker").max_episode_steps == 1000


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("walkr", {}, "'walker'"),
        ("walker", {"contact_force": True}, "Unknown option of walker"),
        ("ant", {"contact_force": True}, "'contact_forces'"),
        ("walker", {"max_episode_steps": 0}, "max_episode_steps"),
        ("walker", {"right_foot_friction": -1.0}, "right_foot_friction must be finite and not negative"),
        ("walker", {"num_envs": 0}, "num_envs"),
        ("walker", {"num_threads": 0}, "num_threads"),
        ("walker", {"variation": "broken-fot"}, "'broken-foot'"),
    ],
)
def test_mistakes_are_explained(name, options, message):
    with pytest.raises(pg.UserError, match=message):
        pg.make_task(name, **options)


class Misspelt(Walker):
    conditions: ClassVar = {
        "broken-foot": "broken(foot_jont)",
        "foot-mass": "mass(foot)+mas(leg)",
        "Heavy": "mass(torso)=2",
        "worn": "broken-foot+foot-mass",
        "fine": "broken(foot_joint)+mass(foot)=2",
    }


def test_a_robots_conditions_are_checked_when_it_is_made_and_all_at_once():
    with pytest.raises(pg.UserError) as caught:
        MujocoTask(Misspelt())
    found = caught.value.problem.splitlines()
    assert [line.split("'")[1] for line in found] == ["broken-foot", "foot-mass", "Heavy", "worn"]
    assert "Unknown joint: 'foot_jont'. Did you mean 'foot_joint'" in found[0]
    assert "Unknown variation: 'mas'. Did you mean 'mass'" in found[1]
    assert "lower-case" in found[2]
    assert "conditions" in caught.value.remedy


class Worn(Walker):
    conditions: ClassVar = {"worn": "broken(foot_joint)+mass(foot)=2"}


def test_a_condition_of_several_edits_changes_the_robot_as_its_edits_do():
    task = MujocoTask(Worn(), num_envs=3, variation=["worn", Worn.conditions["worn"], None])
    task.reset(seeds=[0, 0, 0])
    steps = [task.step(np.full((3, 6), 0.7)) for _ in range(20)]
    named, written, nominal = steps[-1].observation
    assert np.array_equal(named, written)
    assert not np.array_equal(named, nominal)


def test_third_parties_add_robots_by_entry_point(tmp_path, monkeypatch):
    source = (
        "from polygait.tasks.robots.walker import Walker\n"
        "class Slow(Walker):\n"
        "    name = 'slow-walker'\n"
        "    max_episode_steps = 50\n"
    )
    points = {"polygait.tasks": {"slow-walker": "other_lab:Slow"}}
    write_package(tmp_path / "site", "other_lab", source, points)
    monkeypatch.syspath_prepend(tmp_path / "site")
    task = pg.make_task("slow-walker", num_envs=2)
    assert isinstance(task, MujocoTask)
    assert task.max_episode_steps == 50
    assert "slow-walker" in task_names()


def test_actions_are_called_after_their_joints():
    assert list(pg.make_task("hopper").anatomy.actions) == ["thigh_joint", "leg_joint", "foot_joint"]
    assert list(pg.make_task("gym:InvertedPendulum-v5").anatomy.actions) == ["action_0"]
