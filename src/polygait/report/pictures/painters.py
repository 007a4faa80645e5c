"""Who draws: OpenGL by EGL, else by OSMesa, else rays, which every machine can cast."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Protocol, get_args, runtime_checkable

import numpy as np

from polygait.config.showing import Renderer
from polygait.errors import UserError, unknown_name
from polygait.report.pictures.opengl import OpenGLPainter
from polygait.report.pictures.rays import RayPainter
from polygait.report.pictures.scene import Stage

RENDERERS = get_args(Renderer)
LIBRARIES = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}
_PROBE = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><light/><geom size='1'/></worldbody></mujoco>")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, 16, 16)
renderer.update_scene(data)
assert renderer.render().any()
renderer.close()
"""
_PROBE_SECONDS = 60.0


@runtime_checkable
class Painter(Protocol):
    """Draws one stage, as often as asked."""

    name: str

    def paint(self) -> np.ndarray:
        """The stage as its camera sees it, (height, width, 3) in 0…255."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


def make_painter(stage: Stage, renderer: str = "auto") -> Painter:
    """The renderer wished for, or the best that works on this machine."""
    if renderer not in RENDERERS:
        raise unknown_name("renderer", renderer, RENDERERS)
    wished = renderer != "auto"
    if wished and renderer != "rays" and not works(renderer):
        raise UserError(
            f"{renderer} does not work here.", "Leave --renderer out: rays need no system package."
        )
    name = renderer if wished else best_renderer()
    return RayPainter(stage) if name == "rays" else OpenGLPainter(stage, name)


def best_renderer() -> str:
    """EGL → OSMesa → rays; whoever sets MUJOCO_GL has a say."""
    asked = os.environ.get("MUJOCO_GL", "").lower()
    candidates = [name for name in LIBRARIES if asked in ("", name)]
    return next((name for name in candidates if works(name)), "rays")


@functools.cache
def works(platform: str) -> bool:
    """Whether OpenGL draws something on this platform; tried in a process of its own, for it may crash."""
    try:
        ctypes.CDLL(LIBRARIES[platform])
    except OSError:
        return False
    return survives(_PROBE, _PROBE_SECONDS, {"MUJOCO_GL": platform, "PYOPENGL_PLATFORM": platform})


def survives(code: str, seconds: float, environment: Mapping[str, str] | None = None) -> bool:
    """Whether code ends well and in time; tried in a process of its own, for it may crash."""
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env=os.environ | dict(environment or {}),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def drawn_by(name: str) -> str:
    """How a picture was made, in words."""
    if name == "rays":
        return "drawn with rays" + (
            ", for neither EGL nor OSMesa works here" if best_renderer() == "rays" else ""
        )
    return f"drawn by {({'egl': 'EGL', 'osmesa': 'OSMesa'})[name]}"
