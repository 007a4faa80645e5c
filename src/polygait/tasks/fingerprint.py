"""What makes two robots the same to a population: results carry it, and whoever acts is checked against it.

It is made of texts, names and rounded numbers, so that it is the same on every machine, in every version of
Python, and wherever the files lie.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np

from polygait.storage.strict_json import canonical, to_plain
from polygait.tasks.gym import GymTask
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robot import GIVEN
from polygait.tasks.source_code import is_installed, package_version, source_of
from polygait.tasks.task import Task

_BITS = 20  # of a number that count: compilers differ in the last ones
_NOTHING = 1e-9  # of a field's largest number, for the same reason
_FIELDS = {
    "body": "parentid pos quat ipos mass inertia gravcomp",  # iquat is arbitrary where inertias are equal
    "jnt": "type bodyid pos axis range limited stiffness margin solref solimp actfrclimited actfrcrange",
    "dof": "armature damping frictionloss",
    "geom": "type bodyid contype conaffinity condim pos quat size friction priority solref solimp solmix "
    "margin gap",
    "actuator": "trntype trnid dyntype gaintype biastype dynprm gainprm biasprm gear ctrllimited ctrlrange "
    "forcelimited forcerange actlimited actrange",
    "eq": "type obj1id obj2id data active0 solref solimp",
    "tendon": "adr num limited range stiffness damping frictionloss lengthspring",
    "wrap": "type objid prm",
    "pair": "geom1 geom2 dim friction solref solimp margin gap",
    "key": "qpos qvel act ctrl",
    "hfield": "size data",
    "mesh": "vert",
}
_STATES = ("qpos0", "qpos_spring", "exclude_signature")
_OPTIONS = (
    "timestep gravity wind density viscosity impratio integrator cone solver iterations tolerance "
    "disableflags enableflags"
)


@dataclass(frozen=True)
class Fingerprint:
    """A task by what its population and its results depend on."""

    model: str
    """Of the compiled model: bodies, joints, geoms, actuators, options; not its colours and names."""
    layout: str
    """Of the names of the state, in order."""
    actions: tuple[str, ...]
    """How long a step takes and what every action does, in words that can be compared."""
    reward: str
    """Of the robot's code and its numbers, which make the reward, the starts and the endings."""
    version: str
    """Of polygait, and of the package that the robot comes with."""

    @property
    def digest(self) -> str:
        """One word for all of it: the key of results."""
        return _digest(dataclasses.asdict(self))

    def to_json(self) -> dict[str, Any]:
        """The fingerprint as plain data."""
        return {**dataclasses.asdict(self), "actions": list(self.actions)}

    @classmethod
    def from_json(cls, data: Any) -> Fingerprint:
        """The fingerprint that to_json() described; ValueError for anything else."""
        names = [one.name for one in dataclasses.fields(cls)]
        if not isinstance(data, dict) or sorted(data) != sorted(names):
            raise ValueError(f"must be an object with {', '.join(names)}")
        texts = [data[name] for name in names if name != "actions"]
        if not isinstance(data["actions"], list) or not all(
            isinstance(one, str) for one in (*texts, *data["actions"])
        ):
            raise ValueError("must hold texts")
        return cls(**{**data, "actions": tuple(data["actions"])})

    def changes_since(self, earlier: Fingerprint) -> list[str]:
        """Which parts are no longer as they were: names of fields."""
        return [
            one.name
            for one in dataclasses.fields(self)
            if getattr(self, one.name) != getattr(earlier, one.name)
        ]


def fingerprint_of(task: Task) -> Fingerprint:
    """What a task is, as far as populations and results depend on it."""
    layout = _digest(list(task.layout.names))
    if isinstance(task, MujocoTask):
        return Fingerprint(
            model_digest(task.model),
            layout,
            _robot_actions(task),
            _digest([source_of(type(task.robot)), numbers_in(task.robot), task.max_episode_steps]),
            _versions(type(task.robot)),
        )
    if isinstance(task, GymTask):
        env = task.env.unwrapped
        bounds = zip(task.anatomy.actions, *(_words(bound) for bound in task.action_bounds), strict=True)
        return Fingerprint(
            model_digest(task.model) if task.model is not None else "",
            layout,
            tuple(f"{name}: {low} to {high}" for name, low, high in bounds),
            _digest([*_made_of(env), task.max_episode_steps]),
            _versions(type(env)),
        )
    names = tuple(task.anatomy.actions)
    code = [type(task).__qualname__, source_of(type(task)), task.max_episode_steps]
    return Fingerprint("", layout, names, _digest(code), _versions(type(task)))


def model_digest(model: mujoco.MjModel) -> str:
    """A model's mechanics in one word."""
    digest = hashlib.sha256()
    names = [*_STATES, *(f"{kind}_{name}" for kind, fields in _FIELDS.items() for name in fields.split())]
    for owner, fields in ((model, names), (model.opt, _OPTIONS.split())):
        for name in fields:
            if (values := getattr(owner, name, None)) is not None:
                digest.update(f"{name} {np.shape(values)}".encode())
                digest.update(_rounded(np.asarray(values)).tobytes())
    return digest.hexdigest()[:16]


def numbers_in(owner: object) -> dict[str, Any]:
    """The numbers and texts that an object holds; where a file lies is none of them."""
    held = {
        name: _plain(value) for name, value in sorted(vars(owner).items()) if name not in (GIVEN, "layout")
    }
    return {name: value for name, value in held.items() if value is not None}


def _versions(kind: type) -> str:
    """Of polygait, and of the package that brings a robot."""
    found = (package_version("polygait"), package_version(kind.__module__))
    return ", ".join(dict.fromkeys(one for one in found if one))


def _made_of(env: gymnasium.Env) -> list[Any]:
    """What Gymnasium was asked for, and the code of an environment that nobody installed."""
    asked = [env.spec.id, _plain(env.spec.kwargs)] if env.spec else [type(env).__qualname__]
    return [*asked, *([] if is_installed(type(env).__module__) else source_of(type(env)))]


def _robot_actions(task: MujocoTask) -> tuple[str, ...]:
    """The action law of a robot: one line per action, and what holds for all."""
    step, motors = f"a step of {task.time_step:.6g} s", task.robot.motors
    if motors is not None:
        law = _digest([source_of(type(motors)), numbers_in(motors)])
        return (step, f"{type(motors).__qualname__} {law}", *motors.action_names)
    return (step, *(_actuator(task.model, index, name) for index, name in enumerate(task.anatomy.actions)))


def _actuator(model: mujoco.MjModel, index: int, name: str) -> str:
    """What one action does, by the numbers of the model that say it."""
    told = [f"{name}: gear {_joined(model.actuator_gear[index])}"]
    if model.actuator_ctrllimited[index]:
        told.append(f"range {_joined(model.actuator_ctrlrange[index], trim=False)}")
    for word in ("gain", "bias", "dyn"):
        kind = int(getattr(model, f"actuator_{word}type")[index])
        told.append(f"{word} {kind} ({_joined(getattr(model, f'actuator_{word}prm')[index])})")
    return ", ".join(told)


def _joined(values: np.ndarray, trim: bool = True) -> str:
    """Numbers in a row, without the zeros at its end."""
    last = np.flatnonzero(values)
    shown = values[: last[-1] + 1 if last.size else 1] if trim else values
    return " ".join(_words(shown))


def _words(values: Iterable[float]) -> list[str]:
    return [f"{float(value):.6g}" for value in values]


def _plain(value: Any) -> Any:
    """What can be written down of a value; None for the rest, and for where files lie."""
    if isinstance(value, bool | int | str | np.bool_ | np.integer):
        return None if isinstance(value, str) and (os.sep in value or "/" in value) else to_plain(value)
    if isinstance(value, float | np.floating | np.ndarray):
        array = np.asarray(value)
        return [array.shape, _rounded(array).tolist()] if array.dtype.kind in "biuf" else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, numbers_in(value)]
    if isinstance(value, Mapping):
        return [[str(name), _plain(one)] for name, one in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        found = [_plain(one) for one in value]
        return sorted(found, key=repr) if isinstance(value, set | frozenset) else found
    return None


def _rounded(values: np.ndarray) -> np.ndarray:
    """Numbers as they are on every machine: whole ones exact, others to six digits, very small ones 0."""
    if values.dtype.kind != "f":
        return values.astype("<i8")
    values = np.nan_to_num(values.astype(np.float64), nan=-1e300)
    values = np.where(np.abs(values) < _NOTHING * np.abs(values).max(initial=0.0), 0.0, values)
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS) + 0.0, dtype="<f8")


def _digest(content: Any) -> str:
    return hashlib.sha256(canonical(to_plain(content))).hexdigest()[:16]
