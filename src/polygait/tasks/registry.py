"""Tasks by name: polygait's own robots, third parties' by entry point, any Gymnasium environment."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any, cast

from polygait.errors import UserError, unknown_name
from polygait.registry import Registry, entry_points
from polygait.tasks.defaults import TaskDefaults
from polygait.tasks.model_robot import ModelRobot, is_model_file, robot_from_mjcf
from polygait.tasks.robot import Robot
from polygait.tasks.task import Task, Variations, check_limit, check_whole

ENTRY_POINTS = "polygait.tasks"
"""The group in which a package names its tasks: a Robot class, or a callable that makes a Task."""
ROBOTS: Registry[Robot] = Registry("task", Robot, "polygait.tasks.robots", ENTRY_POINTS)
"""Our own, one file each in robots/."""
BULLET = {"minitaur-bullet": "polygait.tasks.bullet:make_bullet_minitaur"}
"""Tasks that need PyBullet."""
GYM_PREFIX = "gym:"


def task_names() -> list[str]:
    """Every task that can be made here by name, apart from `gym:…`."""
    own = [*ROBOTS.own_names(), *(BULLET if importlib.util.find_spec("pybullet") else ())]
    return [*own, *(name for name in entry_points(ENTRY_POINTS) if name not in own)]


def make_task(
    name: str,
    num_envs: int = 1,
    seed: int = 0,
    variation: Variations = None,
    num_threads: int | None = None,
    **options: Any,
) -> Task:
    """Many copies of a robot: `make_task("walker", num_envs=64, variation="broken-foot")`.

    `variation` may be a list with one entry per environment. Options are the robot's own, such as
    `contact_forces=False` for the Ant, and `max_episode_steps`. A name such as `gym:HalfCheetah-v5`
    makes a Gymnasium environment; its options are handed to gymnasium.make. A name that ends in .xml or
    .mjcf is a model file; its options are those of robot_from_mjcf.
    """
    if not isinstance(name, str):
        raise UserError(
            f"A task is made by its name, got {name!r}.",
            f"Give one of {', '.join(task_names())}, or gym:ENV-ID; MujocoTask makes one of a Robot.",
        )
    check_whole("seed", seed)
    common = {"num_envs": num_envs, "seed": seed, "variation": variation}
    if name.startswith(GYM_PREFIX):
        from polygait.tasks.gym import GymTask

        return GymTask(name.removeprefix(GYM_PREFIX), **common, **options)
    if is_model_file(name):
        from polygait.tasks.mujoco import MujocoTask

        return MujocoTask(robot_from_mjcf(name, **options), **common, num_threads=num_threads)
    maker = _find(name)
    if isinstance(maker, type) and issubclass(maker, Robot):
        from polygait.tasks.mujoco import MujocoTask

        return MujocoTask(_robot(maker, options), **common, num_threads=num_threads)
    return cast(Callable[..., Task], maker)(**common, num_threads=num_threads, **options)


def task_defaults(name: str) -> TaskDefaults:
    """The numbers of a robot that a run begins with; none for Gymnasium's environments.

    Nor for a robot that is not known here: who makes its task is told so, its results can be read without it.
    """
    if is_model_file(name):
        return ModelRobot.defaults
    known = not name.startswith(GYM_PREFIX) and name in task_names()
    return getattr(_find(name), "defaults", TaskDefaults()) if known else TaskDefaults()


def _find(name: str) -> Callable[..., Any]:
    if name in ROBOTS.own_names():
        return ROBOTS.find(name)
    if name in BULLET:
        module, _, attribute = BULLET[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    if point := entry_points(ENTRY_POINTS).get(name):
        return point.load()
    raise unknown_name("task", name, [*task_names(), "gym:HalfCheetah-v5"])


def _robot(kind: type[Robot], options: dict[str, Any]) -> Robot:
    limit = options.pop("max_episode_steps", None)
    known = inspect.signature(kind).parameters
    for option in options:
        if option not in known:
            raise unknown_name(f"option of {kind.name}", option, [*known, "max_episode_steps"])
    robot = kind(**options)
    if limit is not None:
        check_limit(limit)
        robot.max_episode_steps = limit
    return robot
