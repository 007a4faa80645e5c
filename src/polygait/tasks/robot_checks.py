"""What a robot's file must keep to, asked once when a task is made, so that mistakes have names."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from polygait.errors import UserError, unknown_name
from polygait.tasks.robot import Motion, Physics, Robot, foot_geoms

_ROWS = np.zeros(2, dtype=np.intp)  # two copies of the first robot: code for a single one does not fit


def check_parts(spec: mujoco.MjSpec, robot: Robot) -> None:
    """The feet and the floor must be geoms of the model."""
    geoms = {geom.name for geom in spec.geoms if geom.name}
    for foot, names in zip(robot.feet, foot_geoms(robot), strict=True):
        for name in names:
            if name not in geoms:
                raise unknown_name(f"geom of the foot {foot!r} of {robot.name}", name, geoms)
    if robot.feet and robot.floor not in geoms:
        raise unknown_name(f"floor of {robot.name}", robot.floor, geoms)


def check_start(model: mujoco.MjModel, robot: Robot, generator: np.random.Generator) -> None:
    """An episode must begin with a whole row of positions and velocities."""
    state = robot.initial_state(model, generator)
    sizes = {"positions": model.nq, "velocities": model.nv}
    if not isinstance(state, tuple) or len(state) != len(sizes):
        raise UserError(
            f"initial_state of {robot.name} must give positions and velocities, got {type(state).__name__}.",
            "Return qpos, qvel.",
        )
    for (name, size), values in zip(sizes.items(), state, strict=True):
        if np.shape(values) != (size,) or not np.isfinite(values).all():
            raise UserError(
                f"initial_state of {robot.name} must give {size} finite {name}, got {np.shape(values)}.",
                "Begin with model.qpos0 and np.zeros(model.nv), which have the right size.",
            )


def check_answers(robot: Robot, physics: Physics, num_actions: int) -> None:
    """Observation, reward, health and progress must have one row per environment."""
    few = physics.at(_ROWS)
    rows = len(_ROWS)
    with np.errstate(all="ignore"):
        progress, healthy = robot.progress(few), robot.healthy(few)
        observation = robot.observe(few)
        _expect(robot, "observe", observation, (rows, robot.layout.size), _LAYOUT_REMEDY)
        _expect(robot, "progress", progress, (rows,), _ROW_REMEDY)
        _expect(robot, "healthy", healthy, (rows,), _ROW_REMEDY)
        if np.asarray(healthy).dtype != bool:
            raise UserError(
                f"healthy of {robot.name} must give True or False, got {np.asarray(healthy).dtype}.",
                "Compare: return physics.qpos[:, 2] > 0.3.",
            )
        motion = Motion(np.zeros(rows), np.zeros((rows, num_actions)), healthy, np.array(observation))
        _expect(robot, "reward", robot.reward(motion), (rows,), _ROW_REMEDY)


_LAYOUT_REMEDY = "Name every number of the observation in `layout`, in its order."
_ROW_REMEDY = "It is written for all environments at once: one number each, as physics.qpos[:, 0] gives."


def _expect(robot: Robot, method: str, values: Any, shape: tuple[int, ...], remedy: str) -> None:
    if np.shape(values) != shape:
        meaning = "(environments, numbers of the layout)" if len(shape) == 2 else "(environments,)"
        raise UserError(
            f"{method} of {robot.name} must give an array of shape {shape}, {meaning}, for {shape[0]} "
            f"environments, got shape {np.shape(values)}.",
            remedy,
        )
