"""From actions in [−1, 1] to the controls of a model's actuators, said in data.

A law is a record that training, `polygait tasks` and an export read alike: control = default + scale·action,
cut to [low, high]. What happens below it (PD gains, activations, tendons) is the actuator's own and acts in
every substep inside MuJoCo.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import mujoco
import numpy as np

from polygait.errors import UserError
from polygait.tasks.task import Task

TORQUE, POSITION, VELOCITY, GENERAL, MOTORS = "torque", "position", "velocity", "general", "motors"
ENVIRONMENT = "environment"
LAWS = (TORQUE, POSITION, VELOCITY)
"""The laws that can be asked for; the others are what a model or a robot brings along."""
_TURNS = mujoco.mjtJoint.mjJNT_HINGE.value
_BY_JOINT = (mujoco.mjtTrn.mjTRN_JOINT.value, mujoco.mjtTrn.mjTRN_JOINTINPARENT.value)
_FIXED, _AFFINE = mujoco.mjtGain.mjGAIN_FIXED.value, mujoco.mjtBias.mjBIAS_AFFINE.value
_NO_BIAS = mujoco.mjtBias.mjBIAS_NONE.value


@dataclass(frozen=True)
class ActionLaw:
    """What actions do: one entry per action in every tuple, in the order of the actions."""

    kinds: tuple[str, ...]
    """torque, position, velocity, general; motors: a law of the robot's own, in its file; environment:
    whatever an environment of others makes of it."""
    names: tuple[str, ...]
    """What each action drives: a joint, or an actuator where it drives something else."""
    units: tuple[str, ...]
    """The unit of the control: rad, rad/s, N·m, m, m/s, N; 1 where it is a share of the largest effort."""
    default: tuple[float, ...]
    """The control of the action 0; of a position servo the home pose."""
    scale: tuple[float, ...]
    """How much the control changes from action 0 to action 1."""
    low: tuple[float, ...]
    """The least control."""
    high: tuple[float, ...]
    """The greatest control."""
    stiffness: tuple[float, ...]
    """kp of a position servo, per unit of the control; 0 where there is none."""
    damping: tuple[float, ...]
    """kd of a position servo, or the gain of a velocity servo."""
    effort: tuple[float, ...]
    """The largest force or torque in N or N·m; 0 where nothing limits it."""
    rate: float | None
    """Actions per second, where the simulator tells."""
    meaning: str | None = None
    """What an action asks for, where a law of the robot's own says it in a sentence."""
    gains: Mapping[str, float] | None = None
    """The figures of such a law, for who builds it again elsewhere."""

    @functools.cached_property
    def is_identity(self) -> bool:
        """Whether controls are the actions themselves."""
        return all(
            (default, scale) == (0.0, 1.0) and low <= -1.0 and high >= 1.0
            for default, scale, low, high in zip(self.default, self.scale, self.low, self.high, strict=True)
        )

    @functools.cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        rows = np.array([self.default, self.scale, self.low, self.high])
        return rows[0], rows[1], rows[2], rows[3]

    @property
    def numbers(self) -> dict[str, np.ndarray]:
        """default, scale, low and high as arrays, for who applies the law elsewhere."""
        return dict(zip(_APPLIED, self._numbers, strict=True))

    def controls(self, actions: np.ndarray) -> np.ndarray:
        """The controls of actions (…, action): default + scale·action, cut to [low, high]."""
        if self.is_identity:
            return actions
        default, scale, low, high = self._numbers
        return np.clip(default + scale * actions, low, high)

    def to_json(self) -> dict[str, Any]:
        """The law as plain data; bounds that do not exist are null."""
        return {
            name: [_finite(one) for one in value] if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, data: Any) -> ActionLaw:
        """The law that to_json() described; ValueError for anything else."""
        names = {one.name for one in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise ValueError(f"must be an object with {', '.join(sorted(names))}")
        columns = {name: data[name] for name in names - set(_FOR_ALL)}
        if not all(
            isinstance(column, list) and len(column) == len(data["names"]) for column in columns.values()
        ):
            raise ValueError("must have an entry per action in every list")
        for name, column in columns.items():
            known = str if name in _TEXTS else float | int | None
            if not all(isinstance(one, known) and not isinstance(one, bool) for one in column):
                raise ValueError(
                    f"has something else than {'texts' if name in _TEXTS else 'numbers'} in {name}"
                )
        found = {name: tuple(_endless(one, name) for one in column) for name, column in columns.items()}
        return cls(**found, **{name: data[name] for name in _FOR_ALL})

    def differences(self, now: ActionLaw) -> list[str]:
        """What another law does otherwise, a few words per action; the same names are taken for granted."""
        told = [
            f"{name} had the {_SINGULAR.get(field, field)} {old}, has {new}"
            for field in ("kinds", *_APPLIED, "stiffness", "damping", "effort")
            for name, old, new in zip(self.names, getattr(self, field), getattr(now, field), strict=True)
            if not _alike(old, new)
        ]
        if not _alike(self.rate, now.rate):
            told.append(f"{self.rate} actions per second were, {now.rate} are")
        return told

    def describe(self) -> list[str]:
        """A line per kind of actuator, in words."""
        pace = "actions" if self.rate is None else f"{self.rate:g} actions per second"
        lines = [f"{pace}, each in [−1, 1]"]
        for kind in dict.fromkeys(self.kinds):
            of_kind = [index for index, one in enumerate(self.kinds) if one == kind]
            lines.append(f"{kind}: {_WORDS[kind]} ({', '.join(self.names[index] for index in of_kind)})")
        return lines


_FOR_ALL = ("rate", "meaning", "gains")
_TEXTS = ("kinds", "names", "units")
_SINGULAR = {"kinds": "law"}
_APPLIED = ("default", "scale", "low", "high")
_WORDS = {
    TORQUE: "a torque or force, its range from the model",
    POSITION: "where a PD servo is to go: default pose + scale·action",
    VELOCITY: "how fast a velocity servo is to go",
    GENERAL: "the control of the model's own actuator, over its range",
    MOTORS: "a motor law of the robot's own",
    ENVIRONMENT: "an action of the environment, over its bounds",
}


@dataclass(frozen=True)
class Servos:
    """PD servos in place of a model's motors: torque = stiffness·(target − angle) − damping·velocity.

    A stiffness and damping of None follow from the motor: its largest torque at an error of 0.5 rad, and
    1/40 s of the stiffness as damping.
    """

    stiffness: float | None = None
    damping: float | None = None


def install_law(spec: mujoco.MjSpec, kind: str, servos: Servos | None = None) -> None:
    """Turn every actuator of a model that drives a joint into one of this kind; efforts stay limited.

    A law other than torque needs motors that drive single joints, since an angle is what a servo holds.
    """
    if kind not in LAWS:
        raise UserError(f"Unknown law of actions: {kind!r}.", f"Choose one of {', '.join(LAWS)}.")
    servos = servos or Servos()
    model = spec.compile()
    for index, actuator in enumerate(spec.actuators):
        if model.actuator_trntype[index] not in _BY_JOINT:
            raise UserError(
                f"The actuator {actuator.name or index!r} drives no joint: it cannot follow {kind!r}.",
                "Leave the actions to the model's own actuators: `actions='model'`.",
            )
        effort = _effort(model, index)
        gear = float(model.actuator_gear[index, 0])
        joint = int(model.actuator_trnid[index, 0])
        stiffness = servos.stiffness if servos.stiffness is not None else 2 * effort or 20.0
        damping = servos.damping if servos.damping is not None else stiffness / 40
        actuator.gear = [1.0, 0, 0, 0, 0, 0]
        actuator.forcelimited = (
            mujoco.mjtLimited.mjLIMITED_TRUE if effort else mujoco.mjtLimited.mjLIMITED_FALSE
        )
        actuator.forcerange = (-effort, effort)
        actuator.actlimited = mujoco.mjtLimited.mjLIMITED_FALSE
        actuator.dyntype = mujoco.mjtDyn.mjDYN_NONE
        if kind == TORQUE:
            actuator.set_to_motor()
            reach = effort or abs(gear)
            _limit(actuator, (-reach, reach))
        elif kind == VELOCITY:
            actuator.set_to_velocity(damping)
            _limit(actuator, (-20.0, 20.0))
        else:
            actuator.set_to_position(stiffness, damping)
            limited = bool(model.jnt_limited[joint])
            low, high = model.jnt_range[joint] if limited else (-np.pi, np.pi)
            _limit(actuator, (float(low), float(high)))


def _limit(actuator: mujoco.MjsActuator, bounds: tuple[float, float]) -> None:
    actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
    actuator.ctrlrange = bounds


def law_of(
    model: mujoco.MjModel,
    names: Sequence[str],
    rate: float,
    home: np.ndarray | None = None,
    scales: float | Mapping[str, float] | None = None,
) -> ActionLaw:
    """The law of a model's own actuators: actions cover each one's range, 0 is its middle.

    A position servo is centred on `home` (a whole qpos) where one is given, and then moves by `scales` (its
    own range where none is given). A control without a range is the action itself.
    """
    rows = [_entry(model, index, home, _scale_of(scales, name)) for index, name in enumerate(names)]
    columns = [tuple(column) for column in zip(*rows, strict=True)] if rows else [()] * 9
    kinds, units, *numbers = columns
    return ActionLaw(kinds, tuple(names), units, *numbers, rate=rate)


def law_of_motors(
    names: Sequence[str], rate: float, meaning: str = "", gains: Mapping[str, float] | None = None
) -> ActionLaw:
    """The law of a robot that has Motors: what they do is written in its file."""
    low, high = np.full((2, len(names)), [[-1.0], [1.0]])
    law = law_of_bounds(names, low, high, rate)
    kinds = (MOTORS,) * len(names)
    return replace(law, kinds=kinds, meaning=meaning or None, gains=dict(gains) if gains else None)


def law_of_bounds(names: Sequence[str], low: np.ndarray, high: np.ndarray, rate: float | None) -> ActionLaw:
    """The law of an environment that says nothing but the bounds of its actions."""
    nothing = (0.0,) * len(names)
    return ActionLaw(
        kinds=(ENVIRONMENT,) * len(names),
        names=tuple(names),
        units=("1",) * len(names),
        default=tuple(((low + high) / 2).tolist()),
        scale=tuple(((high - low) / 2).tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        stiffness=nothing,
        damping=nothing,
        effort=nothing,
        rate=rate,
    )


def law_of_task(task: Task) -> ActionLaw:
    """What the actions of any task do; of a simulator that does not say, that they lie in [−1, 1]."""
    law = getattr(task, "action_law", None)
    if isinstance(law, ActionLaw):
        return law
    low, high = np.full((2, task.action_size), [[-1.0], [1.0]])
    return law_of_bounds(task.anatomy.actions, low, high, 1 / task.time_step if task.time_step else None)


def _scale_of(scales: float | Mapping[str, float] | None, name: str) -> float | None:
    return scales.get(name) if isinstance(scales, Mapping) else scales


def _entry(
    model: mujoco.MjModel, index: int, home: np.ndarray | None, scale: float | None
) -> tuple[str, str, float, float, float, float, float, float, float]:
    """Kind, unit, default, scale, low, high, stiffness, damping and effort of one actuator."""
    kind = kind_of(model, index)
    limited = bool(model.actuator_ctrllimited[index])
    low, high = map(float, model.actuator_ctrlrange[index]) if limited else (-np.inf, np.inf)
    default, reach = ((low + high) / 2, (high - low) / 2) if limited else (0.0, 1.0)
    if kind == POSITION and home is not None and model.actuator_trntype[index] in _BY_JOINT:
        joint = int(model.actuator_trnid[index, 0])
        place = float(home[model.jnt_qposadr[joint]]) * float(model.actuator_gear[index, 0])
        default = float(np.clip(place, low, high))
        reach = max(high - default, default - low) if limited else 1.0
        reach = reach if scale is None else scale
    stiffness = -float(model.actuator_biasprm[index, 1]) if kind == POSITION else 0.0
    damping = -float(model.actuator_biasprm[index, 2]) if kind in (POSITION, VELOCITY) else 0.0
    return kind, _unit(model, index), default, reach, low, high, stiffness, damping, _effort(model, index)


def kind_of(model: mujoco.MjModel, index: int) -> str:
    """What an actuator is by its gain and bias, as MuJoCo's shortcuts set them."""
    gain, bias = model.actuator_gaintype[index], model.actuator_biastype[index]
    if gain != _FIXED or model.actuator_dyntype[index] == mujoco.mjtDyn.mjDYN_MUSCLE.value:
        return GENERAL
    if bias == _NO_BIAS:
        return TORQUE
    if bias != _AFFINE:
        return GENERAL
    strength, terms = model.actuator_gainprm[index, 0], model.actuator_biasprm[index, :3]
    if terms[0] == 0 and terms[1] == -strength != 0:
        return POSITION
    return VELOCITY if terms[0] == 0 and terms[1] == 0 and terms[2] == -strength != 0 else GENERAL


def _unit(model: mujoco.MjModel, index: int) -> str:
    kind = kind_of(model, index)
    if model.actuator_trntype[index] not in _BY_JOINT or kind == GENERAL:
        return "1"
    turns = bool(model.jnt_type[model.actuator_trnid[index, 0]] == _TURNS)
    if kind == TORQUE:
        direct = abs(model.actuator_gear[index, 0] * model.actuator_gainprm[index, 0]) == 1.0
        return ("N·m" if turns else "N") if direct else "1"
    if model.actuator_gear[index, 0] != 1.0:
        return "1"
    return {POSITION: ("m", "rad"), VELOCITY: ("m/s", "rad/s")}[kind][turns]


def _effort(model: mujoco.MjModel, index: int) -> float:
    """The largest force an actuator hands on; 0 where nothing limits it."""
    gear = abs(float(model.actuator_gear[index, 0]))
    limits = []
    if model.actuator_forcelimited[index]:
        limits.append(gear * float(np.abs(model.actuator_forcerange[index]).max()))
    if model.actuator_trntype[index] in _BY_JOINT:
        joint = int(model.actuator_trnid[index, 0])
        if model.jnt_actfrclimited[joint]:
            limits.append(float(np.abs(model.jnt_actfrcrange[joint]).max()))
    if model.actuator_ctrllimited[index] and kind_of(model, index) == TORQUE:
        gain = abs(float(model.actuator_gainprm[index, 0]))
        limits.append(gear * gain * float(np.abs(model.actuator_ctrlrange[index]).max()))
    return min(limits, default=0.0)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _endless(value: Any, field: str) -> Any:
    """A bound that does not exist, as a number again."""
    return {"low": -np.inf, "high": np.inf}.get(field, np.nan) if value is None else value


def _alike(one: Any, other: Any) -> bool:
    """Equal, but for what compilers do to last digits."""
    if isinstance(one, str) or one is None or other is None:
        return one == other
    return bool(np.isclose(one, other, rtol=1e-5, atol=1e-9, equal_nan=True))
