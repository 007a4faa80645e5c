"""The environments that Gymnasium knows: those of tasks/vector_env.py, with pictures."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np

from polygait.errors import UserError
from polygait.report.pictures.painters import Painter, make_painter
from polygait.report.pictures.scene import Stage, changed_geoms, is_drawable, require_drawable
from polygait.report.pictures.window import Window
from polygait.tasks.task import Task
from polygait.tasks.vector_env import RenderModeError, TaskEnv, TaskVectorEnv

_DRAWN: dict[str, Any] = {"render_modes": ["rgb_array"]}
_SHOWN: dict[str, Any] = {"render_modes": ["human", "rgb_array"]}


class RenderedEnv(TaskEnv):
    """One copy of a Task; `render_mode`, `width` and `height` are those of Gymnasium's own robots.

    `human` shows it in MuJoCo's viewer, in the speed of life.
    """

    metadata = _SHOWN

    def __init__(self, task: str, width: int = 480, height: int = 480, **options: Any) -> None:
        super().__init__(task, **options)
        self._renderer = None if self.render_mode is None else Renderer(self.task, (width, height))
        self.metadata = self.metadata | _pictures(self.task)

    def render(self) -> np.ndarray | None:
        """The robot as it stands, (height, width, 3) in 0…255; what its variation has changed is red.

        With `human`, nothing: every step shows itself.
        """
        if self._renderer is None:
            return _nothing()
        return None if self.render_mode == "human" else self._renderer.picture(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new episode."""
        begun = super().reset(seed=seed, options=options)
        self._show()
        return begun

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act once."""
        made = super().step(action)
        self._show()
        return made

    def _show(self) -> None:
        if self._renderer is not None and self.render_mode == "human":
            self._renderer.show()

    def close(self) -> None:
        """Give back what drawing holds."""
        if self._renderer:
            self._renderer.close()


class RenderedVectorEnv(TaskVectorEnv):
    """Many copies of a Task; `render` gives one picture of each."""

    metadata = _DRAWN

    def __init__(self, task: str | Task, width: int = 480, height: int = 480, **options: Any) -> None:
        super().__init__(task, **options)
        self._renderer = None if self.render_mode is None else Renderer(self.task, (width, height))
        self.metadata = self.metadata | _pictures(self.task)

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Every robot as it stands, each (height, width, 3) in 0…255."""
        if self._renderer is None:
            return _nothing()
        return tuple(self._renderer.picture(row) for row in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Give back what drawing holds."""
        if self._renderer:
            self._renderer.close()


class Renderer:
    """Draws a task's environments as they stand.

    Nothing is set up before the first picture: many ask for pictures that they never look at.
    """

    def __init__(self, task: Task, size: tuple[int, int]) -> None:
        try:
            self._task = require_drawable(task)
        except UserError as error:
            raise RenderModeError(error.problem, "Leave render_mode out.") from None
        if not all(isinstance(side, int) and 16 <= side <= 4096 for side in size):
            raise UserError(
                f"A picture cannot have the size {size[0]!r} × {size[1]!r}.",
                "Give whole numbers from 16 to 4096 as width and height.",
            )
        self._size = size
        self._stage: Stage | None = None
        self._painter: Painter | None = None
        self._window: Window | None = None
        self._due = 0.0

    def picture(self, row: int) -> np.ndarray:
        """One environment's robot, (height, width, 3) in 0…255."""
        task = self._task
        if self._stage is None or self._painter is None:
            self._stage = Stage(task.body, self._size)
            self._painter = make_painter(self._stage)
        changed = changed_geoms(task, task.variations[row], int(task.step_count[row]))
        self._stage.pose(task.poses[row], changed)
        return self._painter.paint()

    def show(self) -> None:
        """The first environment's robot on the screen, not faster than in life."""
        task = self._task
        if self._window is None:
            self._window = Window(task.body, 'Use render_mode="rgb_array"')
        changed = changed_geoms(task, task.variations[0], int(task.step_count[0]))
        self._window.show(task.poses[0], changed)
        self._due = max(self._due + (task.time_step or 0.0), time.monotonic() - 1.0)
        time.sleep(max(0.0, self._due - time.monotonic()))

    def close(self) -> None:
        """Give back what drawing holds; the next picture sets it up anew."""
        if self._window is not None:
            self._window.close()
        if self._painter is not None:
            self._painter.close()
        self._stage = self._painter = self._window = None


def _pictures(task: Task) -> dict[str, Any]:
    """Whether there are pictures, and how many make a second: one per step (for Gymnasium's RecordVideo)."""
    if not is_drawable(task):
        return {"render_modes": []}
    return {"render_fps": round(1 / (task.time_step or 1.0))}


def _nothing() -> None:
    gymnasium.logger.warn(
        'There are no pictures: make the environment with render_mode="rgb_array" or "human".'
    )
