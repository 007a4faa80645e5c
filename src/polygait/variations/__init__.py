"""How the world changes: a broken joint, a heavier foot, a dead sensor."""

from polygait.variations.edits import (
    ActionDelay,
    BrokenJoint,
    Edit,
    GlobalScale,
    MotorFailure,
    Scale,
    ScaleDamping,
    ScaleFriction,
    ScaleGravity,
    ScaleMass,
    ScaleStrength,
    ScaleVoltage,
    SensorFailure,
    Variation,
)
from polygait.variations.effects import (
    ActionGain,
    ActionLag,
    Anatomy,
    Effect,
    ModelChange,
    SensorFault,
)
from polygait.variations.language import (
    FORMS,
    check_conditions,
    needs_number,
    parse_variation,
)

__all__ = [
    "ActionDelay",
    "ActionGain",
    "ActionLag",
    "Anatomy",
    "BrokenJoint",
    "Edit",
    "Effect",
    "GlobalScale",
    "ModelChange",
    "MotorFailure",
    "Scale",
    "ScaleDamping",
    "ScaleFriction",
    "ScaleGravity",
    "ScaleMass",
    "ScaleStrength",
    "ScaleVoltage",
    "SensorFailure",
    "SensorFault",
    "FORMS",
    "Variation",
    "check_conditions",
    "needs_number",
    "parse_variation",
]
