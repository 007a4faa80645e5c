"""`polygait tasks --check`: what is right with a robot, and what is wrong."""

import json
from typing import Any

import mujoco
import numpy as np
import pytest
from tests.tasks.models import ARM, DOG, PLANAR, write_model

from polygait.errors import UserError
from polygait.tasks.check import PROBLEM, check_task
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.hopper import Hopper


def problems(name, **options):
    found = check_task(name, options)
    assert all(one.remedy for one in found if one.verdict == PROBLEM)
    return {one.topic: one.text for one in found if one.verdict == PROBLEM}


@pytest.mark.parametrize("text", [DOG, PLANAR], ids=["dog", "planar"])
def test_a_sound_model_has_no_problems(tmp_path, text):
    assert problems(write_model(tmp_path, text)) == {}


def test_a_robot_of_ours_has_no_problems():
    assert problems("hopper") == {}


@pytest.mark.parametrize(
    ("text", "options", "topic", "told"),
    [
        (ARM, {}, "made", "can go anywhere"),
        (DOG, {"feet": ["trunk"]}, "feet", "trunk never touched the floor"),
        (DOG, {"least_height": 5.0}, "rest", "begins unhealthy"),
        (DOG, {"reward": lambda motion: np.sqrt(-1 - motion.velocity**2)}, "numbers", "NaN"),
        (DOG, {"reward": lambda motion: np.ones(len(motion.velocity))}, "numbers", "never changes"),
        (DOG.replace('ctrlrange="-15 15"', ""), {"actions": "model"}, "actions", "no range of controls"),
        (PLANAR.replace('gear="50"', 'gear="0"'), {}, "actions", "whatever the action of hip is"),
    ],
    ids=["arm", "feet", "unhealthy", "nan", "constant", "unlimited", "idle"],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_each_problem_is_found(tmp_path, text, options, topic, told):
    assert told in problems(write_model(tmp_path, text), **options)[topic]


def test_the_command_tells_problems_and_fails(tmp_path, capsys):
    from polygait.commands.showing import tasks
    from polygait.config import TasksConfig

    model = write_model(tmp_path, DOG)
    tasks(model, options=TasksConfig(check=True))
    assert "no problems" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        tasks(model, options=TasksConfig(check=True, settings=("task.least_height=5.0",)), json=True)
    assert ended.value.code == 1
    assert PROBLEM in {one["verdict"] for one in json.loads(capsys.readouterr().out)}


def test_the_command_shows_and_writes_a_model(tmp_path, capsys):
    from polygait.commands.showing import tasks
    from polygait.config import TasksConfig

    model = write_model(tmp_path, DOG)
    tasks(model, options=TasksConfig(settings=("task.forward='-x'",)), json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["found"]["forward"] == "-x"
    assert told["actions"]["default"][1] == -0.8
    tasks(model, options=TasksConfig())
    assert "keyframe home" in capsys.readouterr().out
    tasks(model, options=TasksConfig(write=str(tmp_path / "my_dog.py")))
    assert "class Dog(Robot)" in (tmp_path / "my_dog.py").read_text()
    with pytest.raises(UserError, match="exclude each other"):
        tasks(model, options=TasksConfig(check=True, write="other.py"))
    with pytest.raises(UserError, match="no model file"):
        tasks("hopper", options=TasksConfig(write="other.py"))
    with pytest.raises(UserError, match="Not an option of a robot"):
        tasks(model, options=TasksConfig(settings=("ppo.epochs=3",)))


class Wrong(Hopper):
    """A Hopper with mistakes, one at a time."""

    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        self.answers = answers or {}

    def _answer(self, name, right):
        return self.answers[name](right) if name in self.answers else right

    def initial_state(self, model, generator):
        return self._answer("initial_state", super().initial_state(model, generator))

    def progress(self, physics):
        return self._answer("progress", super().progress(physics))

    def healthy(self, physics):
        return self._answer("healthy", super().healthy(physics))

    def reward(self, motion):
        return self._answer("reward", super().reward(motion))

    def observe(self, physics):
        return self._answer("observe", super().observe(physics))


@pytest.mark.parametrize(
    ("method", "mistake", "told"),
    [
        ("initial_state", lambda right: (right[0][1:], right[1]), "must give 6 finite positions"),
        ("initial_state", lambda right: right[0], "positions and velocities"),
        ("progress", lambda right: right[0], r"progress of hopper .* got shape \(\)"),
        ("healthy", lambda right: right.all(), r"healthy of hopper .* got shape \(\)"),
        ("healthy", lambda right: right * 1.0, "must give True or False, got float64"),
        ("reward", lambda right: right.sum(), r"reward of hopper .* got shape \(\)"),
        ("reward", lambda right: right[:, None], r"reward of hopper .* got shape \(2, 1\)"),
        ("observe", lambda right: right[:, 1:], r"observe of hopper .* got shape \(2, 10\)"),
        ("observe", lambda right: right[0], r"observe of hopper .* got shape \(11,\)"),
    ],
)
def test_wrong_answers_are_told_when_a_task_is_made(method, mistake, told):
    with pytest.raises(UserError, match=told):
        MujocoTask(Wrong({method: mistake}), num_threads=1)


def test_feet_and_floor_that_are_not_in_the_model_are_told():
    robot = Wrong()
    robot.feet = {"foot": "foot_goem"}
    with pytest.raises(UserError, match=r"geom of the foot 'foot' of hopper: 'foot_goem'\.\nDid you mean"):
        MujocoTask(robot, num_threads=1)
    robot = Wrong()
    robot.floor = "ground"
    with pytest.raises(UserError, match="floor of hopper: 'ground'"):
        MujocoTask(robot, num_threads=1)


def test_asking_a_robot_leaves_no_trace():
    """The state in which the robot was asked is not that of the first episode."""
    first, again = MujocoTask(Hopper(), num_threads=1), MujocoTask(Hopper(), num_threads=1)
    assert np.array_equal(first.physics.batch.state, again.physics.batch.state)
    assert isinstance(first.model, mujoco.MjModel)
