"""Values of another kind than a record's fields name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest

from polygait.config import checked_kinds
from polygait.errors import UserError


@dataclass(frozen=True)
class Wish:
    count: int = 1
    share: float | None = None
    names: tuple[str, ...] | str | None = ()
    suite: str | Sequence[Any] = ""
    colour: Literal["red"] = "red"
    loud: bool = False


@pytest.fixture(autouse=True)
def as_users_call(unchecked_annotations):
    """Records take any value."""


@pytest.mark.parametrize(
    "changes",
    [
        {"count": np.int64(3)},
        {"share": 2},
        {"share": np.float32(0.5)},
        {"share": None},
        {"names": ["a", "b"]},
        {"names": "a"},
        {"suite": ["a"]},
        {"loud": True},
    ],
)
def test_what_fits_stays_as_it_is(changes):
    wish = replace(Wish(), **changes)
    assert checked_kinds(wish) is wish


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"count": "3"}, "count must be a whole number, got '3'."),
        ({"count": True}, "count must be a whole number, got True."),
        ({"count": 1.5}, "count must be a whole number, got 1.5."),
        ({"count": None}, "count must be a whole number, got None."),
        ({"share": "x"}, "share must be a number or None, got 'x'."),
        ({"share": False}, "share must be a number or None, got False."),
        ({"names": 3}, "names must be a list of texts, a text or None, got 3."),
        ({"names": ("a", 3)}, "names must be a list of texts, a text or None, got ('a', 3)."),
        ({"suite": {1}}, "suite must be a text or a list, got {1}."),
    ],
)
def test_what_does_not_fit_is_named_with_its_rule(changes, told):
    with pytest.raises(UserError) as caught:
        checked_kinds(replace(Wish(), **changes))
    assert caught.value.problem == told


def test_all_that_does_not_fit_is_told_at_once():
    with pytest.raises(UserError) as caught:
        checked_kinds(Wish(count="3", share="x"))  # type: ignore[arg-type]
    assert len(caught.value.problem.splitlines()) == 2
    assert "count, share" in caught.value.remedy
