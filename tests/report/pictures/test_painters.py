"""Who draws: the best renderer that works, and clear words when a wished one does not."""

import pytest
from tests.report.conftest import robot_task

from polygait.errors import UserError
from polygait.report.pictures import painters
from polygait.report.pictures.painters import best_renderer, drawn_by, make_painter, works
from polygait.report.pictures.scene import Stage


@pytest.fixture
def working(monkeypatch):
    """Pretend that only these platforms work."""

    def only(*platforms):
        monkeypatch.delenv("MUJOCO_GL", raising=False)
        monkeypatch.setattr(painters, "works", lambda platform: platform in platforms)

    return only


@pytest.mark.parametrize(
    ("platforms", "expected"),
    [(("egl", "osmesa"), "egl"), (("osmesa",), "osmesa"), ((), "rays")],
)
def test_egl_then_osmesa_then_rays(working, platforms, expected):
    working(*platforms)
    assert best_renderer() == expected


@pytest.mark.parametrize(("asked", "expected"), [("osmesa", "osmesa"), ("disable", "rays"), ("egl", "egl")])
def test_mujoco_gl_has_a_say(working, monkeypatch, asked, expected):
    working("egl", "osmesa")
    assert drawn_by("rays") == "drawn with rays"  # as wished
    monkeypatch.setenv("MUJOCO_GL", asked)
    assert best_renderer() == expected


def test_a_machine_without_opengl_draws_with_rays(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(painters, "LIBRARIES", {"egl": "libNoSuchEGL.so", "osmesa": "libNoSuchMesa.so"})
    works.cache_clear()
    try:
        painter = make_painter(Stage(robot_task("hopper").robot, (32, 32)))
        assert painter.name == "rays" and painter.paint().shape == (32, 32, 3)
        assert "neither EGL nor OSMesa" in drawn_by("rays") and drawn_by("egl") == "drawn by EGL"
    finally:
        works.cache_clear()


def test_a_platform_that_crashes_does_not_work(monkeypatch):
    monkeypatch.setattr(painters, "LIBRARIES", {"egl": "libc.so.6"})
    monkeypatch.setattr(painters, "_PROBE", "import os; os.abort()")
    works.cache_clear()
    try:
        assert not works("egl")
    finally:
        works.cache_clear()


def test_a_wish_that_cannot_be_met_is_explained(working):
    working()
    stage = Stage(robot_task("hopper").robot, (32, 32))
    with pytest.raises(UserError, match="egl does not work here"):
        make_painter(stage, "egl")
    with pytest.raises(UserError, match="Did you mean 'rays'"):
        make_painter(stage, "ray")
