"""Pictures by rays: recognisable, and alike to OpenGL's."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.report.conftest import redness, robot_task

from polygait.report.feet import FOOT_COLOURS
from polygait.report.pictures import rays
from polygait.report.pictures.painters import works
from polygait.report.pictures.rays import RayPainter
from polygait.report.pictures.scene import CHANGED, FLOOR, SQUARE, Stage, rgba
from polygait.tasks.robots.walker import Walker

SIZE = (160, 120)
PACKAGES = {"egl": "libegl1 libgl1", "osmesa": "libosmesa6"}


def all_red(name):
    """A robot at its start, all of it red: nothing else in the picture is."""
    task = robot_task(name)
    stage = Stage(task.robot, SIZE)
    stage.pose(task.physics.qpos[0], range(stage.model.ngeom))
    return stage


NAMES = ["hopper", "walker", "ant", "minitaur"]
PAINT = """
import sys
import numpy as np
from polygait.report.pictures.opengl import OpenGLPainter
from tests.report.pictures.test_rays import NAMES, all_red
painters = {name: OpenGLPainter(all_red(name), sys.argv[1]) for name in NAMES}
np.savez(sys.argv[2], **{name: painter.paint() for name, painter in painters.items()})
for painter in painters.values():
    painter.close()
"""


@pytest.fixture(scope="module", params=["egl", pytest.param("osmesa", marks=pytest.mark.slow)])
def painted(request, tmp_path_factory):
    """Every robot by one OpenGL, in a process of its own: a process can use only one."""
    platform = request.param
    if not works(platform):
        pytest.skip(f"{platform} does not work here (Debian: apt install {PACKAGES[platform]})")
    path = tmp_path_factory.mktemp(platform) / "pictures.npz"
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", PAINT, platform, str(path)], check=True, env=here)
    return np.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_silhouette_is_that_of_opengl(name, painted, record_property):
    expected = redness(painted[name])
    found = redness(RayPainter(all_red(name)).paint())
    assert expected.mean() > 0.01
    overlap = (found & expected).sum() / (found | expected).sum()
    record_property("overlap", float(overlap))
    assert overlap >= 0.8, overlap


def test_parts_are_where_they_are_projected_in_their_colours():
    stage = Stage(robot_task("walker").robot, SIZE)
    qpos = stage.model.qpos0.copy()
    qpos[6] = -1.0  # the left thigh lifted, so that the right leg is seen
    stage.pose(qpos, [stage.model.geom("foot_geom").id])
    picture = RayPainter(stage).paint()
    expected = {"thigh_geom": FOOT_COLOURS[0], "leg_left_geom": FOOT_COLOURS[1], "foot_geom": CHANGED}
    for geom, colour in expected.items():
        ((x, y),) = stage.project(stage.data.geom_xpos[[stage.model.geom(geom).id]])
        seen, wanted = picture[int(y), int(x)].astype(float), rgba(colour)[:3]
        assert seen @ wanted / np.linalg.norm(seen) / np.linalg.norm(wanted) > 0.97, geom


def test_the_sky_is_brighter_than_the_ground_and_the_robot_has_a_shadow():
    picture = RayPainter(all_red("ant")).paint()
    assert picture[:3, :20].mean() > picture[-20:, :20].mean()
    shadow = (picture.max(axis=2) < 255 * rgba(FLOOR[1])[:3].min() * 0.9) & ~redness(picture)
    assert 0.005 < shadow.mean() < 0.2


def test_away_from_edges_one_ray_tells_what_four_would(monkeypatch):
    """The picture is that of four rays in every pixel, at half the rays or fewer."""
    cast, sent = RayPainter._cast, []

    def counted(self, origin, rays):
        sent.append(rays.size // 3)
        return cast(self, origin, rays)

    monkeypatch.setattr(RayPainter, "_cast", counted)
    stage = all_red("ant")
    few = RayPainter(stage).paint().astype(int)
    frugal = sum(sent)
    sent.clear()
    monkeypatch.setattr(rays, "_edges", lambda hits: np.ones(hits.geom.shape, dtype=bool))
    many = RayPainter(stage).paint().astype(int)
    assert frugal < sum(sent) / 2
    difference = np.abs(few - many).max(axis=2)
    assert difference.mean() < 0.5 and (difference > 30).mean() < 1e-3


def test_shapes_for_collisions_are_not_drawn():
    class Armoured(Walker):
        """A ball around the torso, in the group where models keep what only collides."""

        def spec(self):
            spec = super().spec()
            spec.body("torso").add_geom(name="armour", size=[0.5, 0, 0], group=3)
            return spec

    stage, plain = (Stage(robot, SIZE) for robot in (Armoured(), Walker()))
    for one in (stage, plain):
        one.pose(one.model.qpos0, range(one.model.ngeom))
    shown, expected = (redness(RayPainter(one).paint()).sum() for one in (stage, plain))
    assert 0 < shown <= expected * 1.01  # the camera stands a little farther off


def test_the_ground_moves_by_when_the_robot_goes_on():
    stage = Stage(robot_task("walker").robot, SIZE)
    painter = RayPainter(stage)
    pictures = []
    for squares in (0, 1, 2):
        stage.pose(stage.model.qpos0 + SQUARE * squares * np.eye(stage.model.nq)[0])
        pictures.append(painter.paint().astype(int))
    assert np.abs(pictures[1] - pictures[0]).max() > 5
    assert np.abs(pictures[2] - pictures[0]).mean() < 0.5  # two squares on, the pattern is the same


def test_a_robot_without_a_floor_stands_before_the_sky():
    robot = robot_task("walker").robot
    robot.floor = "no such geom"
    stage = Stage(robot, SIZE)
    assert stage.floor is None and RayPainter(stage).paint().shape == (120, 160, 3)
