"""Names for what a Gymnasium environment shows: the user's, the environment's own, or those of its model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.spaces import Box, Dict, Tuple
from gymnasium.spaces.utils import flatdim

from polygait.errors import UserError
from polygait.tasks.state import StateLayout

_XYZ = ("x", "y", "z")
_QUATERNION = ("w", "x", "y", "z")
_WRENCH = tuple(f"{kind}_{axis}" for kind in ("torque", "force") for axis in _XYZ)
_TWIST = tuple(f"{kind}_{axis}" for kind in ("angular", "linear") for axis in _XYZ)
_INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz", "x", "y", "z", "mass")
_OF_BODIES = {"cinert": _INERTIA, "cvel": _TWIST, "cfrc_ext": _WRENCH}
_FREE, _BALL = mujoco.mjtJoint.mjJNT_FREE.value, mujoco.mjtJoint.mjJNT_BALL.value
_EXAMPLE = '"torso.position" = ["height", "pitch"]'


def given_layout(given: Any) -> StateLayout:
    """A layout as users write it: a StateLayout, a TOML file, parts with names, or names in order."""
    if isinstance(given, StateLayout):
        return given
    if isinstance(given, str | Path) and str(given).endswith(".toml"):
        return read_layout(Path(given))
    if isinstance(given, Mapping):
        return StateLayout.of(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return StateLayout(tuple(given))
    raise UserError(
        f"A layout must be a StateLayout, a TOML file, parts or names, got {given!r}.",
        'Make one: StateLayout.of({"torso.position": ("height", "pitch")}).',
    )


def read_layout(path: Path) -> StateLayout:
    """A layout from a TOML file: quoted parts with their names, in the order of the observation."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"Cannot read the layout {path}: {error.strerror}.",
            f"Write a file with lines such as {_EXAMPLE}.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}.", f"Write lines such as {_EXAMPLE}.") from error
    if list(table) == ["names"]:
        return StateLayout(tuple(table["names"]))
    if nested := [name for name, value in table.items() if isinstance(value, dict)]:
        raise UserError(
            f"{path}: {nested[0]} is a table, in which the order of the observation is lost.",
            f"Quote the parts: {_EXAMPLE}.",
        )
    return StateLayout.of(table)


def environment_layout(env: gymnasium.Env, space: gymnasium.Space, shown: np.ndarray) -> StateLayout:
    """Names by the environment itself; `space` is its own, `shown` its flat observation at this moment."""
    names: Sequence[str] | None = None
    if env.has_wrapper_attr("observation_names"):
        names = tuple(map(str, env.get_wrapper_attr("observation_names")))
    elif isinstance(space, Dict | Tuple):
        names = tuple(_in_space(space, ""))
    elif isinstance(space, Box) and (model := model_of(env)) is not None:
        names = _of_model(env, model, shown)
    if names is None or len(names) != len(shown) or len(set(names)) < len(names):
        return StateLayout.numbered(len(shown))
    return StateLayout(tuple(names))


def model_of(env: gymnasium.Env) -> mujoco.MjModel | None:
    """The MuJoCo model that an environment simulates, if it does."""
    model = getattr(env.unwrapped, "model", None)
    data = getattr(env.unwrapped, "data", None)
    return model if isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData) else None


def _in_space(space: gymnasium.Space, prefix: str) -> Iterator[str]:
    """A name for each number of a flattened space, by its keys."""
    if isinstance(space, Dict | Tuple):
        inner = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for key, one in inner:
            yield from _in_space(one, f"{prefix}.{_word(str(key))}" if prefix else _word(str(key)))
    elif (size := flatdim(space)) == 1:
        yield prefix
    else:
        yield from (f"{prefix}.{index}" for index in range(size))


def _of_model(env: gymnasium.Env, model: mujoco.MjModel, shown: np.ndarray) -> list[str] | None:
    """Names of an observation that is made of the model's state; None where it is something else."""
    positions, velocities = _coordinates(model)
    structure = getattr(env.unwrapped, "observation_structure", None)
    if not isinstance(structure, dict):
        data = getattr(env.unwrapped, "data")  # noqa: B009 - known to be there, and not to pyright
        skipped = model.nq + model.nv - len(shown)
        if not 0 <= skipped < model.nq or not np.allclose(shown[: model.nq - skipped], data.qpos[skipped:]):
            return None
        return [*positions[skipped:], *velocities]
    names: list[str] = []
    for field, size in structure.items():
        if field == "skipped_qpos" or not size:
            continue
        if field == "qpos":
            found = positions[len(positions) - size :]
        elif field == "qvel":
            found = velocities
        elif field in _OF_BODIES and size == (model.nbody - 1) * len(_OF_BODIES[field]):
            found = [
                f"{_body(model, one)}.{field}.{part}"
                for one in range(1, model.nbody)
                for part in _OF_BODIES[field]
            ]
        else:
            found = [f"{field}.{index}" for index in range(size)]
        names += found
    return names


def _coordinates(model: mujoco.MjModel) -> tuple[list[str], list[str]]:
    """The names of qpos and qvel, by joints."""
    positions, velocities = [], []
    for index in range(model.njnt):
        joint = _word(model.joint(index).name) or f"joint_{index}"
        if model.jnt_type[index] == _FREE:
            positions += [f"{joint}.position.{axis}" for axis in _XYZ]
            velocities += [f"{joint}.linear_velocity.{axis}" for axis in _XYZ]
        if model.jnt_type[index] in (_FREE, _BALL):
            positions += [f"{joint}.orientation.{axis}" for axis in _QUATERNION]
            velocities += [f"{joint}.angular_velocity.{axis}" for axis in _XYZ]
        else:
            positions.append(f"{joint}.position")
            velocities.append(f"{joint}.velocity")
    return positions, velocities


def _body(model: mujoco.MjModel, index: int) -> str:
    return _word(model.body(index).name) or f"body_{index}"


def _word(name: str) -> str:
    """A name as one word of a state's name."""
    return re.sub(r"[.*?\[\]\s]", "_", name)
