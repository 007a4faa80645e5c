"""Feet in words, and the stretches of time in which they are down."""

import numpy as np
import pytest

from polygait.report.feet import foot_title, stretches


@pytest.mark.parametrize(
    ("name", "words"),
    [("right", "right foot"), ("front_left", "front left foot"), ("leg_1", "leg 1"), ("foot", "foot")],
)
def test_feet_in_words(name, words):
    assert foot_title(name) == words


@pytest.mark.parametrize(
    ("down", "expected"),
    [("0110", [(1, 3)]), ("1011", [(0, 1), (2, 4)]), ("000", []), ("1", [(0, 1)]), ("", [])],
)
def test_stretches_begin_and_end_where_the_foot_does(down, expected):
    assert stretches(np.array([step == "1" for step in down], dtype=bool)) == expected
