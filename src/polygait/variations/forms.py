"""The keywords of the language: which pieces each takes, and the edit it builds from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polygait.errors import UserError, unknown_name
from polygait.variations.edits import Edit, Targeted
from polygait.variations.physics_edits import (
    BrokenJoint,
    FadingStrength,
    GlobalScale,
    JointOffset,
    JointTorque,
    Push,
    Scale,
    ScaleDamping,
    ScaleFriction,
    ScaleGravity,
    ScaleMass,
    ScaleStrength,
    ScaleVoltage,
    Slope,
)
from polygait.variations.signal_edits import ActionDelay, Backlash, MotorFailure, SensorFailure
from polygait.variations.timing import Timing


class Words(NamedTuple):
    """The pieces of one edit's text."""

    name: str
    targets: tuple[str, ...] = ()
    mode: str = ""
    value: float | None = None
    unit: str = ""
    timing: Timing = Timing()
    low: float | None = None
    """Where a range begins that ends at `value`; only in training worlds."""

    @property
    def number(self) -> float:
        """The number of a form that needs one."""
        return self.value or 0.0

    @property
    def when(self) -> dict[str, Any]:
        """The timing as an edit wants it."""
        return self.timing._asdict()


class Form(NamedTuple):
    """Which pieces a keyword takes, and what it builds from them."""

    example: str
    build: Callable[[Words], Edit]
    kind: str = ""
    """Of part that its targets name; nothing where it takes none."""
    modes: tuple[str, ...] = ()
    numbered_modes: tuple[str, ...] = ()
    """Modes that need a number where the keyword itself does not."""
    number: bool = False
    unit: str = ""
    whole: bool = False
    """Whether the number counts something."""
    may_lack_targets: bool = False


def build_edit(words: Words, form: Form) -> Edit:
    """The edit of a keyword, once its pieces fit its form."""
    if bool(form.kind) != bool(words.targets) and not (form.may_lack_targets and not words.targets):
        verdict = "needs the names of its parts" if form.kind else "takes no names"
        raise UserError(f"{words.name} {verdict}.", f"Write {form.example}.")
    if words.mode and words.mode not in form.modes:
        raise unknown_name(f"mode of {words.name}", words.mode, form.modes)
    if form.number and words.value is None:
        raise UserError(f"{words.name} needs a number.", f"Write {form.example}.")
    if words.value is not None and not (form.number or (words.mode and form.modes)):
        raise UserError(f"{words.name} takes no number, got {words.value:g}.", f"Write {form.example}.")
    if words.unit and words.unit != form.unit:
        raise UserError(
            f"{words.name} is not measured in {words.unit}, got {words.value:g}{words.unit}.",
            f"Write {form.example}.",
        )
    return form.build(words)


def _scale(kind: type[Scale], example: str) -> Form:
    return Form(example, lambda w: kind(w.targets, w.number, **w.when), kind.kind, number=True)


def _global_scale(kind: type[GlobalScale], example: str) -> Form:
    return Form(example, lambda w: kind(w.number, **w.when), number=True)


def _measured(kind: type[Targeted], example: str) -> Form:
    """A keyword with targets and one number."""
    make: Any = kind
    return Form(
        example, lambda w: make(w.targets, w.number, **w.when), kind.kind, number=True, unit=kind.unit
    )


def _strength(words: Words) -> Edit:
    kind = FadingStrength if words.mode else ScaleStrength
    return kind(words.targets, words.number, **words.when)


KEYWORDS = {
    "broken": Form(
        "broken(foot_joint), broken(foot_joint):hold, broken(foot_joint):lock=0.3, broken(foot_joint):limp "
        "or broken(foot_joint):weak=0.4",
        lambda w: BrokenJoint(w.targets, w.mode or "lock", w.value, **w.when),
        BrokenJoint.kind,
        modes=BrokenJoint.modes,
        numbered_modes=("weak",),
    ),
    "mass": Form(
        "mass(foot)=1.5 or mass(foot):inertia=1.5",
        lambda w: ScaleMass(w.targets, w.number, inertia=bool(w.mode), **w.when),
        ScaleMass.kind,
        modes=("inertia",),
        number=True,
    ),
    "friction": _scale(ScaleFriction, "friction(foot_geom)=0.8"),
    "damping": _scale(ScaleDamping, "damping(*)=2"),
    "strength": Form(
        "strength(*)=0.7 or strength(*):fade=0.002",
        _strength,
        ScaleStrength.kind,
        modes=(FadingStrength.mode,),
        number=True,
    ),
    "offset": _measured(JointOffset, "offset(foot_joint)=0.1"),
    "backlash": _measured(Backlash, "backlash(foot_joint)=0.2"),
    "gravity": _global_scale(ScaleGravity, "gravity=0.5"),
    "slope": Form(
        "slope=5 or slope:side=5",
        lambda w: Slope(w.number, bool(w.mode), **w.when),
        modes=Slope.modes,
        number=True,
    ),
    "push": Form(
        "push=50N@200, push=50N@200..220 or push(torso):z=-50N@200",
        lambda w: Push(w.number, w.mode or "x", w.targets, **w.when),
        Push.kind,
        modes=Push.modes,
        number=True,
        unit=Push.unit,
        may_lack_targets=True,
    ),
    "torque": _measured(JointTorque, "torque(leg_joint)=-20Nm@10..20"),
    "voltage": _global_scale(ScaleVoltage, "voltage=0.8"),
    "sensor": Form(
        "sensor(torso.*), sensor(torso.*):freeze, sensor(torso.*):noise=0.1, sensor(torso.*):bias=0.2, "
        "sensor(torso.*):drift=0.01 or sensor(torso.*):drop=0.2",
        lambda w: SensorFailure(w.targets, w.mode or "zero", w.value, **w.when),
        SensorFailure.kind,
        modes=SensorFailure.modes,
        numbered_modes=("noise", "bias", "drift", "drop"),
    ),
    "motor": Form(
        "motor(foot_joint) or motor(foot_joint):drop=0.1",
        lambda w: MotorFailure(w.targets, w.mode or "dead", w.value, **w.when),
        MotorFailure.kind,
        modes=MotorFailure.modes,
        numbered_modes=("drop",),
    ),
    "delay": Form("delay=2", lambda w: ActionDelay(w.number, **w.when), number=True, whole=True),
}
FORMS = {keyword: form.example for keyword, form in KEYWORDS.items()}
"""An example of every keyword of the language."""
