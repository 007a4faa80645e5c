"""A window on a screen: MuJoCo's own viewer, which shows a stage as it is posed."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from polygait.errors import UserError
from polygait.report.pictures.painters import survives
from polygait.report.pictures.scene import Stage

_PROBE = "import glfw, sys; sys.exit(0 if glfw.init() else 1)"
_PROBE_SECONDS = 60.0
_VIEW_SIZE = (640, 480)
_PATIENCE = 10.0


class NoScreenError(UserError):
    """There is nothing to show a window on."""


def require_screen(remedy: str) -> None:
    """Say what to do instead where no window can be opened."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise NoScreenError(
            "There is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set.",
            f"{remedy}, or log in with X forwarding: ssh -X.",
        )
    if not _opens(os.environ.get("DISPLAY"), os.environ.get("WAYLAND_DISPLAY")):
        raise NoScreenError(
            "No window can be opened on this screen.",
            f"{remedy}, or check DISPLAY ({os.environ.get('DISPLAY', 'not set')}) and its permissions.",
        )


@functools.cache
def _opens(*screen: str | None) -> bool:
    """Whether GLFW finds its way to a screen; tried in a process of its own, for it may crash."""
    del screen  # only the answer depends on it
    return survives(_PROBE, _PROBE_SECONDS)


class Window:
    """A stage in MuJoCo's viewer; the camera goes along and can be turned."""

    def __init__(self, robot: Any, remedy: str) -> None:
        require_screen(remedy)
        import mujoco.viewer

        self._stage = Stage(robot, _VIEW_SIZE)
        others = set(threading.enumerate())
        try:
            self._viewer = mujoco.viewer.launch_passive(
                self._stage.model, self._stage.data, show_left_ui=False, show_right_ui=False
            )
        except RuntimeError as error:  # on macOS windows belong to the main thread
            raise NoScreenError(
                f"MuJoCo's viewer does not start: {error}",
                "On macOS start with mjpython instead of python: mjpython -m polygait …",
            ) from error
        self._threads = set(threading.enumerate()) - others
        camera = self._stage.camera()
        with self._viewer.lock():
            self._viewer.cam.type = mujoco.mjtCamera.mjCAMERA_FREE
            self._viewer.cam.distance = camera.distance
            self._viewer.cam.azimuth, self._viewer.cam.elevation = camera.azimuth, camera.elevation

    @property
    def open(self) -> bool:
        """Whether nobody has closed it."""
        return self._viewer.is_running()

    def show(self, pose: np.ndarray, changed: Iterable[int] = ()) -> None:
        """The robot in a pose, with some of its geoms in red."""
        if not self.open:
            return
        with self._viewer.lock():
            self._stage.pose(pose, changed)
            self._viewer.cam.lookat[:] = self._stage.camera().lookat
        self._viewer.sync()

    def close(self) -> None:
        """Take it from the screen."""
        self._viewer.close()
        for thread in self._threads:  # who ends while it still draws is ended by the screen, with an error
            thread.join(_PATIENCE)
