"""Whole numbers as people write them: 1000000, 1_000_000, 1e6, 250k, 1M."""

from __future__ import annotations

import decimal
import numbers
import re

WHOLE_NUMBER = "a whole number, such as 4096, 250k, 1M, 1e6 or 1_000_000"
LARGEST = 2**63 - 1
"""More would not fit the arrays that count."""
_WRITTEN = re.compile(r"([+-]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)([kKmM]?)")
_FACTORS = {"": 1, "k": 1000, "m": 1_000_000}


def read_count(text: str) -> int:
    """The whole number that a text spells; ValueError for any other text."""
    if (written := _WRITTEN.fullmatch(text.strip())) is None:
        raise ValueError(f"{text!r} is not {WHOLE_NUMBER}.")
    value = decimal.Decimal(written[1]) * _FACTORS[written[2].lower()]
    if value != value.to_integral_value():
        raise ValueError(f"{text!r} is not {WHOLE_NUMBER}.")
    if abs(value) > LARGEST:
        raise ValueError(f"{text!r} is too large: at most {LARGEST:,} can be counted.")
    return int(value)


def whole_number(value: object) -> int:
    """A Python one from NumPy's or from a real number without a fraction, such as 1e6; else ValueError."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and float(value).is_integer() and not isinstance(value, bool):
        return int(float(value))
    raise ValueError(f"{value!r} is not {WHOLE_NUMBER}.")


def count_in(value: object) -> int:
    """The whole number that a file's entry is, as a number or as a text; ValueError for any other."""
    return read_count(value) if isinstance(value, str) else whole_number(value)
