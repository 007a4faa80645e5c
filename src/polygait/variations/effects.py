"""What an edit comes down to: the few primitive changes that a simulator carries out."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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


class ActionGain(NamedTuple):
    """Multiply some actions by a gain before they reach the robot."""

    indices: tuple[int, ...]
    gain: float


class ActionLag(NamedTuple):
    """Let every action reach the robot some steps late."""

    steps: int


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
Effect = ModelChange | ActionGain | ActionLag | SensorFault


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

    def joint_rows(self, patterns: Names) -> tuple[int, ...]:
        """The joints that match."""
        return tuple(self.joints[name][0] for name in _matching("joint", patterns, self.joints))

    def dof_rows(self, patterns: Names) -> tuple[int, ...]:
        """The degrees of freedom of the joints that match."""
        return tuple(self.joints[name][1] for name in _matching("joint", patterns, self.joints))

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


def _places(kind: str, patterns: Names, names: Sequence[str]) -> tuple[int, ...]:
    """Where the names that match stand in a list."""
    found = set(_matching(kind, patterns, dict.fromkeys(names)))
    return tuple(index for index, name in enumerate(names) if name in found)


def _matching(kind: str, patterns: Names, known: Mapping[str, object]) -> list[str]:
    """The known names that match a pattern, in their own order; every pattern must match one."""
    if not known:
        raise UserError(
            f"This task has no {kind} that can be named.", "Use sensor, motor, strength or delay variations."
        )
    found: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matches = fnmatch.filter(known, pattern)
        if not matches:
            raise unknown_name(kind, pattern, known)
        found.update(matches)
    return [name for name in known if name in found]
