"""Pictures by OpenGL without a screen: EGL, or OSMesa on machines that have only that."""

from __future__ import annotations

import importlib
import os

import mujoco
import numpy as np

from polygait.report.pictures.scene import Stage


class OpenGLPainter:
    """Draws a stage with MuJoCo's own renderer."""

    def __init__(self, stage: Stage, platform: str) -> None:
        self.name = platform
        self._stage = stage
        width, height = stage.size
        os.environ["MUJOCO_GL"] = platform  # MuJoCo's library reads it when the context is made
        self._window = importlib.import_module(f"mujoco.{platform}").GLContext(width, height)
        self._window.make_current()
        self._context = mujoco.MjrContext(stage.model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = mujoco.MjvScene(stage.model, maxgeom=2 * stage.model.ngeom + 100)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._options = mujoco.MjvOption()
        self._rectangle = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.zeros((height, width, 3), dtype=np.uint8)

    def paint(self) -> np.ndarray:
        """The stage as its camera sees it, (height, width, 3) in 0…255."""
        self._window.make_current()
        wanted, camera = self._stage.camera(), mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.lookat[:] = wanted.lookat
        camera.distance, camera.azimuth, camera.elevation = wanted.distance, wanted.azimuth, wanted.elevation
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._stage.model, self._stage.data, self._options, None, camera, everything, self._scene
        )
        mujoco.mjr_render(self._rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._rectangle, self._context)
        return self._pixels[::-1].copy()

    def close(self) -> None:
        """Give the context back."""
        self._context.free()
        self._window.free()
