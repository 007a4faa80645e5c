"""From actions in [−1, 1] to the controls of a model's actuators, said in data.

A law is a record that training, `polygait tasks` and an export read alike: control = default + scale·action,
cut to [low, high]. What happens below it (PD gains, activations, tendons) is the actuator's own and acts in
every substep inside MuJoCo.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import mujoco
import numpy as np

from polygait.errors import UserError

TORQUE, POSITION, VELOCITY, GENERAL, MOTORS = "torque", "position", "velocity", "general", "motors"
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
    """torque, position, velocity, general, or motors: a law of the robot's own, in its file."""
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
    rate: float
    """Actions per second."""

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

    def describe(self) -> list[str]:
        """A line per kind of actuator, in words."""
        lines = [f"{self.rate:g} actions per second, each in [−1, 1]"]
        for kind in dict.fromkeys(self.kinds):
            of_kind = [index for index, one in enumerate(self.kinds) if one == kind]
            lines.append(f"{kind}: {_WORDS[kind]} ({', '.join(self.names[index] for index in of_kind)})")
        return lines


_WORDS = {
    TORQUE: "a torque or force, its range from the model",
    POSITION: "where a PD servo is to go: default pose + scale·action",
    VELOCITY: "how fast a velocity servo is to go",
    GENERAL: "the control of the model's own actuator, over its range",
    MOTORS: "a motor law of the robot's own",
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


def law_of_motors(names: Sequence[str], rate: float) -> ActionLaw:
    """The law of a robot that has Motors: what they do is written in its file."""
    count = len(names)
    nothing, ones = (0.0,) * count, (1.0,) * count
    return ActionLaw(
        kinds=(MOTORS,) * count,
        names=tuple(names),
        units=("1",) * count,
        default=nothing,
        scale=ones,
        low=tuple(-one for one in ones),
        high=ones,
        stiffness=nothing,
        damping=nothing,
        effort=nothing,
        rate=rate,
    )


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
