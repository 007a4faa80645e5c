"""Labels: none on another, in order, near what they name."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from polygait.report.pictures.labels import LINE, NOTE_LINE, Anchor, needed_height, place_labels

places = st.floats(0, 500)
notes = st.sampled_from(["", "leg.*"])
anchors = st.lists(st.builds(Anchor, st.text(), st.just("joint"), places, places, notes), max_size=30)


def room(found):
    return max(100.0, needed_height([one.height for one in found]))


@given(anchors)
def test_labels_never_overlap_and_stay_inside(found):
    top, bottom = 10.0, 10.0 + room(found)
    labels = place_labels(found, top, bottom)
    assert sorted(label.anchor for label in labels) == sorted(found)
    for left in (True, False):
        side = [label for label in labels if label.left == left]
        edges = [(label.y - label.anchor.height / 2, label.y + label.anchor.height / 2) for label in side]
        assert all(below[0] - above[1] >= -1e-6 for above, below in itertools.pairwise(edges))
        assert all(top - 1e-6 <= upper and lower <= bottom + 1e-6 for upper, lower in edges)
        assert [label.anchor.y for label in side] == sorted(label.anchor.y for label in side)


@given(anchors)
def test_the_sides_are_those_of_the_anchors(found):
    labels = place_labels(found, 0.0, room(found))
    left = [label.anchor.x for label in labels if label.left]
    right = [label.anchor.x for label in labels if not label.left]
    assert 0 <= len(left) - len(right) <= 1
    assert not right or max(left) <= min(right)


def test_neighbours_share_the_way():
    close = [Anchor("a", "joint", 0.0, 100.0), Anchor("b", "joint", 1.0, 100.0)]
    far = [Anchor("c", "joint", 9.0, 50.0), Anchor("d", "joint", 9.0, 300.0)]
    labels = place_labels([*close, *far], 0.0, 400.0)
    assert [label.y for label in labels] == [100 - LINE / 2, 100 + LINE / 2, 50, 300]


def test_a_label_with_a_note_is_higher():
    close = [Anchor("a", "joint", 0.0, 100.0, "leg.*"), Anchor("b", "joint", 1.0, 100.0)]
    above, below = place_labels([*close, Anchor("c", "joint", 9.0, 0.0)], 0.0, 400.0)[:2]
    assert below.y - above.y == LINE + NOTE_LINE / 2 and above.y + below.y == 200
