"""MuJoCo's warnings: where they go, and what they tell."""

import logging

import mujoco
import numpy as np
import pytest

from polygait.tasks.divergence import broke_down, divert_warnings


@pytest.fixture
def diverted(tmp_path, monkeypatch):
    """A process in which no task was made before, in an empty folder."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(None)
    monkeypatch.chdir(tmp_path)
    divert_warnings()
    yield tmp_path
    mujoco.set_mju_user_warning(before)


def falling_body() -> tuple[mujoco.MjModel, mujoco.MjData]:
    body = "<body><freejoint/><geom size='0.1'/></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    return model, mujoco.MjData(model)


def test_a_diverged_simulation_is_known_until_its_reset_and_writes_no_file(diverted, caplog):
    model, data = falling_body()
    mujoco.mj_step(model, data)
    assert not broke_down(data)
    data.qvel[0] = np.nan
    with caplog.at_level(logging.DEBUG):
        mujoco.mj_step(model, data)
    assert broke_down(data)
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    mujoco.mj_resetData(model, data)
    assert not broke_down(data)
    assert list(diverted.iterdir()) == []


def test_what_every_copy_of_a_robot_would_say_is_said_once(diverted, caplog):
    text = "<mujoco><compiler settotalmass='2'/><worldbody><geom size='1'/></worldbody></mujoco>"
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            mujoco.MjModel.from_xml_string(text)
    assert len(caplog.records) == 1 and "settotalmass" in caplog.text
    assert list(diverted.iterdir()) == []


def test_what_is_no_simulation_of_mujocos_has_not_broken_down():
    assert not broke_down(None) and not broke_down(object())
