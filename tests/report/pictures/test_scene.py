"""The stage: what is coloured, and where the camera sees it."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.wrappers import RescaleAction
from tests.report.conftest import robot_task

import polygait as pg
from polygait.errors import UserError
from polygait.report.feet import FOOT_COLOURS
from polygait.report.pictures.scene import (
    CHANGED,
    FIELD_OF_VIEW,
    TORSO,
    Stage,
    changed_geoms,
    drawable_twin,
    require_drawable,
    rgba,
    view,
)
from polygait.variations import parse_variation


def names(task, variation, moment=0):
    geoms = changed_geoms(task, parse_variation(variation, task.conditions), moment)
    return {task.model.geom(geom).name for geom in geoms}


@pytest.mark.parametrize(
    ("variation", "expected"),
    [
        ("nominal", set()),
        ("broken-foot", {"foot_geom"}),
        ("broken(leg_left_joint):limp", {"leg_left_geom"}),
        ("broken-foot:weak=0.4", {"foot_geom"}),
        ("damping(thigh_joint)=2", {"thigh_geom"}),
        ("foot-mass=1.5", {"foot_geom", "foot_left_geom"}),
        ("friction(foot_geom)=0.5", {"foot_geom"}),
        ("motor(leg_joint)", {"leg_geom"}),
        ("right-leg-sensor", set()),
        ("gravity=0.5", set()),
        ("delay=2", set()),
        ("broken-foot+motor(leg_joint)", {"foot_geom", "leg_geom"}),
    ],
)
def test_what_a_variation_changes_is_known_by_its_geoms(variation, expected):
    assert names(robot_task("walker"), variation) == expected


def test_a_part_is_changed_only_from_the_onset_on():
    task = robot_task("walker")
    assert names(task, "broken-foot@300+broken-leg", 299) == {"leg_geom"}
    assert names(task, "broken-foot@300+broken-leg", 300) == {"leg_geom", "foot_geom"}


def test_each_leg_has_the_colour_of_its_foot_and_a_changed_part_is_red():
    task = robot_task("walker")
    stage = Stage(task.robot, (64, 64))
    colour = {
        stage.model.geom(index).name: stage.model.geom_rgba[index] for index in range(stage.model.ngeom)
    }
    for part in ("thigh", "leg", "foot"):
        np.testing.assert_allclose(colour[f"{part}_geom"], rgba(FOOT_COLOURS[0]), atol=1e-6)
        np.testing.assert_allclose(colour[f"{part}_left_geom"], rgba(FOOT_COLOURS[1]), atol=1e-6)
    np.testing.assert_allclose(colour["torso_geom"], rgba(TORSO), atol=1e-6)
    foot = stage.model.geom("foot_geom").id
    assert stage.floor is not None
    stage.pose(stage.model.qpos0, [foot, stage.floor])
    np.testing.assert_allclose(stage.model.geom_rgba[foot], rgba(CHANGED), atol=1e-6)
    np.testing.assert_allclose(stage.model.geom_rgba[stage.floor], 1.0)  # the ground stays as it is
    stage.pose(stage.model.qpos0)
    np.testing.assert_allclose(stage.model.geom_rgba[foot], rgba(FOOT_COLOURS[0]), atol=1e-6)


@pytest.mark.parametrize("name", ["hopper", "walker", "ant", "minitaur"])
def test_the_look_leaves_the_mechanics(name):
    task = robot_task(name)
    stage = Stage(task.robot, (64, 64))
    data = mujoco.MjData(task.model)
    data.qpos[:] = task.physics.qpos[0]
    mujoco.mj_kinematics(task.model, data)
    stage.pose(task.physics.qpos[0])
    np.testing.assert_allclose(stage.data.geom_xpos[1:], data.geom_xpos[1:])
    assert [stage.model.geom(i).name for i in range(stage.model.ngeom)] == list(task.anatomy.geoms)


def test_points_are_where_the_camera_sees_them():
    stage = Stage(robot_task("walker").robot, (200, 100))
    camera = stage.camera()
    origin, axes = view(camera)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(camera.lookat - origin), camera.distance)
    right, up, _ = axes
    # At the distance of the middle, the picture's upper edge is distance · tan(half the angle) away.
    edge = camera.distance * np.tan(np.radians(FIELD_OF_VIEW / 2))
    points = [camera.lookat, camera.lookat + edge * up, camera.lookat + edge * right]
    np.testing.assert_allclose(stage.project(np.array(points)), [[100, 50], [100, 0], [150, 50]], atol=1e-6)


def test_the_camera_goes_along_but_does_not_rise():
    stage = Stage(robot_task("walker").robot, (64, 64))
    before = stage.camera()
    qpos = stage.model.qpos0.copy()
    qpos[:2] += (3.0, 0.4)
    stage.pose(qpos)
    np.testing.assert_allclose(stage.camera().lookat - before.lookat, [3.0, 0, 0], atol=1e-9)


def test_a_gymnasium_environment_is_refused_with_a_remedy_that_is_true():
    with pytest.raises(
        UserError, match="Pendulum-v1 cannot be drawn: it is a Gymnasium environment"
    ) as caught:
        require_drawable(pg.make_task("gym:Pendulum-v1"))
    assert "RescaleAction(env, -1, 1)" in caught.value.remedy
    # Wrapped like that, Gymnasium's environment takes the very actions that the task takes.
    task = pg.make_task("gym:Pendulum-v1")
    env = RescaleAction(gymnasium.make("Pendulum-v1"), -1, 1)  # type: ignore[arg-type]
    env.reset(seed=0)
    inner: Any = env.unwrapped
    task_inner: Any = task._envs[0].unwrapped  # type: ignore[attr-defined]
    task_inner.state = inner.state = np.array([0.3, 0.1])
    for action in (0.4, -0.8):
        expected = env.step(np.array([action], np.float32))[0]
        np.testing.assert_allclose(task.step(np.array([[action]])).observation[0], expected, rtol=1e-6)


def test_a_robot_of_another_simulator_is_drawn_by_its_twin():
    assert drawable_twin("minitaur-bullet") == "minitaur"
    assert drawable_twin("gym:Pendulum-v1") is None
