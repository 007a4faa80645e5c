"""Training worlds: what a mixture's text means, how often each world comes, and what is refused."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygait.errors import UserError
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.walker import Walker
from polygait.variations import (
    FORMS,
    ActionDelay,
    BrokenJoint,
    Push,
    ScaleFriction,
    TrainingWorlds,
    Whose,
    deals_parts,
    parse_variation,
)

TASK = MujocoTask(Walker(), num_threads=1)
MOTORS = set(TASK.anatomy.actions)
EXAMPLE = "nominal*4, broken(any(*)), broken(any(*)):weak=0.2..0.8, foot-friction=0.5..2, delay=0..2"


def worlds(text):
    return TrainingWorlds(text, TASK.conditions, TASK.anatomy)


def parts(edit: Any) -> tuple[str, ...]:
    return edit.targets


def draws(text, count=2000, share=1.0):
    mixture, generator = worlds(text), np.random.default_rng(0)
    return [mixture.draw(generator, share) for _ in range(count)]


def test_worlds_come_as_often_as_their_weights_say():
    found = Counter(
        next((edit.keyword for edit in one), "nominal") for one in draws("nominal*3, gravity=2, motor(*)*0.5")
    )
    shares = {name: count / 2000 for name, count in found.items()}
    assert shares == pytest.approx({"nominal": 3 / 4.5, "gravity": 1 / 4.5, "motor": 0.5 / 4.5}, abs=0.03)


def test_any_is_one_of_the_matches_and_a_glob_is_all():
    one, all_of_them = draws("broken(any(*))"), draws("broken(foot*):limp", 1)[0]
    chosen = Counter(parts(edit) for variation in one for edit in variation)
    assert set(chosen) == {(name,) for name in MOTORS}  # and none of the joints that carry the robot along
    assert min(chosen.values()) > 200
    assert parts(next(iter(all_of_them))) == ("foot*",)


def test_each_deals_the_matches_out_to_members_in_turn():
    text = "nominal, broken(each(foot*,leg_joint)):weak=0.2..0.8"
    generator, order = np.random.default_rng(0), ("foot_joint", "foot_left_joint", "leg_joint")
    for member in range(7):
        mixture = TrainingWorlds(text, TASK.conditions, TASK.anatomy, Whose(member, 7))
        found = {parts(edit) for _ in range(50) for edit in mixture.draw(generator)}
        assert found == {(order[member % 3],)}
        assert {parts(edit) for variation in mixture.extremes() for edit in variation} == found
    assert deals_parts(text)
    assert not deals_parts("nominal, broken(any(foot*))")


@pytest.mark.parametrize("members", range(1, 9))
def test_each_leaves_no_part_to_nobody(members):
    dealt = [
        {parts(edit) for variation in mixture.extremes() for edit in variation}
        for member in range(members)
        for mixture in [
            TrainingWorlds("broken(each(*))", TASK.conditions, TASK.anatomy, Whose(member, members))
        ]
    ]
    assert set.union(*dealt) == {(name,) for name in MOTORS}
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert min(map(len, dealt)) >= 1
    assert sum(map(len, dealt)) == max(members, len(MOTORS))


def test_every_row_of_a_task_has_the_worlds_of_its_member():
    task = MujocoTask(Walker(), num_envs=6, num_threads=1)
    task.set_worlds("broken(each(leg_joint,foot_joint))", [Whose(row // 2, 3) for row in range(6)])
    task.reset()
    broken = [parts(next(iter(variation)))[0] for variation in task.variations]
    assert broken == ["leg_joint"] * 2 + ["foot_joint"] * 2 + ["leg_joint"] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mass(any(foot*))=2", {"foot", "foot_left"}),
        ("friction(any(*_left_geom))=2", {"thigh_left_geom", "leg_left_geom", "foot_left_geom"}),
        ("sensor(any(*_leg.position))", {"right_leg.position", "left_leg.position"}),
        ("sensor(any(*))", {"torso", "right_leg", "left_leg"}),
        ("motor(any(foot_joint,leg*))", {"foot_joint", "leg_joint", "leg_left_joint"}),
        ("broken(any(root*))", {"rootx", "rootz", "rooty"}),
    ],
)
def test_any_chooses_among_the_parts_that_a_keyword_names(text, expected):
    assert {parts(edit)[0] for variation in draws(text, 200) for edit in variation} == expected


def test_ranges_are_drawn_evenly():
    scales = [
        edit.scale for one in draws("foot-friction=0.5..2") for edit in one if isinstance(edit, ScaleFriction)
    ]
    assert len(scales) == 2000 and min(scales) >= 0.5 and max(scales) <= 2
    assert np.quantile(scales, [0.25, 0.5, 0.75]) == pytest.approx([0.875, 1.25, 1.625], abs=0.06)


def test_a_delay_is_drawn_among_whole_steps_and_none_is_the_nominal_world():
    found = Counter(
        next((edit.steps for edit in one if isinstance(edit, ActionDelay)), 0) for one in draws("delay=0..2")
    )
    assert set(found) == {0, 1, 2} and min(found.values()) > 550


def test_a_world_may_have_several_edits_and_times():
    for one in draws("broken(any(*)):hold@random+push=-20..20N@every(50)+delay=1..3", 50):
        broken, push, delay = one
        assert isinstance(broken, BrokenJoint) and broken.mode == "hold" and broken.latest is not None
        assert isinstance(push, Push) and push.period == 50 and -20 <= push.newtons <= 20
        assert isinstance(delay, ActionDelay) and 1 <= delay.steps <= 3


def test_only_a_share_of_the_faulty_worlds_takes_place():
    assert not any(variation.edits for variation in draws("nominal, gravity=2", share=0.0))
    half = sum(bool(variation.edits) for variation in draws("nominal, gravity=2", share=0.5))
    assert half == pytest.approx(500, abs=70)


def test_no_draw_lies_beyond_the_extremes():
    possible = worlds(EXAMPLE).extremes()
    kinds = {tuple((type(edit), getattr(edit, "targets", ())) for edit in one) for one in possible}
    for one in draws(EXAMPLE, 300):
        assert tuple((type(edit), getattr(edit, "targets", ())) for edit in one) in kinds


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("foot-friction=.5..2.", "foot-friction=0.5..2"),
        ("foot-friction=+.5..+2", "foot-friction=0.5..2"),
        ("foot-mass=1e+0..2.e0", "foot-mass=1..2"),
        ("push=-.5..5N", "push=-0.5..5N"),
        ("push= 1 N .. 5 N @3", "push=1..5N@3"),
        ("nominal*.5, delay=1", "nominal*0.5, delay=1"),
        ("nominal*5., delay=1*1e1", "nominal, delay=1*2"),
        ("broken( any( foot* , leg* ) )", "broken(any(foot*,leg*))"),
    ],
)
def test_numbers_and_names_may_be_spelled_otherwise(text, same):
    assert draws(text, 50) == draws(same, 50)


BAD = [
    ("", "NAME"),
    ("nominal,", "NAME"),
    ("nominal*0", "Leave a world out"),
    ("nominal*-1", "above 0"),
    ("nominal*1e7", "at most 1,000,000"),
    (f"nominal*{'9' * 400}", "got inf"),
    ("nominal*1.2.3", "Not a number: '1.2.3'"),
    ("brokn(any(*))", "'broken'"),
    ("broken(any(elbow))", "Known"),
    ("broken(any())", "Known"),
    ("broken(<any:foot*>)", "Unknown joint: '<any:foot*>'"),
    ("broken(some(*))", "broken(NAME)"),
    ("broken(any(*):weak=0.5", "Cannot read 'broken(any(*):weak=0.5'"),
    ("broken(any(*))@random(.3..5)", "in 'broken(any(*))@random(.3..5)'"),
    ("broken-foot(any(*))", "names its parts itself, got ('any(*)',)"),
    ("delay(any(*))=2", "delay takes no names"),
    ("foot-friction=2..0.5", "0.5..2"),
    ("foot-friction=0..2", "=1.5"),
    ("foot-friction=a..b", "foot-mass=1.5"),
    ("foot-friction=0...5", "Not a number: '0...5'"),
    ("foot-friction=1..2..3", "Not a number: '2..3'"),
    ("foot-friction=..2", "foot-mass=1.5"),
    ("push=1Nm..5N", "same unit"),
    ("push=1N..5", "same unit"),
    ("gravity=1N..2", "Write 1..2."),
    ("gravity=1..2N", "not measured in N"),
    ("sensor(torso):bias=-1e308..1e308", "must be finite"),
    ("sensor(torso):bias=nan..1", "must be finite"),
    ("delay=nan..2", "must be finite"),
    ("delay=-inf..2", "must be finite"),
    ("delay=0.5..2", "0..2"),
    ("delay=0..200", "delay=2"),
    ("broken(any(*)):weak=0..0.5", "limp"),
    ("broken(any(*))@5..2", "NAME@300..500"),
    ("mass(any(foot)", "NAME"),
    ("any(*)", "Unknown variation: 'any'"),
]


@pytest.mark.parametrize(("text", "hint"), BAD, ids=[text[:40] or "empty" for text, _ in BAD])
def test_a_bad_mixture_gives_value_rule_and_remedy(text, hint):
    with pytest.raises(UserError) as caught:
        worlds(f"nominal*2, {text}" if text != "" else text)
    assert text in str(caught.value) or text.removesuffix(",") in str(caught.value)
    assert hint in str(caught.value)
    assert "for training worlds" not in str(caught.value)
    assert "broken(any(*))" in caught.value.remedy


def test_every_bad_world_is_named_at_once():
    with pytest.raises(UserError) as caught:
        worlds("brokn(*), delay=0..2, mass(fot)=2")
    assert "brokn" in str(caught.value) and "'foot'" in str(caught.value)


tokens = st.sampled_from(
    [
        *TASK.conditions,
        *(
            "broken",
            "delay",
            "push",
            "sensor(torso):bias",
            "any(*)",
            "each(",
            "any(",
            "<any:*>",
            "foot*",
            "nominal",
        ),
        *("..", "random", "2", "0.5", ".5", "5.", "-1", "1e308", "nan", "inf", "N", "Nm", "\n"),
        *"()*,=@+: .<>;",
    ]
)
numbers = st.sampled_from(
    ["0", "1", "2", "-1", ".5", "5.", "+.5", "1e+2", "-1e308", "1e308", "5e-324", "nan", "inf", "x", ""]
)
ends = st.tuples(numbers, st.sampled_from(["", "", "", "N", "Nm", " N "])).map("".join)
almost_edits = st.tuples(
    st.sampled_from([*TASK.conditions, *FORMS, "nominal"]),
    st.sampled_from(
        ["", "(any(*))", "(*)", "(each(foot*,leg*))", "(<any:*>)", "(foot*)", "(torso)", "(any(*)", "()"]
    ),
    st.sampled_from(
        ["", "", ":weak", ":lock", ":bias", ":drop", ":freeze", ":y", ":side", ":inertia", ":fade"]
    ),
    st.one_of(
        st.just(""),
        ends.map("={}".format),
        st.tuples(ends, ends).map(lambda both: "={}..{}".format(*both)),
        st.tuples(ends, ends).map(lambda both: "={}...{}".format(*both)),
    ),
    st.sampled_from(["", "", "@3", "@3..5", "@random", "@random(.5..2)", "@every(9)..+2", "@"]),
).map("".join)
almost_worlds = st.tuples(
    st.lists(almost_edits, min_size=1, max_size=3).map("+".join),
    st.sampled_from(["", "*2", "*.5", "*-1", "*", "*1e999"]),
).map("".join)
texts = st.one_of(
    st.text(max_size=30),
    st.lists(tokens, max_size=10).map("".join),
    st.lists(almost_worlds, max_size=3).map(", ".join),
)


@settings(deadline=None, max_examples=400)
@given(texts)
def test_any_text_is_drawn_from_or_refused(text):
    try:
        mixture = worlds(text)
    except UserError as error:
        assert error.remedy
        return
    generator = np.random.default_rng(0)
    for variation in [*mixture.extremes(), *(mixture.draw(generator) for _ in range(5))]:
        for edit in variation:
            edit.effects(TASK.anatomy)


@settings(deadline=None, max_examples=200)
@given(st.lists(almost_edits, min_size=1, max_size=2).map("+".join))
def test_a_variation_is_a_world_of_its_own(text):
    try:
        variation = parse_variation(text, TASK.conditions)
        for edit in variation:
            edit.effects(TASK.anatomy)
    except UserError:
        return
    assert worlds(text).draw(np.random.default_rng(0)) == variation
