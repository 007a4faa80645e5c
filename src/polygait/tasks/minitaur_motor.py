"""Minitaur's motors: from an action to torques, substep by substep, for any number of robots at once.

Plain NumPy, so that both simulators share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEGS = ("front_left", "back_left", "front_right", "back_right")
NUM_MOTORS = 8
"""Two per leg, left before right, legs in the order above."""
SUBSTEP = 0.002
SUBSTEPS = 5
"""How often the motors are driven within one step."""
REST = np.pi / 2
"""The angle of every motor of a robot that stands."""
SETTLING = 100
"""Substeps for which a new robot is told to stand, before its episode begins."""

VOLTAGE = 16.0
VISCOUS_DAMPING = 0.0
_POSITION_GAIN = 1.0
_VELOCITY_GAIN = 0.02
_RESISTANCE = 0.186
_TORQUE_CONSTANT = 0.0954
_LARGEST_VOLTAGE = 50.0
_LARGEST_OBSERVED_TORQUE = 5.7
_CURRENTS = np.arange(0.0, 70.0, 10.0)
_TORQUES = np.array([0.0, 1.0, 1.9, 2.45, 3.0, 3.25, 3.5])
_HOT_TORQUE = 2.45
_HOT_SUBSTEPS = 1.0 / SUBSTEP
_SWING_SIGN = np.array([1, -1, 1, -1, -1, 1, -1, 1])
MEANING = (
    "A swing and an extension per leg: its two motors go to π − π/4·(extension + 1.5) ± π/4·swing rad, "
    "by motor_targets and motor_torques in tasks/minitaur_motor.py."
)
GAINS = {
    "position_gain_per_rad": _POSITION_GAIN,
    "velocity_gain_s_per_rad": _VELOCITY_GAIN,
    "voltage_V": VOLTAGE,
    "resistance_ohm": _RESISTANCE,
    "torque_constant_Nm_per_A": _TORQUE_CONSTANT,
    "largest_torque_Nm": float(_TORQUES[-1]),
    "substep_s": SUBSTEP,
}
"""The figures of the law that a robot's computer would need."""


class Supply(NamedTuple):
    """What the motors run on, one number per motor or one for all."""

    voltage: np.ndarray | float = VOLTAGE
    viscous_damping: np.ndarray | float = VISCOUS_DAMPING


class MotorMemory(NamedTuple):
    """What every motor remembers; arrays (robot, motor), changed in place."""

    torque: np.ndarray
    """The torque as the robot's own sensors estimate it."""
    hot_substeps: np.ndarray
    """For how long the torque has been too high."""
    shut_down: np.ndarray
    """1 where the motor overheated: no torque until the next episode."""

    @classmethod
    def of(cls, numbers: np.ndarray) -> MotorMemory:
        """Views of an array (robot, 3 · motor)."""
        return cls(*(numbers[:, start : start + NUM_MOTORS] for start in (0, NUM_MOTORS, 2 * NUM_MOTORS)))


def motor_targets(actions: np.ndarray) -> np.ndarray:
    """The angles that actions (robot, 4 swings and 4 extensions) ask of the motors."""
    actions = np.clip(actions, -1.0, 1.0)
    swing, extension = (np.repeat(part, 2, axis=1) for part in (actions[:, :4], actions[:, 4:]))
    return np.pi - (np.pi / 4) * (extension + 1.5) + (np.pi / 4) * _SWING_SIGN * swing


def motor_torques(
    targets: np.ndarray, angle: np.ndarray, velocity: np.ndarray, supply: Supply, memory: MotorMemory
) -> np.ndarray:
    """The torques of one substep: a DC motor behind a PD controller, whose iron saturates.

    A motor above 2.45 Nm for more than a second shuts down.
    """
    pwm = _POSITION_GAIN * (targets - angle)
    pwm -= _VELOCITY_GAIN * velocity
    driving = supply.voltage * np.minimum(np.maximum(pwm, -1.0), 1.0)
    estimate = (_TORQUE_CONSTANT / _RESISTANCE) * driving
    np.clip(estimate, -_LARGEST_OBSERVED_TORQUE, _LARGEST_OBSERVED_TORQUE, out=memory.torque)

    net = driving - (_TORQUE_CONSTANT + supply.viscous_damping) * velocity
    magnitude = np.minimum(np.abs(net), _LARGEST_VOLTAGE) / _RESISTANCE
    torque = np.interp(magnitude, _CURRENTS, _TORQUES)

    memory.hot_substeps[:] = (memory.hot_substeps + 1) * (torque > _HOT_TORQUE)
    np.maximum(memory.shut_down, memory.hot_substeps > _HOT_SUBSTEPS, out=memory.shut_down)
    return np.copysign(torque, net) * (1.0 - memory.shut_down)
