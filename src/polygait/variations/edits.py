"""How the world can change: declarative edits by name, composed with `+`.

Every edit has a text form (`language.py` reads it back) and comes down to primitive effects on a
robot's anatomy. Scales multiply the nominal model, so they compose and never compound over resets.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from polygait.errors import UserError, unknown_name
from polygait.variations.effects import (
    ActionGain,
    ActionLag,
    Anatomy,
    Effect,
    ModelChange,
    Names,
    SensorFault,
)


@dataclass(frozen=True)
class Edit:
    """One change of the world, from step `onset` of every episode on."""

    keyword: ClassVar[str]

    _: KW_ONLY
    onset: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.onset, bool) or not isinstance(self.onset, int) or not 0 <= self.onset <= 10**9:
            raise UserError(
                f"An onset must be a whole number of steps from 0 to 10⁹, got {self.onset!r}.",
                f"Write for example {self.keyword}…@300.",
            )

    @abstractmethod
    def effects(self, anatomy: Anatomy) -> list[Effect]:
        """What to change on this robot; UserError when a name is not on it."""

    def __str__(self) -> str:
        """The edit in the language of variations."""
        return self._text()

    def _text(self, targets: Names = (), mode: str = "", value: float | None = None) -> str:
        names = f"({','.join(targets)})" if targets else ""
        chosen = f":{mode}" if mode else ""
        number = "" if value is None else f"={float(value)!r}"
        onset = f"@{self.onset}" if self.onset else ""
        return f"{self.keyword}{names}{chosen}{number}{onset}"


@dataclass(frozen=True)
class Targeted(Edit):
    """An edit of parts that have names; globs work."""

    targets: Names

    def __post_init__(self) -> None:
        super().__post_init__()
        names = (self.targets,) if isinstance(self.targets, str) else tuple(self.targets)
        if not names or not all(name and not set(name) & set("(),+ ") for name in names):
            raise UserError(
                f"{self.keyword} needs names of parts, got {self.targets!r}.", f"Write {self.keyword}(NAME)."
            )
        object.__setattr__(self, "targets", names)


@dataclass(frozen=True)
class BrokenJoint(Targeted):
    """A joint that no longer does its work.

    `lock` is the paper's: both limits of its range become 0, a soft lock at the angle 0, which may
    lie outside the nominal range. `limp` leaves it without torque; `weak` with a share of it.
    """

    keyword = "broken"
    modes: ClassVar = ("lock", "limp", "weak")

    mode: str = "lock"
    strength: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_mode(self.keyword, self.mode, self.modes)
        if self.mode == "weak":
            _check_scale("weak", self.strength)
        elif self.strength is not None:
            raise UserError(f"Mode {self.mode!r} takes no number.", "Only weak does: weak=0.4.")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        if self.mode == "lock":
            rows = anatomy.joint_rows(self.targets)
            return [ModelChange("jnt_limited", rows, 0, constant=1), ModelChange("jnt_range", rows, 0.0)]
        return _scaled_torque(anatomy, self.targets, 0.0 if self.strength is None else self.strength)

    def __str__(self) -> str:
        return self._text(self.targets, "" if self.mode == "lock" else self.mode, self.strength)


@dataclass(frozen=True)
class Scale(Targeted):
    """An edit that multiplies a property of its targets."""

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_scale(self.keyword, self.scale)

    def __str__(self) -> str:
        return self._text(self.targets, value=self.scale)


@dataclass(frozen=True)
class ScaleMass(Scale):
    """Heavier or lighter bodies; their inertia stays (the paper's way) unless `inertia` is set."""

    keyword = "mass"
    inertia: bool = False

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        rows = anatomy.body_rows(self.targets)
        fields = ("body_mass", "body_inertia") if self.inertia else ("body_mass",)
        return [ModelChange(field, rows, self.scale) for field in fields]

    def __str__(self) -> str:
        return self._text(self.targets, "inertia" if self.inertia else "", self.scale)


@dataclass(frozen=True)
class ScaleFriction(Scale):
    """More or less sliding friction of geoms. In a contact MuJoCo uses the larger of the two geoms'."""

    keyword = "friction"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ModelChange("geom_friction", anatomy.geom_rows(self.targets), self.scale, column=0)]


@dataclass(frozen=True)
class ScaleDamping(Scale):
    """Stiffer or looser joints."""

    keyword = "damping"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ModelChange("dof_damping", anatomy.dof_rows(self.targets), self.scale)]


@dataclass(frozen=True)
class ScaleStrength(Scale):
    """Stronger or weaker motors at some joints; those of a Gymnasium task stay within its actions' bounds."""

    keyword = "strength"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return _scaled_torque(anatomy, self.targets, self.scale)


@dataclass(frozen=True)
class GlobalScale(Edit):
    """An edit that multiplies a property of the whole world."""

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_scale(self.keyword, self.scale)

    def __str__(self) -> str:
        return self._text(value=self.scale)


@dataclass(frozen=True)
class ScaleGravity(GlobalScale):
    """Stronger or weaker gravity."""

    keyword = "gravity"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ModelChange("opt.gravity", (0, 1, 2), self.scale)]


@dataclass(frozen=True)
class ScaleVoltage(GlobalScale):
    """A fuller or emptier battery, on robots whose motors run on one."""

    keyword = "voltage"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        if not anatomy.battery:
            raise UserError("This robot's motors have no supply voltage.", "Use strength(*)=0.8 instead.")
        return [ModelChange("actuator_user", anatomy.motor_rows("*"), self.scale, column=0)]


@dataclass(frozen=True)
class SensorFailure(Targeted):
    """Parts of the observation that lie.

    `zero` is the paper's; `freeze` repeats the value at the onset; `noise` adds Gaussian noise of the
    given standard deviation; `bias` adds a constant. Reward and termination see the true state.
    """

    keyword = "sensor"
    modes: ClassVar = ("zero", "freeze", "noise", "bias")

    mode: str = "zero"
    amount: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_mode(self.keyword, self.mode, self.modes)
        if self.mode == "noise":
            _check_scale("sensor:noise", self.amount)
        elif self.mode == "bias":
            if self.amount is None or not math.isfinite(self.amount):
                raise UserError(
                    f"A sensor's bias must be a finite number, got {self.amount}.", "Write bias=0.1."
                )
        elif self.amount is not None:
            raise UserError(f"Mode {self.mode!r} takes no number.", "Only noise=… and bias=… do.")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [SensorFault(anatomy.state_indices(self.targets), self.mode, self.amount or 0.0)]

    def __str__(self) -> str:
        return self._text(self.targets, "" if self.mode == "zero" else self.mode, self.amount)


@dataclass(frozen=True)
class MotorFailure(Targeted):
    """Motors that no longer hear commands: their actions become 0."""

    keyword = "motor"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ActionGain(anatomy.action_indices(self.targets), 0.0)]

    def __str__(self) -> str:
        return self._text(self.targets)


@dataclass(frozen=True)
class ActionDelay(Edit):
    """Actions that arrive late by some steps; until the first arrives the robot receives zeros."""

    keyword = "delay"
    steps: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.steps, bool) or not 1 <= self.steps <= 100 or self.steps != int(self.steps):
            raise UserError(f"A delay must be 1 to 100 whole steps, got {self.steps}.", "Write delay=2.")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ActionLag(int(self.steps))]

    def __str__(self) -> str:
        return self._text(value=self.steps)


@dataclass(frozen=True)
class Variation:
    """A changed world: edits in order, none for the nominal world."""

    edits: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        edits = (self.edits,) if isinstance(self.edits, Edit) else self.edits
        if (
            isinstance(edits, str)
            or not isinstance(edits, Sequence)
            or not all(isinstance(edit, Edit) for edit in edits)
        ):
            raise UserError(
                f"A Variation is made of edits such as BrokenJoint('foot_joint'), got {self.edits!r}.",
                "A text such as 'broken-foot' is a variation by itself: give it as it is.",
            )
        object.__setattr__(self, "edits", tuple(edits))

    def __add__(self, other: Variation | Edit) -> Variation:
        if not isinstance(other, Variation | Edit):
            return NotImplemented
        return Variation(self.edits + (other.edits if isinstance(other, Variation) else (other,)))

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __str__(self) -> str:
        return "+".join(map(str, self.edits)) or "nominal"


def _scaled_torque(anatomy: Anatomy, joints: Names, scale: float) -> list[Effect]:
    """Gain and bias together, so that position and velocity servos weaken like plain motors."""
    if not anatomy.has_model:
        return [ActionGain(anatomy.action_indices(joints), scale)]
    rows = anatomy.motor_rows(joints)
    return [ModelChange(field, rows, scale) for field in ("actuator_gainprm", "actuator_biasprm")]


def _check_scale(keyword: str, scale: float | None) -> None:
    if scale is None or isinstance(scale, bool) or not math.isfinite(scale) or scale <= 0:
        raise UserError(
            f"{keyword} needs a finite scale above 0, got {'none' if scale is None else scale}.",
            f"Write for example {keyword}…=1.5; a motor without torque is broken(JOINT):limp.",
        )


def _check_mode(keyword: str, mode: str, known: tuple[str, ...]) -> None:
    if mode not in known:
        raise unknown_name(f"mode of {keyword}", mode, known)
