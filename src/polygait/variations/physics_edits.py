"""Edits of a robot's body and of the world around it: joints, masses, friction, strength, gravity, pushes."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from polygait.errors import UserError
from polygait.variations.edits import (
    Edit,
    Targeted,
    check_finite,
    check_mode,
    check_scale,
    check_share,
)
from polygait.variations.effects import (
    ActionGain,
    Anatomy,
    Effect,
    Force,
    GravityTilt,
    JointHold,
    ModelChange,
    Names,
)

_AXES = ("x", "y", "z")
_told: set[tuple[str, float]] = set()


@dataclass(frozen=True)
class BrokenJoint(Targeted):
    """A joint that no longer does its work.

    `lock` is the paper's: both limits of its range become one angle, a soft lock. The angle is the given one,
    or 0; where 0 lies outside the joint's range it is the nearest within, but on robots of the paper, whose
    joints lock at 0 wherever their range lies. `hold` locks at the angle that the joint has at the onset.
    `limp` leaves it without torque; `weak` with a share of it.
    """

    keyword = "broken"
    kind = "joint"
    modes: ClassVar = ("lock", "hold", "limp", "weak")

    mode: str = "lock"
    amount: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.keyword, self.mode, self.modes)
        if self.mode == "weak":
            check_scale("weak", self.amount)
        elif self.mode == "lock" and self.amount is not None:
            check_finite("The angle of a lock", self.amount, "lock=0.3, in radians")
        elif self.amount is not None:
            raise UserError(f"Mode {self.mode!r} takes no number.", "Only lock=0.3 and weak=0.4 do.")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        if self.mode in ("limp", "weak"):
            return _scaled_torque(anatomy, self.targets, 0.0 if self.amount is None else self.amount)
        names = anatomy.joint_names(self.targets)
        rows = anatomy.joint_rows(self.targets)
        limited = ModelChange("jnt_limited", rows, 0, constant=1)
        if self.mode == "hold":
            return [limited, JointHold(rows)]
        at: dict[float, list[int]] = defaultdict(list)
        for name, row in zip(names, rows, strict=True):
            at[self._angle(name, anatomy)].append(row)
        return [
            limited,
            *(ModelChange("jnt_range", tuple(some), 0.0, constant=angle) for angle, some in at.items()),
        ]

    def _angle(self, joint: str, anatomy: Anatomy) -> float:
        if self.amount is not None:
            return float(self.amount)
        angle = anatomy.lock_angle(joint)
        if angle and (joint, angle) not in _told:
            _told.add((joint, angle))
            warnings.warn(
                f"{joint} cannot reach the angle 0: broken({joint}) locks it at {angle:.4g}, the nearest in "
                f"its range. Write broken({joint}):lock=0 for 0, or broken({joint}):hold for where it is.",
                stacklevel=2,
            )
        return angle

    def __str__(self) -> str:
        plain = self.mode == "lock" and self.amount is None
        return self._text(self.targets, "" if plain else self.mode, self.amount)


@dataclass(frozen=True)
class JointOffset(Targeted):
    """Joints that are mounted askew: the limb stands so many radians ahead of the angle that is measured."""

    keyword = "offset"
    kind = "joint"

    angle: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_finite("The offset of a joint", self.angle, "offset(foot_joint)=0.1, in radians")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ModelChange("qpos0", anatomy.position_rows(self.targets), 1.0, constant=-self.angle)]

    def __str__(self) -> str:
        return self._text(self.targets, value=self.angle)


@dataclass(frozen=True)
class Scale(Targeted):
    """An edit that multiplies a property of its targets."""

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.keyword, self.scale)

    def __str__(self) -> str:
        return self._text(self.targets, value=self.scale)


@dataclass(frozen=True)
class ScaleMass(Scale):
    """Heavier or lighter bodies; their inertia stays (the paper's way) unless `inertia` is set."""

    keyword = "mass"
    kind = "body"
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
    kind = "geom"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ModelChange("geom_friction", anatomy.geom_rows(self.targets), self.scale, column=0)]


@dataclass(frozen=True)
class ScaleDamping(Scale):
    """Stiffer or looser joints."""

    keyword = "damping"
    kind = "joint"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ModelChange("dof_damping", anatomy.dof_rows(self.targets), self.scale)]


@dataclass(frozen=True)
class ScaleStrength(Scale):
    """Stronger or weaker motors at some joints; those of a Gymnasium task stay within its actions' bounds."""

    keyword = "strength"
    kind = "motor"

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return _scaled_torque(anatomy, self.targets, self.scale)


@dataclass(frozen=True)
class FadingStrength(Targeted):
    """Motors that tire: with every step since the onset they lose this share of their strength, until 0."""

    keyword = "strength"
    kind = "motor"
    mode: ClassVar = "fade"

    loss: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("The loss of strength in a step", self.loss, "strength(foot_joint):fade=0.002")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return _scaled_torque(anatomy, self.targets, 1.0, self.loss)

    def __str__(self) -> str:
        return self._text(self.targets, self.mode, self.loss)


@dataclass(frozen=True)
class GlobalScale(Edit):
    """An edit that multiplies a property of the whole world."""

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.keyword, self.scale)

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
class Slope(Edit):
    """A floor that rises, by degrees, ahead of the robot (along x) or, with `side`, to its left (along y).

    Gravity is turned instead of the floor: the same physics, seen by someone who stands on the slope.
    """

    keyword = "slope"
    modes: ClassVar = ("side",)

    degrees: float
    side: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.degrees, int | float) or not -60 <= self.degrees <= 60:
            raise UserError(
                f"A slope must lie between −60 and 60 degrees, got {self.degrees}.", "Write slope=5."
            )

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [GravityTilt(int(self.side), math.radians(self.degrees))]

    def __str__(self) -> str:
        return self._text(mode="side" if self.side else "", value=self.degrees)


@dataclass(frozen=True)
class Push(Edit):
    """A force from outside on a body, by default the first; it lasts one step unless said otherwise."""

    keyword = "push"
    kind: ClassVar = "body"
    unit = "N"
    modes: ClassVar = _AXES

    newtons: float
    axis: str = "x"
    targets: Names = ()

    def __post_init__(self) -> None:
        if self.duration is None:
            object.__setattr__(self, "duration", 1)
        super().__post_init__()
        check_finite("The force of a push", self.newtons, "push=50N@200")
        check_mode(self.keyword, self.axis, self.modes)
        names = (self.targets,) if isinstance(self.targets, str) else tuple(self.targets)
        if not all(name and not set(name) & set("(),+ ") for name in names):
            raise UserError(
                f"push needs names of bodies, got {self.targets!r}.", "Write push(torso)=50N@200."
            )
        object.__setattr__(self, "targets", names)

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        rows = anatomy.body_rows(self.targets or next(iter(anatomy.bodies), "*"))
        return [Force("xfrc_applied", rows, _AXES.index(self.axis), self.newtons)]

    def __str__(self) -> str:
        axis = "" if self.axis == "x" else self.axis
        text = self._text(self.targets, axis, self.newtons)
        once = self.duration == 1 and self.period is None and self.latest is None
        if once:
            return text.removesuffix(f"..{self.onset + 1}").removesuffix("@0")
        return text.removesuffix("..+1")


@dataclass(frozen=True)
class JointTorque(Targeted):
    """A torque from outside at joints (a force at sliding ones), whatever their motors do."""

    keyword = "torque"
    kind = "joint"
    unit = "Nm"

    newton_metres: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_finite("A torque", self.newton_metres, "torque(leg_joint)=-20Nm@10..20")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [Force("qfrc_applied", anatomy.dof_rows(self.targets), None, self.newton_metres)]

    def __str__(self) -> str:
        return self._text(self.targets, value=self.newton_metres)


def _scaled_torque(anatomy: Anatomy, joints: Names, scale: float, loss: float = 0.0) -> list[Effect]:
    """Gain and bias together, so that position and velocity servos weaken like plain motors."""
    if not anatomy.has_model:
        return [ActionGain(anatomy.action_indices(joints), scale, loss)]
    rows = anatomy.motor_rows(joints)
    return [ModelChange(field, rows, scale, loss=loss) for field in ("actuator_gainprm", "actuator_biasprm")]
