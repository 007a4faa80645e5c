"""Variations as text: every edit reads back as itself, every bad text gives a UserError with a remedy."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygait.errors import UserError
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.walker import Walker
from polygait.variations import (
    FORMS,
    LAST_STEP,
    ActionDelay,
    Backlash,
    BrokenJoint,
    FadingStrength,
    JointOffset,
    JointTorque,
    MotorFailure,
    Push,
    ScaleDamping,
    ScaleFriction,
    ScaleGravity,
    ScaleMass,
    ScaleStrength,
    ScaleVoltage,
    SensorFailure,
    Slope,
    Timing,
    Variation,
    needs_number,
    parse_variation,
)

CONDITIONS = dict(Walker.conditions)
patient = settings(deadline=None)  # a busy machine is no failure

names = st.text(string.ascii_letters + string.digits + "_.-*?[]!:=@/", min_size=1, max_size=12)
targets = st.lists(names, min_size=1, max_size=3).map(tuple)
onsets = st.integers(0, 10**6)
scales = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)
finite = st.floats(allow_nan=False, allow_infinity=False)


shares = st.floats(min_value=0, max_value=1, exclude_min=True)
lengths = st.none() | st.integers(1, 10**6)
timings = st.one_of(
    st.tuples(onsets, lengths).map(lambda both: Timing(*both)),
    st.builds(lambda start, more, length: Timing(start, length, start + more), onsets, onsets, lengths),
    st.builds(lambda length: Timing(0, length, LAST_STEP), lengths),
    st.builds(
        lambda length, more: Timing(length + more, length, None, length + more), *[st.integers(1, 10**6)] * 2
    ),
)


def recipe(kind, *arguments, **options):
    """What to build, not the edit itself: type checks draw random numbers, which strategies may not."""
    when = timings.map(Timing._asdict)
    own = st.fixed_dictionaries(options)
    return st.tuples(
        st.just(kind), st.tuples(*arguments), st.tuples(when, own).map(lambda both: {**both[0], **both[1]})
    )


recipes = st.one_of(
    *(recipe(BrokenJoint, targets, st.just(mode)) for mode in ("lock", "limp", "hold")),
    recipe(BrokenJoint, targets, st.just("weak"), scales),
    recipe(BrokenJoint, targets, st.just("lock"), finite),
    recipe(FadingStrength, targets, shares),
    *(recipe(kind, targets, finite) for kind in (JointOffset, JointTorque)),
    recipe(Backlash, targets, scales),
    recipe(Slope, st.floats(-60, 60), st.booleans()),
    recipe(Push, finite, st.sampled_from("xyz"), st.lists(names, max_size=2).map(tuple)),
    recipe(SensorFailure, targets, st.just("drift"), finite),
    recipe(SensorFailure, targets, st.just("drop"), shares),
    recipe(MotorFailure, targets, st.just("drop"), shares),
    *(recipe(SensorFailure, targets, st.just(mode)) for mode in ("zero", "freeze")),
    recipe(SensorFailure, targets, st.just("noise"), scales),
    recipe(SensorFailure, targets, st.just("bias"), finite),
    recipe(ScaleMass, targets, scales, inertia=st.booleans()),
    *(recipe(kind, targets, scales) for kind in (ScaleFriction, ScaleDamping, ScaleStrength)),
    *(recipe(kind, scales) for kind in (ScaleGravity, ScaleVoltage)),
    recipe(MotorFailure, targets),
    recipe(ActionDelay, st.integers(1, 100).map(float)),
)
variations = st.lists(recipes, max_size=4)


def build(found):
    return Variation(tuple(kind(*arguments, **options) for kind, arguments, options in found))


def assert_reads_back(variation, conditions):
    again = parse_variation(str(variation), conditions)
    assert again == variation
    assert hash(again) == hash(variation)


@patient
@given(variations)
def test_every_variation_reads_back_as_itself(found):
    assert_reads_back(build(found), {})


@patient
@given(variations)
def test_conditions_do_not_disturb_the_verbs(found):
    assert_reads_back(build(found), CONDITIONS)


@pytest.mark.parametrize("number", [1e22, 1e300, 5e-324, 0.1 + 0.2])
def test_numbers_read_back_to_the_last_digit(number):
    assert_reads_back(Variation((ScaleMass("a", number, inertia=True), ScaleGravity(number))), {})
    assert_reads_back(Variation((SensorFailure("a", "bias", -number), ScaleGravity(number))), {})


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("broken-foot", [BrokenJoint("foot_joint")]),
        ("broken-foot:lock", [BrokenJoint("foot_joint")]),
        ("broken-foot@300", [BrokenJoint("foot_joint", onset=300)]),
        ("broken-foot:limp@300", [BrokenJoint("foot_joint", "limp", onset=300)]),
        ("broken-foot:weak=0.4@7", [BrokenJoint("foot_joint", "weak", 0.4, onset=7)]),
        ("foot-mass:inertia=1.5", [ScaleMass(("foot", "foot_left"), 1.5, inertia=True)]),
        (
            "foot-mass=1.5+foot-friction=0.8",
            [
                ScaleMass(("foot", "foot_left"), 1.5),
                ScaleFriction(("foot_geom", "foot_left_geom"), 0.8),
            ],
        ),
        ("right-leg-sensor", [SensorFailure("right_leg.position")]),
        ("right-leg-sensor:freeze@3", [SensorFailure("right_leg.position", "freeze", onset=3)]),
        ("right-leg-sensor:noise=0.1", [SensorFailure("right_leg.position", "noise", 0.1)]),
        ("right-leg-sensor:bias=-0.1", [SensorFailure("right_leg.position", "bias", -0.1)]),
        (
            " foot-mass=1e+1 + gravity=5e-1@2 ",
            [ScaleMass(("foot", "foot_left"), 10.0), ScaleGravity(0.5, onset=2)],
        ),
        ("mass( foot , leg )=2", [ScaleMass(("foot", "leg"), 2.0)]),
        ("gravity=.5+foot-mass=+.5", [ScaleGravity(0.5), ScaleMass(("foot", "foot_left"), 0.5)]),
        ("gravity=5.+push=5.N @3", [ScaleGravity(5.0), Push(5.0, onset=3)]),
        ("delay=2", [ActionDelay(2.0)]),
        ("motor(foot_joint,leg_joint)", [MotorFailure(("foot_joint", "leg_joint"))]),
        ("broken-foot:hold@300..500", [BrokenJoint("foot_joint", "hold", onset=300, duration=200)]),
        ("broken-foot:lock=-0.2@3..+4", [BrokenJoint("foot_joint", "lock", -0.2, onset=3, duration=4)]),
        ("broken-foot@random", [BrokenJoint("foot_joint", latest=LAST_STEP)]),
        ("broken-foot@random(5..9)..+2", [BrokenJoint("foot_joint", onset=5, latest=9, duration=2)]),
        ("gravity=2@every(50)..+5", [ScaleGravity(2.0, onset=50, period=50, duration=5)]),
        ("push=50N@200", [Push(50.0, onset=200)]),
        ("push(torso):z=-5 N@2..4", [Push(-5.0, "z", ("torso",), onset=2, duration=2)]),
        ("torque(a)=3Nm+slope:side=-5", [JointTorque("a", 3.0), Slope(-5.0, True)]),
        (
            "sensor(a):drift=0.01+motor(b):drop=0.1",
            [SensorFailure("a", "drift", 0.01), MotorFailure("b", "drop", 0.1)],
        ),
        ("nominal", []),
        (" nominal ", []),
    ],
)
def test_texts_mean_the_edits_they_name(text, meaning):
    assert parse_variation(text, CONDITIONS) == Variation(tuple(meaning))


def test_what_is_not_text_passes_through():
    edit = ScaleGravity(0.5)
    assert parse_variation(None, {}) == Variation()
    assert parse_variation(edit, {}) == Variation((edit,))
    assert parse_variation(Variation((edit,)), {}) == Variation((edit,))


@pytest.mark.parametrize("robot", [Hopper, Walker, Ant])
def test_every_named_condition_is_readable_and_round_trips(robot):
    for name, template in robot.conditions.items():
        number = "" if template.startswith(("broken", "sensor", "motor")) else "=1.5"
        variation = parse_variation(f"{name}{number}@4", robot.conditions)
        assert [edit.timing for edit in variation] == [Timing(4)]
        assert str(variation) == f"{template}{number}@4"
        assert parse_variation(str(variation), {}) == variation


@pytest.mark.parametrize("keyword", FORMS)
def test_the_example_of_every_keyword_is_readable(keyword):
    for text in FORMS[keyword].replace(" or ", ", ").split(", "):
        assert [edit.keyword for edit in parse_variation(text, {})] == [keyword]


BAD = [
    ("broken-fot", "'broken-foot'"),
    ("bork(foot_joint)", "'broken'"),
    ("broken-foot:limpy", "'limp'"),
    ("broken(foot_joint):zero", "Known: hold, limp, lock, weak"),
    ("sensor(torso.*):frezze", "'freeze'"),
    ("foot-mass:inertias=2", "'inertia'"),
    ("friction(foot_geom):inertia=2", "There is none"),
    ("foot-mass", "mass(foot)=1.5"),
    ("gravity", "gravity=0.5"),
    ("delay", "delay=2"),
    ("foot-mass=0", "=1.5"),
    ("foot-mass=-1", "=1.5"),
    ("foot-mass=nan", "=1.5"),
    ("foot-mass=inf", "=1.5"),
    ("gravity=0", "=1.5"),
    ("gravity=-inf", "=1.5"),
    ("broken-foot:weak", "=1.5"),
    ("broken-foot:weak=0", "limp"),
    ("broken-foot:limp=0.4", "weak=0.4"),
    ("broken-foot=0.4", "weak=0.4"),
    ("motor(foot_joint)=2", "motor(foot_joint)"),
    ("motor(foot_joint):limp", "Known: dead, drop"),
    ("sensor(torso.*):noise", "=1.5"),
    ("sensor(torso.*):noise=-0.1", "=1.5"),
    ("sensor(torso.*):bias", "bias=0.1"),
    ("sensor(torso.*):bias=nan", "bias=0.1"),
    ("sensor(torso.*):zero=1", "bias=…"),
    ("delay=0", "delay=2"),
    ("delay=1.5", "delay=2"),
    ("delay=101", "delay=2"),
    ("delay=nan", "delay=2"),
    ("delay(foot)=2", "delay=2"),
    ("gravity(foot)=2", "gravity=0.5"),
    ("mass=2", "mass(foot)=1.5"),
    ("mass()=2", "mass(NAME)"),
    ("mass(foot,)=2", "mass(NAME)"),
    ("mass(foo t)=2", "mass(NAME)"),
    ("broken-foot(leg_joint)", "broken(foot_joint)"),
    ("foot-mass=heavy", "foot-mass=1.5"),
    ("foot-mass=1.5+2", "foot-mass=1.5"),
    ("", "join several with '+'"),
    ("+", "join several with '+'"),
    ("foot-mass=1.5+", "join several with '+'"),
    ("+foot-mass=1.5", "join several with '+'"),
    ("foot-mass=1.5++gravity=2", "join several with '+'"),
    ("broken-foot@", "NAME@300"),
    ("broken-foot@-1", "NAME@300"),
    ("broken-foot@1.5", "NAME@300"),
    ("broken-foot@3@4", "NAME@300"),
    ("foot-mass==2", "NAME=1.5"),
    ("mass(foot", "KEYWORD(TARGET,…)"),
    ("!?", "NAME"),
    ("Broken-Foot", "NAME"),
    ("broken-foot@" + "9" * 5000, ""),
    ("broken-foot@5..5", "NAME@300..500"),
    ("broken-foot@5..", "NAME@300..500"),
    ("broken-foot@..5", "NAME@300..500"),
    ("broken-foot@random..9", "NAME@random"),
    ("broken-foot@random(9..5)", "@random(100..400)"),
    ("broken-foot@every(0)..+1", "@300"),
    ("broken-foot@every(9)", "@every(200)..+20"),
    ("broken-foot@every(9)..+9", "@every(200)..+20"),
    ("broken-foot:hold=1", "lock=0.3"),
    ("broken-foot:lock=nan", "radians"),
    ("broken(any(*))", "train in worlds"),
    ("broken(each(*))", "train in worlds"),
    ("broken(<any:*>):weak=0.1..0.5", "train in worlds"),
    ("broken(some(*))", "broken(NAME)"),
    ("broken-foot:weak=0.1..0.5", "train in worlds"),
    ("broken-foot:weak=.1...5", "foot-mass=1.5"),
    ("foot-mass=1.5+.5", "foot-mass=1.5"),
    ("foot-mass=.", "foot-mass=1.5"),
    ("sensor(torso.*):drop=0", "drop=0.2"),
    ("sensor(torso.*):drop=1.5", "drop=0.2"),
    ("sensor(torso.*):drift", "drift=0.1"),
    ("motor(foot_joint):drop=-1", "drop=0.1"),
    ("strength(*):fade=2", "fade=0.002"),
    ("backlash(*)=0", "=1.5"),
    ("offset(foot_joint)=inf", "radians"),
    ("slope=80", "slope=5"),
    ("slope=nan", "slope=5"),
    ("push", "push=50N@200"),
    ("push=50kg", "foot-mass=1.5"),
    ("push=inf", "push=50N@200"),
    ("push:up=5N", "Known: x, y, z"),
    ("gravity=2N", "gravity=0.5"),
    ("torque=5Nm", "torque(leg_joint)"),
]


@pytest.mark.parametrize(("text", "hint"), BAD, ids=[text[:30] or "empty" for text, _ in BAD])
def test_a_bad_text_gives_a_user_error_with_a_remedy(text, hint):
    with pytest.raises(UserError) as caught:
        parse_variation(text, CONDITIONS)
    assert caught.value.problem
    assert caught.value.remedy
    assert hint in caught.value.remedy


def test_a_condition_keeps_the_onset_its_own_text_gives():
    """An onset that a robot's file writes is not silently dropped."""
    conditions = {"late-break": "broken(foot_joint)@300"}
    assert str(parse_variation("late-break", conditions)) == "broken(foot_joint)@300"
    assert str(parse_variation("late-break@5", conditions)) == "broken(foot_joint)@5"


WORN = {
    "foot-mass": "mass(foot)",
    "worn": "broken(foot_joint)+friction(foot_geom)=0.5",
    "older": "mass(foot)+damping(*)+gravity=1.1@9",
    "wreck": "worn+foot-mass=3+sensor(torso.*):noise",
}


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("worn", "broken(foot_joint)+friction(foot_geom)=0.5"),
        ("worn@20", "broken(foot_joint)@20+friction(foot_geom)=0.5@20"),
        ("delay=2+worn", "delay=2.0+broken(foot_joint)+friction(foot_geom)=0.5"),
        ("older=2", "mass(foot)=2.0+damping(*)=2.0+gravity=1.1@9"),
        ("older=2@3", "mass(foot)=2.0@3+damping(*)=2.0@3+gravity=1.1@3"),
        (
            "wreck=0.1",
            "broken(foot_joint)+friction(foot_geom)=0.5+mass(foot)=3.0+sensor(torso.*):noise=0.1",
        ),
    ],
)
def test_a_condition_may_stand_for_several_edits(text, meaning):
    assert str(parse_variation(text, WORN)) == meaning


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("worn=2", "has all its numbers"),
        ("worn:limp", "takes no mode"),
        ("worn(foot)", "names its parts itself"),
        ("older", "mass needs a number"),
    ],
)
def test_what_several_edits_cannot_be_handed_is_explained(text, problem):
    with pytest.raises(UserError, match=problem) as caught:
        parse_variation(text, WORN)
    assert caught.value.remedy


def test_a_condition_that_stands_for_itself_is_refused():
    for conditions in ({"round": "round+delay=2"}, {"round": "trip", "trip": "delay=2+round"}):
        with pytest.raises(UserError, match="Unknown variation: 'round'"):
            parse_variation("round", conditions)


def test_which_conditions_leave_a_number_to_their_user():
    assert [name for name in WORN if needs_number(name, WORN)] == ["foot-mass", "older", "wreck"]


WORDS = [
    "limp",
    "N",
    "Nm",
    "..",
    "random",
    "every(9)",
    "any(*)",
    "each(",
    "<any:*>",
    ".5",
    "5.",
    "1e308",
    "drop",
    "fade",
    "noise",
    "inertia",
    "1.5",
    "0",
    "-1",
    "1e+3",
    "nan",
    "inf",
    "foot",
    "torso.*",
    "٣",
    "²",
    "_",
]
tokens = st.sampled_from([*CONDITIONS, *FORMS, "nominal", *"()+:=@,. *", *WORDS])


@patient
@given(st.one_of(st.text(max_size=40), st.lists(tokens, max_size=8).map("".join)))
def test_any_text_is_either_read_or_refused_with_a_user_error(text):
    try:
        variation = parse_variation(text, CONDITIONS)
    except UserError as error:
        assert error.remedy
    else:
        assert parse_variation(str(variation), {}) == variation
