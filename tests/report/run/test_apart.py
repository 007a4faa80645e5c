"""Marks are moved apart, and no further than they must."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polygait.report.run.apart import moved_apart

ROOM = (320.0, 340.0)
places = arrays(np.float64, st.tuples(st.integers(0, 10), st.just(2)), elements=st.floats(0, 320))


def distances(found):
    gaps = np.linalg.norm(found[:, None] - found[None], axis=-1)
    return gaps[np.triu_indices(len(found), 1)]


@settings(deadline=None)
@given(places)
def test_ten_marks_never_hide_each_other(found):
    moved = moved_apart(found, 30.0, ROOM)
    assert distances(moved).min(initial=30.0) > 25.0
    assert (moved >= 0).all() and (moved <= ROOM).all()


def test_whoever_is_free_stays_and_two_share_the_way():
    near = np.array([[100.0, 100.0], [110.0, 100.0], [300.0, 300.0]])
    moved = moved_apart(near, 30.0, ROOM)
    np.testing.assert_allclose(moved, [[90, 100], [120, 100], [300, 300]], atol=0.5)


def test_all_at_one_place_part_in_all_directions():
    moved = moved_apart(np.full((6, 2), 150.0), 30.0, ROOM)
    assert distances(moved).min() > 29.0
    assert np.linalg.norm(moved - 150.0, axis=1).max() < 60.0
