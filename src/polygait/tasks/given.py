"""A task as a user gives it to a training: by name, by where its code is, or as a Robot."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from polygait.config import TrainConfig
from polygait.errors import UserError
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.references import given_options
from polygait.tasks.registry import make_task, name_task, task_name
from polygait.tasks.robot import Robot


def with_named_task(config: TrainConfig) -> TrainConfig:
    """The same training with its task as a name that a run can remember, and what the robot was made with.

    The user has named the task, so its code may run.
    """
    task = config.task
    if isinstance(task, str):
        return dataclasses.replace(config, task=name_task(task))
    name = task_name(task)
    options = given_options(task) if isinstance(task, Robot) else {}
    own = tuple(
        f"task.{option}={json.dumps(value)}" for option, value in options.items() if value is not None
    )
    overrides = (config.overrides,) if isinstance(config.overrides, str) else tuple(config.overrides)
    return dataclasses.replace(config, task=name, overrides=(*own, *overrides))


def check_remade(given: Any, options: Mapping[str, Any]) -> None:
    """A run makes its robot from its class: one that was changed by hand after it was made is refused."""
    if not isinstance(given, Robot):
        return
    remade = fingerprint_of(make_task(task_name(given), **options))
    if changed := remade.changes_since(fingerprint_of(MujocoTask(given))):
        kind = type(given).__qualname__
        raise UserError(
            f"This {kind} was changed after it was made ({', '.join(changed)}); a run would make another.",
            f"Let {kind}.__init__ take what you change, and make it so: {kind}(…).",
        )
