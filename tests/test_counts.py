"""Whole numbers as people write them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygait.counts import LARGEST, count_in, read_count, whole_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1000000", 1_000_000),
        ("1_000_000", 1_000_000),
        ("1e6", 1_000_000),
        ("1E+6", 1_000_000),
        ("1M", 1_000_000),
        ("1m", 1_000_000),
        ("0.25M", 250_000),
        ("250k", 250_000),
        ("2.5K", 2500),
        ("1e3k", 1_000_000),
        ("30e-1", 3),
        (" 5 ", 5),
        ("-3", -3),
        ("+4", 4),
        ("0", 0),
        ("9223372036854775807", LARGEST),
    ],
)
def test_a_count_is_read(text, value):
    assert read_count(text) == value
    assert type(read_count(text)) is int


@pytest.mark.parametrize(
    "text",
    [
        "",
        "many",
        "1.5",
        "0.0001k",
        "1e-3",
        "nan",
        "inf",
        "1,000",
        "1kk",
        "k",
        "0x10",
        "1e",
        "1 000",
        "--5",
        "_1",
    ],
)
def test_a_text_that_is_no_count_is_refused_with_the_rule(text):
    with pytest.raises(ValueError, match="is not a whole number, such as") as caught:
        read_count(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["1e30", "1e999", "9223372036854775808", "1e18k", "-1e19"])
def test_a_count_that_no_array_could_hold_is_refused(text):
    with pytest.raises(ValueError, match="too large: at most 9,223,372,036,854,775,807"):
        read_count(text)


@given(st.integers(-LARGEST, LARGEST))
def test_every_count_has_its_texts(value):
    assert read_count(str(value)) == read_count(f"{value:_}") == whole_number(value) == value


@given(st.text(max_size=12))
def test_any_text_is_a_count_or_a_value_error(text):
    try:
        assert isinstance(read_count(text), int)
    except ValueError as error:
        assert repr(text) in str(error)


@pytest.mark.parametrize("value", [1e6, 1_000_000, np.int32(1_000_000), np.float32(1e6), np.float64(1e6)])
def test_a_real_number_without_a_fraction_is_whole(value):
    assert whole_number(value) == 1_000_000
    assert type(whole_number(value)) is int


@pytest.mark.parametrize("value", [1.5, math.nan, math.inf, True, "5", None, 1j, [1]])
def test_anything_else_is_not(value):
    with pytest.raises(ValueError, match="is not a whole number"):
        whole_number(value)


def test_a_file_may_have_either():
    assert count_in("1M") == count_in(1e6) == count_in(1_000_000) == 1_000_000
    with pytest.raises(ValueError, match="is not a whole number"):
        count_in(True)
