"""Tasks by name: polygait's own robots, others' by entry point or file, any Gymnasium environment."""

from __future__ import annotations

import copy
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
from polygait.tasks.references import Maker, known, load_reference, not_known, parse_reference, remember
from polygait.tasks.robot import Robot
from polygait.tasks.task import Task, Variations, check_limit, check_whole

ENTRY_POINTS = "polygait.tasks"
"""The group in which a package names its tasks: a Robot class, or a callable that makes a Task."""
ROBOTS: Registry[Robot] = Registry("task", Robot, "polygait.tasks.robots", ENTRY_POINTS)
"""Our own, one file each in robots/."""
BULLET = {"minitaur-bullet": "polygait.tasks.bullet:make_bullet_minitaur"}
"""Tasks that need PyBullet."""
GYM_PREFIX = "gym:"
_COMMON = {"num_envs": 1, "seed": 0, "variation": None, "num_threads": None}
_ATTRIBUTES = ("name", "layout", "frame_skip", "feet", "conditions", "removed")
"""What every robot says about itself."""
_gym_named: set[str] = set()
"""Gymnasium's environments that a user has named: `gym:module:ENV-ID` imports the module."""


def task_names() -> list[str]:
    """Every task that can be made here by name, apart from `gym:…`."""
    own = [*ROBOTS.own_names(), *(BULLET if importlib.util.find_spec("pybullet") else ())]
    return [*own, *(name for name in entry_points(ENTRY_POINTS) if name not in own)]


def make_task(
    task: str | type[Robot] | Robot,
    num_envs: int = 1,
    seed: int = 0,
    variation: Variations = None,
    num_threads: int | None = None,
    **options: Any,
) -> Task:
    """Many copies of a robot: `make_task("walker", num_envs=64, variation="broken-foot")`.

    A task is a name, a Robot, a subclass of Robot, or where one is: `my_robot.py:MyRobot`, whose code is run,
    or `package.module:MyRobot`. `variation` may be a list with one entry per environment. Options are the
    robot's own, such as `contact_forces=False` for the Ant, and `max_episode_steps`. A name such as
    `gym:HalfCheetah-v5` makes a Gymnasium environment; its options are handed to gymnasium.make. A name that
    ends in .xml or .mjcf is a model file; its options are those of robot_from_mjcf.
    """
    if isinstance(task, str):
        task = name_task(task)
    common = {"num_envs": num_envs, "seed": seed, "variation": variation, "num_threads": num_threads}
    return _made(task, common, options)


def remake_task(name: str, source: str = "", **options: Any) -> Task:
    """A task by the name that a run remembers: no code is imported that nobody has named or imported before.

    `source` is where the run says that the robot's file was.
    """
    common = {one: options.pop(one, usual) for one, usual in _COMMON.items()}
    outside = parse_reference(name) is not None or name.removeprefix(GYM_PREFIX).find(":") >= 0
    if outside and name not in _gym_named and known(name) is None:
        raise _gym_module(name) if name.startswith(GYM_PREFIX) else not_known(name, source)
    return _made(name, common, options)


def name_task(name: str) -> str:
    """Take what a user has named, and run its code if it is a file or module; its full name."""
    if reference := parse_reference(name):
        return str(load_reference(reference))
    if name.startswith(GYM_PREFIX):
        _gym_named.add(name)
    return name


def is_outside(name: str) -> bool:
    """Whether a task's code is neither polygait's nor Gymnasium's."""
    return not (name.startswith(GYM_PREFIX) or name in BULLET or name in ROBOTS.own_names())


def task_name(task: Any) -> str:
    """The name under which a run remembers a task that a user has given."""
    if isinstance(task, str):
        return task
    kind = type(task) if isinstance(task, Robot) else task
    if not (isinstance(kind, type) and issubclass(kind, Robot)):
        raise UserError(
            f"A task is a name, a Robot or a subclass of Robot, got {task!r}.",
            f"Give one of {', '.join(task_names())}, gym:ENV-ID, or my_robot.py:MyRobot.",
        )
    called = getattr(kind, "name", "")
    if called in task_names() and _find(called) is kind:
        return called
    return remember(kind)


def _made(task: str | type[Robot] | Robot, common: dict[str, Any], options: dict[str, Any]) -> Task:
    check_whole("seed", common["seed"])
    if isinstance(task, str) and task.startswith(GYM_PREFIX):
        from polygait.tasks.gym import GymTask

        shared = {name: value for name, value in common.items() if name != "num_threads"}
        return GymTask(task.removeprefix(GYM_PREFIX), **shared, **options)
    if isinstance(task, str) and is_model_file(task):
        from polygait.tasks.mujoco import MujocoTask

        return MujocoTask(robot_from_mjcf(task, **options), **common)
    if not isinstance(task, str):
        task_name(task)  # refuses what is no robot
    maker = _find(task) if isinstance(task, str) else task
    if isinstance(maker, Robot) or (isinstance(maker, type) and issubclass(maker, Robot)):
        from polygait.tasks.mujoco import MujocoTask

        return MujocoTask(_robot(maker, options), **common)
    return cast(Callable[..., Task], maker)(**common, **options)


def task_defaults(name: str) -> TaskDefaults:
    """The numbers of a robot that a run begins with; none for Gymnasium's environments.

    Nor for a robot that is not known here: who makes its task is told so, its results can be read without it.
    """
    if is_model_file(name):
        return ModelRobot.defaults
    found = _find(name) if name in task_names() else known(name)
    return getattr(found, "defaults", TaskDefaults())


def _find(name: str) -> Maker:
    if name in ROBOTS.own_names():
        return ROBOTS.find(name)
    if name in BULLET:
        module, _, attribute = BULLET[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    if point := entry_points(ENTRY_POINTS).get(name):
        return point.load()
    if found := known(name):
        return found
    raise unknown_name("task", name, [*task_names(), "gym:HalfCheetah-v5"])


def _robot(maker: type[Robot] | Robot, options: dict[str, Any]) -> Robot:
    limit = options.pop("max_episode_steps", None)
    if isinstance(maker, Robot):
        if options:
            raise UserError(
                f"{', '.join(options)}: {maker.name} is made already.",
                "Give its class, or make it with them.",
            )
        robot = copy.copy(maker)
    else:
        if lacking := sorted(maker.__abstractmethods__):
            raise _incomplete(maker, [f"{name}()" for name in lacking])
        taken = inspect.signature(maker).parameters
        for option in options:
            if option not in taken:
                raise unknown_name(
                    f"option of {getattr(maker, 'name', maker.__qualname__)}",
                    option,
                    [*taken, "max_episode_steps"],
                )
        robot = maker(**options)
    if lacking := [name for name in _ATTRIBUTES if not hasattr(robot, name)]:
        raise _incomplete(type(robot), lacking)
    if limit is not None:
        check_limit(limit)
        robot.max_episode_steps = limit
    return robot


def _incomplete(kind: type[Robot], lacking: list[str]) -> UserError:
    return UserError(
        f"{kind.__qualname__} lacks {', '.join(lacking)}.", "Every Robot needs them (docs/own-robot.md)."
    )


def _gym_module(name: str) -> UserError:
    return UserError(
        f"This run's task, {name}, imports a module of its own: a run does not do so by itself.",
        f'If you trust the module, name it: --task {name}, or in Python: make_task("{name}").',
    )
