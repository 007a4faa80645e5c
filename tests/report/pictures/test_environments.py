"""Pictures of Gymnasium environments."""

import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tests.report.conftest import redness

from polygait.errors import UserError
from polygait.report.pictures.environments import RenderedEnv, RenderedVectorEnv
from polygait.tasks.registry import task_names


@pytest.fixture(autouse=True)
def without_opengl(monkeypatch):
    """Draw with rays: looking for OpenGL takes seconds."""
    monkeypatch.setenv("MUJOCO_GL", "disable")


def made_as_stable_baselines3_does(identifier):
    """Its make_vec_env asks for pictures, and does without where that is a TypeError."""
    try:
        return gymnasium.make(identifier, render_mode="rgb_array")
    except TypeError:
        return gymnasium.make(identifier)


def test_a_picture_shows_the_robot_as_it_stands_and_its_damage_in_red():
    env = gymnasium.make(
        "polygait/Walker-v0", render_mode="rgb_array", width=64, height=80, variation="broken-foot@2"
    )
    env.reset(seed=0)
    start = env.render()
    assert isinstance(start, np.ndarray)
    assert start.shape == (80, 64, 3) and start.dtype == np.uint8
    assert not redness(start).any()
    for _ in range(8):
        env.step(np.ones(6, np.float32))
    later = env.render()
    assert isinstance(later, np.ndarray)
    assert redness(later).any()
    assert (start != later).mean() > 0.01
    env.reset(seed=0)
    np.testing.assert_array_equal(env.render(), start)
    env.close()


def test_every_robot_of_a_vector_has_its_picture():
    env = gymnasium.make_vec(
        "polygait/Hopper-v0",
        num_envs=2,
        render_mode="rgb_array",
        width=48,
        height=64,
        variation=[None, "motor(*)"],
    )
    assert env.metadata["render_fps"] == 125
    env.reset(seed=0)
    pictures = env.render()
    assert pictures is not None
    assert [np.shape(one) for one in pictures] == [(64, 48, 3)] * 2
    assert [redness(np.asarray(one)).any() for one in pictures] == [False, True]
    env.close()


def test_an_environment_with_pictures_passes_gymnasiums_checker():
    with pytest.warns(UserWarning, match="A Box observation space"):
        made = gymnasium.make("polygait/Hopper-v0", render_mode="rgb_array", width=32, height=32)
        made.unwrapped.metadata["render_modes"] = ["rgb_array"]  # the checker would open a window too
        check_env(made.unwrapped)


def test_stable_baselines3_gets_an_environment_with_pictures_where_there_are_any():
    env = made_as_stable_baselines3_does("polygait/Walker-v0")
    assert env.render_mode == "rgb_array"
    assert env.reset(seed=0)[0].shape == (17,)


@pytest.mark.skipif("minitaur-bullet" not in task_names(), reason="needs PyBullet")
def test_stable_baselines3_gets_an_environment_without_pictures_where_there_are_none():
    env = made_as_stable_baselines3_does("polygait/MinitaurBullet-v0")
    assert env.render_mode is None
    assert env.metadata["render_modes"] == []
    with pytest.raises(TypeError, match="minitaur-bullet cannot be drawn"):
        RenderedVectorEnv("minitaur-bullet", render_mode="rgb_array")


def test_nothing_is_drawn_that_was_not_asked_for():
    env = RenderedEnv("hopper")
    with pytest.warns(UserWarning, match="no pictures"):
        assert env.render() is None


@pytest.mark.parametrize("size", [{"width": 8}, {"height": 10**6}, {"width": "64"}, {"height": 64.0}])
def test_impossible_sizes_are_explained(size, unchecked_annotations):
    with pytest.raises(UserError, match="16 to 4096"):
        RenderedEnv("hopper", render_mode="rgb_array", **size)


@pytest.mark.slow
def test_gymnasium_finds_robots_by_itself():
    """With Gymnasium's prefix for the module nothing of ours need be imported."""
    code = """
import gymnasium
env = gymnasium.make("polygait:polygait/Hopper-v0", render_mode="rgb_array", width=64, height=64)
print(type(env.unwrapped).__module__, env.metadata["render_modes"])
"""
    environment = os.environ | {"MUJOCO_GL": "disable"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split(maxsplit=1) == [
        "polygait.report.pictures.environments",
        "['human', 'rgb_array']\n",
    ]


@pytest.mark.slow
def test_record_video_gets_its_frames(tmp_path):
    pytest.importorskip("moviepy")
    env = gymnasium.make("polygait/Hopper-v0", render_mode="rgb_array", width=64, height=64)
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "films"), episode_trigger=lambda _: True)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    assert len(env.recorded_frames) == 6
    env.close()
    assert [path.suffix for path in (tmp_path / "films").iterdir()] == [".mp4"]
