"""Edits: what they refuse, and the primitive effects they come down to on a robot's anatomy."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from polygait.errors import UserError
from polygait.tasks.state import StateLayout
from polygait.variations import (
    ActionDelay,
    ActionGain,
    ActionLag,
    Anatomy,
    BrokenJoint,
    ModelChange,
    MotorFailure,
    ScaleDamping,
    ScaleFriction,
    ScaleGravity,
    ScaleMass,
    ScaleStrength,
    ScaleVoltage,
    SensorFailure,
    SensorFault,
    Variation,
)

LAYOUT = StateLayout.of({"torso.position": ("height", "pitch"), "leg.position": ("hip", "knee")})
# Rows differ between the tables, so that a mix-up of joints, degrees of freedom and actions shows.
ANATOMY = Anatomy(
    joints={"root": (0, 2), "hip": (1, 5), "knee": (2, 6)},
    bodies={"torso": 1, "thigh": 3, "shin": 4},
    geoms={"floor": 0, "shin_geom": 7},
    actions=["knee", "hip"],
    state=LAYOUT.select,
    battery=True,
)


def torque(rows, factor):
    return [
        ModelChange("actuator_gainprm", rows, factor),
        ModelChange("actuator_biasprm", rows, factor),
    ]


@pytest.mark.parametrize(
    ("edit", "effects"),
    [
        (
            BrokenJoint("knee"),
            [ModelChange("jnt_limited", (2,), 0, constant=1), ModelChange("jnt_range", (2,), 0.0)],
        ),
        (BrokenJoint("knee", "limp"), torque((0,), 0.0)),
        (BrokenJoint(["hip", "knee"], "weak", 0.4), torque((0, 1), 0.4)),
        (ScaleMass("thigh", 2.0), [ModelChange("body_mass", (3,), 2.0)]),
        (
            ScaleMass("thigh", 2.0, inertia=True),
            [ModelChange("body_mass", (3,), 2.0), ModelChange("body_inertia", (3,), 2.0)],
        ),
        (ScaleFriction("*_geom", 0.5), [ModelChange("geom_friction", (7,), 0.5, column=0)]),
        (ScaleDamping("hip", 3.0), [ModelChange("dof_damping", (5,), 3.0)]),
        (ScaleStrength("*", 0.7), torque((0, 1), 0.7)),
        (ScaleGravity(0.5), [ModelChange("opt.gravity", (0, 1, 2), 0.5)]),
        (ScaleVoltage(0.5), [ModelChange("actuator_user", (0, 1), 0.5, column=0)]),
        (MotorFailure("hip"), [ActionGain((1,), 0.0)]),
        (ActionDelay(3.0), [ActionLag(3)]),
        (SensorFailure("leg.*"), [SensorFault((2, 3), "zero", 0.0)]),
        (SensorFailure("*.pitch", "bias", -1.0), [SensorFault((1,), "bias", -1.0)]),
    ],
    ids=str,
)
def test_effects_of_every_edit(edit, effects):
    assert edit.effects(ANATOMY) == effects


def test_targets_that_overlap_count_once_in_the_order_of_the_model():
    assert ScaleMass(["shin", "*h*", "thigh"], 2.0).effects(ANATOMY) == [
        ModelChange("body_mass", (3, 4), 2.0)
    ]


@pytest.mark.parametrize(
    ("edit", "hint"),
    [
        (BrokenJoint("kne"), "'knee'"),
        (BrokenJoint("root", "limp"), "Known: hip, knee"),  # has no motor
        (BrokenJoint(["knee", "kne"], "limp"), "'knee'"),
        (ScaleMass("thig", 2.0), "'thigh'"),
        (ScaleFriction("flor", 2.0), "'floor'"),
        (ScaleDamping("hop", 2.0), "'hip'"),
        (ScaleStrength("root", 2.0), "Known: hip, knee"),
        (MotorFailure("knees"), "'knee'"),
        (SensorFailure("leg.positio"), "'leg.position'"),
        (SensorFailure(["leg.*", "arm.*"]), ""),
    ],
    ids=str,
)
def test_a_name_that_is_not_on_the_robot_is_refused_with_near_matches(edit, hint):
    with pytest.raises(UserError) as caught:
        edit.effects(ANATOMY)
    assert hint in caught.value.remedy
    assert caught.value.remedy


def test_a_task_without_bodies_says_what_works_instead():
    faceless = Anatomy(joints={}, bodies={}, geoms={}, actions=["0"], state=LAYOUT.select)
    with pytest.raises(UserError, match=r"no body.*\n.*something else: sensor"):
        ScaleMass("torso", 2.0).effects(faceless)


BAD_SCALES = [0.0, -1.0, math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("scale", BAD_SCALES)
@pytest.mark.parametrize(
    "make",
    [
        lambda scale: ScaleMass("a", scale),
        lambda scale: ScaleFriction("a", scale),
        lambda scale: ScaleDamping("a", scale),
        lambda scale: ScaleStrength("a", scale),
        ScaleGravity,
        lambda scale: BrokenJoint("a", "weak", scale),
        lambda scale: SensorFailure("a", "noise", scale),
    ],
    ids=["mass", "friction", "damping", "strength", "gravity", "weak", "noise"],
)
def test_scales_must_be_finite_and_above_zero(make, scale):
    with pytest.raises(UserError, match="finite scale above 0") as caught:
        make(scale)
    assert caught.value.remedy


@pytest.mark.parametrize("steps", [0.0, 101.0, 1.5, -1.0, math.nan, math.inf])
def test_delays_are_whole_and_bounded(steps):
    with pytest.raises(UserError, match="1 to 100 whole steps"):
        ActionDelay(steps)


@pytest.mark.parametrize("onset", [-1, True])
def test_onsets_are_whole_numbers(onset):
    with pytest.raises(UserError, match=r"(?i)onset must be a whole number"):
        ScaleGravity(2.0, onset=onset)


@pytest.mark.parametrize("targets", ["", (), ("a", ""), "a b", "a+b", "(a)", "a,b"])
def test_targets_are_names_that_the_language_can_write(targets):
    with pytest.raises(UserError, match="needs names of parts"):
        ScaleMass(targets, 2.0)


def test_modes_are_checked_by_name():
    with pytest.raises(UserError, match="'limp'"):
        BrokenJoint("a", "limpp")
    with pytest.raises(UserError, match="'noise'"):
        SensorFailure("a", "nois")


def test_variations_compose_in_order_and_stay_unchanged():
    first, second = ScaleMass("a", 2.0), BrokenJoint("b", onset=3)
    both = Variation((first,)) + second
    assert tuple(both) == (first, second)
    assert both + Variation((first,)) == Variation((first, second, first))
    assert str(both) == "mass(a)=2.0+broken(b)@3"
    assert str(Variation()) == "nominal"
    with pytest.raises(FrozenInstanceError):
        first.scale = 3.0  # type: ignore[misc]


def test_equal_edits_are_equal_however_they_were_written():
    assert ScaleMass("a", 2.0) == ScaleMass(["a"], 2.0) == ScaleMass(("a",), np.float64(2.0))
    assert ScaleMass("a", 2.0) != ScaleFriction("a", 2.0)
    assert len({ScaleMass("a", 2.0), ScaleMass(["a"], 2.0)}) == 1
