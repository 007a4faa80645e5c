"""Strict JSON: numbers JSON lacks are spelled "NaN", "Infinity" and "-Infinity", and read back as numbers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from polygait.errors import UserError

_MOST_LEVELS = 64
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_plain(value: Any, where: str = "value") -> Any:
    """A value as strict JSON can hold it; NumPy numbers and arrays become plain ones."""
    if _deeper(value, _MOST_LEVELS):
        raise UserError(f"{where} is nested more than {_MOST_LEVELS} levels deep.", "Flatten it.")
    return _spelled(value, where)


def _spelled(value: Any, where: str) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        if unfit := [key for key in value if not isinstance(key, str)]:
            raise UserError(f"JSON keys must be text, got {unfit[0]!r} in {where}.", "Use str(key).")
        return {key: _spelled(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, str) and value in _NUMBERS:
        raise UserError(f"{where} is the text {value!r}, which stands for a number.", "Use another word.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UserError(
        f"{where} cannot be written as JSON: it is a {type(value).__name__}.",
        "Use numbers, text, lists and dicts.",
    )


def from_plain(value: Any) -> Any:
    """The value that to_plain() spelled."""
    if isinstance(value, dict):
        return {key: from_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def canonical(plain: Any) -> bytes:
    """The one spelling of plain data, for checksums and for lines."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def parse(data: bytes) -> Any:
    """Plain data from strict JSON; ValueError for anything else, however deep or long."""
    try:
        plain = json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        plain = None
    if plain is None or _deeper(plain, _MOST_LEVELS):
        raise ValueError("empty or nested too deeply")
    return plain


def _deeper(value: Any, levels: int) -> bool:
    """Whether lists and dicts lie in each other beyond so many levels."""
    if not isinstance(value, dict | list | tuple):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper(item, levels - 1) for item in inner)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
