"""Names for what Gymnasium's environments show, and what they reach."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from tests import tiny

import polygait as pg
from polygait.report.pictures.scene import is_drawable
from polygait.tasks.gym import GymTask


class Keyed(gymnasium.Env):
    """Shows a Dict of numbers that tell which they are."""

    observation_space = Dict(
        {"arm": Dict({"angle": Box(-9, 9, (2,)), "load": Box(-9, 9, (1,))}), "mode": Discrete(3)}
    )
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        shown = {"angle": np.array([1.0, 2.0], np.float32), "load": np.array([3.0], np.float32)}
        return {"arm": shown, "mode": 1}, {}

    def step(self, action):
        return self.reset()[0], 0.0, False, False, {}


def test_dict_spaces_keep_their_keys():
    task = GymTask(Keyed)
    shown = dict(zip(task.layout.names, task.reset()[0].tolist(), strict=True))
    assert shown == {"arm.angle.0": 1, "arm.angle.1": 2, "arm.load": 3, "mode.0": 0, "mode.1": 1, "mode.2": 0}


@pytest.mark.parametrize("name", ["HalfCheetah-v5", "Humanoid-v5"])
def test_names_of_a_mujoco_environment_are_those_of_its_model(name):
    task = pg.make_task(f"gym:{name}")
    assert isinstance(task, GymTask)
    assert task.model is not None
    data = task.env.unwrapped.data  # pyright: ignore[reportAttributeAccessIssue]
    task.step(np.full((1, task.action_size), 0.3))
    shown = dict(
        zip(task.layout.names, task.step(np.zeros((1, task.action_size))).observation[0], strict=True)
    )
    joint = {"HalfCheetah-v5": "bthigh", "Humanoid-v5": "left_knee"}[name]
    assert shown[f"{joint}.position"] == data.joint(joint).qpos[0]
    assert shown[f"{joint}.velocity"] == pytest.approx(data.joint(joint).qvel[0])
    if name == "Humanoid-v5":
        assert shown["root.orientation.w"] == data.qpos[3]
        assert shown["torso.cvel.angular_x"] == data.body("torso").cvel[0]


def test_names_by_the_environment_itself():
    class Named(Keyed):
        observation_names = ("a", "b", "c", "d", "e", "f")

    assert GymTask(Named).layout.names == Named.observation_names


def test_a_layout_of_a_file_reaches_training_resume_and_adaptation(tmp_path):
    file = tmp_path / "names.toml"
    file.write_text('"angle" = ["cos", "sin"]\n"speed" = ["turning"]\n')
    run = tiny.train(
        tmp_path / "run", task="gym:Pendulum-v1", layout=str(file), remove=("speed",), members=1, iterations=1
    ).path
    file.unlink()
    assert pg.load(run).layout.names == ("angle.cos", "angle.sin", "speed.turning")
    assert pg.load(run).filter.kept_names == ("angle.cos", "angle.sin")
    assert pg.adapt(run, "sensor(angle.cos)", episodes=1, held_out=0).best == 0
    assert len(pg.extend(run, 1)) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[torso]\nposition = ['x']", "torso is a table"),
        ("'a' = 3", "parts with lists of names"),
        ("'a' = ['x']", "names 1 numbers, the observation has 3"),
        ("=", "is not TOML"),
    ],
)
@pytest.mark.usefixtures("unchecked_annotations")
def test_mistakes_in_a_layouts_file_are_explained(tmp_path, text, words):
    (tmp_path / "names.toml").write_text(text)
    with pytest.raises(pg.UserError, match=words):
        pg.make_task("gym:Pendulum-v1", layout=str(tmp_path / "names.toml"))


def test_a_layout_is_for_gymnasium_only(tmp_path):
    with pytest.raises(pg.UserError, match="layout names what a gym:ENV-ID shows"):
        tiny.train(tmp_path / "run", task="hopper", layout=("a", "b"))


def test_dir_without_a_filter_is_refused_and_says_what_to_name(tmp_path):
    with pytest.raises(pg.UserError, match="gym:Pendulum-v1 names none") as caught:
        tiny.train(tmp_path / "run", task="gym:Pendulum-v1")
    assert "remove" in caught.value.remedy
    assert not (tmp_path / "run").exists()
    assert len(tiny.train(tmp_path / "run", task="gym:Pendulum-v1", remove=(), iterations=1)) == 2


def test_mujoco_environments_can_be_drawn_and_others_not():
    assert is_drawable(pg.make_task("gym:HalfCheetah-v5"))
    assert not is_drawable(pg.make_task("gym:Pendulum-v1"))


def test_what_gymnasium_warns_of_is_told_once(monkeypatch):
    from polygait.tasks import gym

    monkeypatch.setattr(gym, "_told", set())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pg.make_task("gym:InvertedPendulum-v4", num_envs=5)
        pg.make_task("gym:InvertedPendulum-v4", num_envs=5)
    old = [str(one.message) for one in said if "out of date" in str(one.message)]
    assert len(old) == 1
    assert old[0].startswith("The environment")
