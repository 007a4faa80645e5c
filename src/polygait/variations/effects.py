"""What an edit comes down to: the few primitive changes that a simulator carries out."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from polygait.errors import UserError, unknown_name


class ModelChange(NamedTuple):
    """Replace entries x of a MuJoCo model field by factor·x + constant."""

    field: str
    rows: tuple[int, ...]
    factor: float
    constant: float = 0.0
    column: int | None = None
    """One column of the field, or all of them."""
    loss: float = 0.0
    """What the factor loses with every step since the onset, until it is 0."""


class GravityTilt(NamedTuple):
    """Turn gravity by an angle, so that the floor is a slope that rises along an axis (0 is x, 1 is y)."""

    axis: int
    angle: float


class JointHold(NamedTuple):
    """Let joints stay at the angle that they have at the onset."""

    rows: tuple[int, ...]


class Force(NamedTuple):
    """Push from outside: entries of MuJoCo's xfrc_applied (bodies) or qfrc_applied (degrees of freedom)."""

    field: str
    rows: tuple[int, ...]
    column: int | None
    amount: float


class ActionGain(NamedTuple):
    """Multiply some actions by a gain before they reach the robot."""

    indices: tuple[int, ...]
    gain: float
    loss: float = 0.0
    """What the gain loses with every step since the onset, until it is 0."""


class ActionLag(NamedTuple):
    """Let every action reach the robot some steps late."""

    steps: float


class ActionDrop(NamedTuple):
    """Lose the commands of a step together with some probability; motors keep their last ones."""

    indices: tuple[int, ...]
    probability: float


class ActionPlay(NamedTuple):
    """Let some actions follow only when they have moved through a play of this width."""

    indices: tuple[int, ...]
    width: float


class SensorFault(NamedTuple):
    """Spoil some numbers of the observation."""

    indices: tuple[int, ...]
    mode: str
    amount: float


class Foot(NamedTuple):
    """What one foot consists of, by name."""

    geoms: tuple[str, ...]
    bodies: tuple[str, ...]


Names = str | Sequence[str]
PhysicsEffect = ModelChange | GravityTilt | JointHold | Force
Effect = PhysicsEffect | ActionGain | ActionLag | ActionDrop | ActionPlay | SensorFault
PHYSICS = (ModelChange, GravityTilt, JointHold, Force)
"""The effects that change a simulator's physics; all others lie between it and the policy."""
_AMOUNTS: dict[type, tuple[str, ...]] = {
    ModelChange: ("factor", "constant", "loss"),
    GravityTilt: ("angle",),
    JointHold: (),
    Force: ("amount",),
    ActionGain: ("gain", "loss"),
    ActionLag: ("steps",),
    ActionDrop: ("probability",),
    ActionPlay: ("width",),
    SensorFault: ("amount",),
}


def without_amounts(effect: Effect) -> tuple[Effect, tuple[float, ...]]:
    """An effect apart from its numbers, and these: rows of a batch that differ in them go together."""
    names = _AMOUNTS[type(effect)]
    whole: Any = effect
    return whole._replace(**dict.fromkeys(names, 0.0)), tuple(float(getattr(effect, name)) for name in names)


@dataclass(frozen=True)
class Anatomy:
    """The names by which a robot's parts can be changed.

    `joints` maps a name to its joint and its degree of freedom, `bodies` and `geoms` to their row in
    the model, `actions` names what each action drives, `state` finds parts of the observation.
    """

    joints: Mapping[str, tuple[int, int]]
    bodies: Mapping[str, int]
    geoms: Mapping[str, int]
    actions: Sequence[str]
    state: Callable[[Names], np.ndarray]
    motors: Sequence[str] | None = None
    """The joint each motor drives, where actions are not torques of one motor each."""
    has_model: bool = True
    """Whether the simulator's model can be changed; where not, a motor is as strong as its action."""
    battery: bool = False
    """Whether the motors run on a voltage, the first number of their row in `actuator_user`."""
    feet: Mapping[str, Foot] = field(default_factory=dict)
    """The parts of each foot, where the robot names its feet."""
    joint_ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The limits of the joints that have some."""
    locks_at_zero: bool = False
    """Whether a broken joint locks at 0 although 0 may lie outside its range, as in the paper."""
    state_parts: Sequence[str] = ()
    """The names of the observation's parts, coarse ones before those inside them."""
    qpos_rows: Mapping[str, int] = field(default_factory=dict)
    """Where joints stand among the positions."""

    def lock_angle(self, joint: str) -> float:
        """Where a joint locks that is said to be broken: at 0, or as near to it as its range allows."""
        low, high = self.joint_ranges.get(joint, (-math.inf, math.inf))
        return 0.0 if self.locks_at_zero else min(max(0.0, low), high)

    def joint_names(self, patterns: Names) -> list[str]:
        """The names of the joints that match."""
        return _matching("joint", patterns, self.joints)

    def joint_rows(self, patterns: Names) -> tuple[int, ...]:
        """The joints that match."""
        return tuple(self.joints[name][0] for name in self.joint_names(patterns))

    def dof_rows(self, patterns: Names) -> tuple[int, ...]:
        """The degrees of freedom of the joints that match."""
        return tuple(self.joints[name][1] for name in self.joint_names(patterns))

    def position_rows(self, patterns: Names) -> tuple[int, ...]:
        """The places among the positions of the joints that match."""
        return tuple(self.qpos_rows[name] for name in self.joint_names(patterns))

    def body_rows(self, patterns: Names) -> tuple[int, ...]:
        """The bodies that match."""
        return tuple(self.bodies[name] for name in _matching("body", patterns, self.bodies))

    def geom_rows(self, patterns: Names) -> tuple[int, ...]:
        """The geoms that match."""
        return tuple(self.geoms[name] for name in _matching("geom", patterns, self.geoms))

    def action_indices(self, patterns: Names) -> tuple[int, ...]:
        """The actions that drive the joints that match."""
        return _places("actuated joint" if self.motors is None else "action", patterns, self.actions)

    def motor_rows(self, patterns: Names) -> tuple[int, ...]:
        """The motors of the joints that match."""
        return _places("actuated joint", patterns, self.actions if self.motors is None else self.motors)

    def state_indices(self, patterns: Names) -> tuple[int, ...]:
        """The numbers of the observation that match."""
        return tuple(self.state(patterns).tolist())

    def choices(self, kind: str, pattern: str) -> list[str]:
        """The parts of a kind of which `any(pattern)` is one.

        A joint is one with a motor where there is such a match (nobody breaks the joints that let a robot
        move through space), a sensor the coarsest part that matches.
        """
        motors = list(self.actions if self.motors is None else self.motors)
        if kind == "joint":
            found = _matching(kind, pattern, self.joints if self.joints else dict.fromkeys(motors))
            return [name for name in found if name in motors] or found
        if kind == "sensor":
            found = _matching("part of the state", pattern, dict.fromkeys(self.state_parts))
            return [name for name in found if not any(name.startswith(f"{other}.") for other in found)]
        known: dict[str, Mapping[str, Any]] = {
            "body": self.bodies,
            "geom": self.geoms,
            "motor": dict.fromkeys(motors),
            "action": dict.fromkeys(self.actions),
        }
        return _matching(kind, pattern, known[kind])


def _places(kind: str, patterns: Names, names: Sequence[str]) -> tuple[int, ...]:
    """Where the names that match stand in a list."""
    found = set(_matching(kind, patterns, dict.fromkeys(names)))
    return tuple(index for index, name in enumerate(names) if name in found)


def _matching(kind: str, patterns: Names, known: Mapping[str, object]) -> list[str]:
    """The known names that match a pattern, in their own order; every pattern must match one."""
    if not known:
        raise UserError(
            f"There is no {kind} here that can be named.",
            "Break something else: sensor(…), motor(…), delay=2.",
        )
    found: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matches = [pattern] if pattern in known else fnmatch.filter(known, pattern)
        if not matches:
            raise unknown_name(kind, pattern, known)
        found.update(matches)
    return [name for name in known if name in found]
