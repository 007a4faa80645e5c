"""Named state and the filter f(s)."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygait.errors import UserError
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.walker import Walker
from polygait.tasks.state import StateFilter, StateLayout

WALKER = Walker.layout
patient = settings(deadline=None)  # a busy machine is no failure
LEGS = ("leg_1", "leg_2", "leg_3", "leg_4")
ANT_PARTS = {
    "torso.height": 1,
    "torso.orientation": 4,
    **{f"{leg}.position": 2 for leg in LEGS},
    "torso.linear_velocity": 3,
    "torso.angular_velocity": 3,
    **{f"{leg}.velocity": 2 for leg in LEGS},
}
PARTS = [
    (
        Hopper.layout,
        {"torso.position": 2, "leg.position": 3, "torso.velocity": 3, "leg.velocity": 3},
    ),
    (
        WALKER,
        {
            "torso.position": 2,
            "right_leg.position": 3,
            "left_leg.position": 3,
            "torso.velocity": 3,
            "right_leg.velocity": 3,
            "left_leg.velocity": 3,
        },
    ),
    (Ant().layout, ANT_PARTS | {"contact.forces": 78}),
    (Ant(contact_forces=False).layout, ANT_PARTS),
]


@pytest.mark.parametrize(("layout", "parts"), PARTS, ids=["hopper", "walker", "ant", "ant-no-forces"])
def test_layouts_have_exactly_these_parts_in_this_order(layout, parts):
    begin = 0
    for part, size in parts.items():
        assert layout.slice(part) == slice(begin, begin + size), part
        begin += size
    assert layout.size == begin == len(layout.names)
    assert {".".join(name.split(".")[:2]) for name in layout.names} == set(parts)


def test_leaves_carry_the_names_of_their_joints():
    assert WALKER.names[2:5] == tuple(f"right_leg.position.{joint}" for joint in ("thigh", "leg", "foot"))
    assert Ant().layout.names[0:5] == ("torso.height.z", *(f"torso.orientation.{axis}" for axis in "wxyz"))
    assert Ant().layout.names[-1] == "contact.forces.leg_4_lower.force_z"


@pytest.mark.parametrize(
    ("layout", "patterns", "indices"),
    [
        (WALKER, "right_leg.*", [2, 3, 4, 11, 12, 13]),
        (WALKER, "right_leg", [2, 3, 4, 11, 12, 13]),
        (WALKER, "*.position", list(range(8))),
        (WALKER, "right_leg.position.f*", [4]),
        (WALKER, "*.foot", [4, 7, 13, 16]),
        (WALKER, "torso.velocity.?", [8, 9]),
        (WALKER, ["left_leg.velocity", "torso.position.pitch"], [1, 14, 15, 16]),
        (WALKER, ["right_leg.*", "*.foot"], [2, 3, 4, 7, 11, 12, 13, 16]),
        (WALKER, "*", list(range(17))),
        (WALKER, [], []),
        (Ant().layout, "torso.orientation.w", [1]),
        (Ant().layout, "leg_[13].position", [5, 6, 9, 10]),
        (Ant().layout, "contact.forces", list(range(27, 105))),
        (Ant().layout, "contact.forces.torso", list(range(27, 33))),
        (Ant().layout, "contact.*.leg_1_lower.force_?", [48, 49, 50]),
    ],
)
def test_select_understands_globs_at_every_level(layout, patterns, indices):
    assert layout.select(patterns).tolist() == indices


def test_slices_of_leaves_and_of_parts_that_are_torn_apart():
    assert WALKER.slice("right_leg.position.foot") == slice(4, 5)
    with pytest.raises(UserError, match="not contiguous"):
        WALKER.slice("right_leg")


@pytest.mark.parametrize("ask", [WALKER.select, WALKER.slice, lambda part: StateFilter.remove(WALKER, part)])
def test_an_unknown_part_gets_near_matches(ask):
    with pytest.raises(UserError, match=r"right_legg.*\n.*'right_leg'"):
        ask("right_legg")


def test_one_unknown_pattern_among_good_ones_is_refused():
    with pytest.raises(UserError, match=r"arm\.\*"):
        StateFilter.keep(WALKER, ["torso.*", "arm.*"])


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("a", "a"), "twice"),
        (("a", "a.b"), "both a number and a part"),
        (("a.b.c", "a.b"), "both a number and a part"),
        (("",), "Not a state name"),
        (("a..b",), "Not a state name"),
        (("a.*",), "Not a state name"),
        (("a b",), "Not a state name"),
    ],
)
def test_ambiguous_names_are_refused(names, problem):
    with pytest.raises(UserError, match=problem) as caught:
        StateLayout(names)
    assert caught.value.remedy


FILTERS = {
    "remove": (StateFilter.remove(WALKER, "right_leg.*"), [0, 1, 5, 6, 7, 8, 9, 10, 14, 15, 16]),
    "keep": (StateFilter.keep(WALKER, ["torso.position", "*.velocity.foot"]), [0, 1, 13, 16]),
    "identity": (StateFilter.identity(WALKER), list(range(17))),
    "nothing": (StateFilter.nothing(WALKER), []),
}
each_filter = pytest.mark.parametrize(("state_filter", "kept"), FILTERS.values(), ids=FILTERS)


@each_filter
@pytest.mark.parametrize("shape", [(17,), (3, 17), (2, 3, 17)])
def test_filters_keep_the_named_numbers_of_numpy_and_jax_arrays(state_filter, kept, shape):
    state = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = state.reshape(-1, 17)[:, kept].reshape(*shape[:-1], len(kept))
    assert state_filter.size == len(kept)
    for filtered in (
        state_filter(state),
        state_filter(jnp.asarray(state)),
        jax.jit(state_filter)(jnp.asarray(state)),
    ):
        assert filtered.shape == expected.shape
        np.testing.assert_array_equal(filtered, expected)


def test_numpy_stays_numpy_and_jax_stays_jax():
    state_filter = FILTERS["keep"][0]
    assert isinstance(state_filter(np.zeros(17)), np.ndarray)
    assert isinstance(state_filter(jnp.zeros(17)), jax.Array)


@each_filter
def test_filters_survive_json(state_filter, kept):
    again = StateFilter.from_json(json.loads(json.dumps(state_filter.to_json())))
    assert again == state_filter
    assert list(again.kept) == kept


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"layout": ["a"]},
        {"layout": "a", "kept": []},
        {"layout": [1], "kept": []},
        {"layout": ["a"], "kept": ["b"]},
        {"layout": ["a"], "kept": 5},
        {"layout": ["a"], "kept": [5]},
        {"layout": ["a"], "kept": ["a"], "more": 1},
    ],
    ids=str,
)
def test_damaged_json_is_a_user_error(data):
    with pytest.raises(UserError):
        StateFilter.from_json(data)


@pytest.mark.parametrize("shape", [(16,), (18,), (17, 1), (4, 11), (0,), ()])
@pytest.mark.parametrize("array", [np.zeros, jnp.zeros])
def test_a_state_of_the_wrong_width_is_refused(shape, array):
    with pytest.raises(UserError, match=r"shape \(\.\.\., 17\)"):
        FILTERS["remove"][0](array(shape))


@pytest.mark.parametrize("kept", [(1, 0), (0, 0), (-1,), (17,)])
def test_indices_that_are_not_sorted_unique_and_within_are_refused(kept):
    with pytest.raises(UserError, match="sorted, unique and within"):
        StateFilter(WALKER, kept)


def test_a_filter_prints_a_readable_table():
    lines = str(StateFilter.remove(WALKER, ["right_leg.*", "left_leg.position.foot"])).splitlines()
    assert [line.split(maxsplit=2) for line in lines] == [
        ["part", "size", "f(s)"],
        ["torso.position", "2", "kept"],
        ["right_leg.position", "3", "removed"],
        ["left_leg.position", "3", "keeps 2"],
        ["torso.velocity", "3", "kept"],
        ["right_leg.velocity", "3", "removed"],
        ["left_leg.velocity", "3", "kept"],
        ["total", "17", "keeps 10"],
    ]
    assert len({line.index(line.split()[1]) + len(line.split()[1]) for line in lines}) == 1  # aligned
    assert str(WALKER) == str(StateFilter.identity(WALKER))


def test_numbered_layouts_have_generated_names():
    layout = StateLayout.numbered(3)
    assert layout.names == ("state.0", "state.1", "state.2")
    assert layout.select("state.[12]").tolist() == [1, 2]


words = st.text("abcxyz_0123", min_size=1, max_size=3)
trees = st.dictionaries(
    words,
    st.recursive(
        st.none(), lambda child: st.dictionaries(words, child, min_size=1, max_size=3), max_leaves=8
    ),
    min_size=1,
    max_size=4,
)


def leaf_names(tree, prefix=""):
    if tree is None:
        return [prefix]
    start = f"{prefix}." if prefix else ""
    return [name for word, child in tree.items() for name in leaf_names(child, f"{start}{word}")]


# Names, not layouts: type checks draw random numbers, which strategies may not.
leaves = trees.map(leaf_names).flatmap(st.permutations).map(tuple)


def prefixes(name):
    return [".".join(name.split(".")[: depth + 1]) for depth in range(name.count(".") + 1)]


@st.composite
def leaves_and_patterns(draw):
    names = draw(leaves)
    part = st.sampled_from(sorted({prefix for name in names for prefix in prefixes(name)}))
    glob = part.map(lambda name: name[: max(1, len(name) // 2)] + "*")
    return names, draw(st.lists(st.one_of(part, glob), min_size=1, max_size=3))


def test_a_filter_says_how_much_of_every_part_it_takes_away():
    layout = StateLayout(("torso.height", "leg.position.knee", "leg.position.foot", "leg.velocity.knee"))
    shares = StateFilter.remove(layout, ["leg.position.foot", "leg.velocity"]).removed_shares
    assert shares["torso"] == shares["leg.position.knee"] == 0.0
    assert shares["leg"] == pytest.approx(2 / 3)
    assert shares["leg.position"] == 0.5 and shares["leg.velocity"] == shares["leg.position.foot"] == 1.0


@patient
@given(leaves_and_patterns())
def test_keep_and_remove_partition_every_state(case):
    layout, patterns = StateLayout(case[0]), case[1]
    kept, removed = StateFilter.keep(layout, patterns), StateFilter.remove(layout, patterns)
    assert sorted(kept.kept + removed.kept) == list(range(layout.size))
    assert kept.kept_names == removed.removed_names
    assert kept.removed_names == removed.kept_names


@patient
@given(leaves_and_patterns())
def test_filtering_the_names_themselves_gives_the_kept_names(case):
    layout, patterns = StateLayout(case[0]), case[1]
    names = np.array(layout.names)
    for state_filter in (StateFilter.keep(layout, patterns), StateFilter.remove(layout, patterns)):
        assert tuple(state_filter(names)) == state_filter.kept_names
        if state_filter.size:
            assert StateFilter.keep(layout, state_filter.kept_names) == state_filter


@patient
@given(leaves_and_patterns())
def test_random_layouts_and_filters_survive_json(case):
    layout, patterns = StateLayout(case[0]), case[1]
    state_filter = StateFilter.keep(layout, patterns)
    assert StateLayout.from_json(json.loads(json.dumps(layout.to_json()))) == layout
    assert StateFilter.from_json(json.loads(json.dumps(state_filter.to_json()))) == state_filter
    assert str(state_filter).splitlines()[-1].split() == [
        "total",
        str(layout.size),
        "keeps",
        str(state_filter.size),
    ]


@patient
@given(leaves)
def test_every_part_covers_exactly_its_leaves(names):
    layout = StateLayout(names)
    assert set(layout.parts) == {prefix for name in names for prefix in prefixes(name)}
    for part, indices in layout.parts.items():
        expected = [
            index for index, name in enumerate(layout.names) if name == part or name.startswith(f"{part}.")
        ]
        assert list(indices) == expected == layout.select(part).tolist()
