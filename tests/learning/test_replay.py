"""The memory keeps the newest transitions, gives them back as they were, and draws them evenly."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygait.errors import UserError
from polygait.learning.replay import Replay, transitions

SIZES = (3, 2)
SEED = np.array([1, 2], np.uint32)


def steps(first: int, count: int) -> list[np.ndarray]:
    """Steps that can be told apart by their reward, in the order of Transition."""
    number = np.arange(first, first + count)
    return [
        number[:, None] + np.array([0.1, 0.2, 0.3]),
        -number[:, None] + np.array([0.5, 0.25]),
        number.astype(float),
        number % 3 == 0,
        number[:, None] + np.array([0.4, 0.5, 0.6]),
    ]


def rewards(replay: Replay) -> list[float]:
    return sorted(replay.snapshot()["rows"][:, 5].tolist())


@given(st.lists(st.integers(1, 7), max_size=12), st.integers(7, 12))
def test_the_newest_are_remembered(counts, capacity):
    replay, total = Replay(capacity, SIZES), 0
    for count in counts:
        replay.add(steps(total, count))
        total += count
    assert len(replay) == min(total, capacity)
    assert rewards(replay) == list(range(max(0, total - capacity), total))


def test_rows_mean_what_was_put_in():
    replay = Replay(10, SIZES)
    replay.add(steps(4, 6))
    drawn = transitions(jnp.asarray(replay.draw(SEED, (2, 50))), SIZES)
    assert drawn.observation.shape == (2, 50, 3)
    number = np.asarray(drawn.reward).astype(int)
    assert set(number.ravel()) == set(range(4, 10))
    expected = steps(0, 10)
    for found, known in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(found, np.asarray(known)[number], rtol=1e-6)
    assert drawn.terminated.dtype == bool


def test_a_seed_draws_the_same_and_evenly():
    replay = Replay(8, SIZES)
    replay.add(steps(0, 8))
    once, again = (replay.draw(SEED, (40, 200)) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, replay.draw(SEED + 1, (40, 200)))
    shares = np.bincount(once[..., 5].astype(int).ravel()) / once[..., 5].size
    np.testing.assert_allclose(shares, 1 / 8, atol=0.02)


@pytest.mark.parametrize("count", [5, 17])
def test_a_snapshot_brings_the_memory_back(count):
    replay, later = Replay(8, SIZES), Replay(8, SIZES)
    for first in range(0, count, 1):
        replay.add(steps(first, 1))
    later.restore(replay.snapshot())
    for one in (replay, later):
        one.add(steps(100, 3))
    np.testing.assert_array_equal(replay.draw(SEED, (3, 9)), later.draw(SEED, (3, 9)))
    with pytest.raises(UserError, match="do not fit"):
        Replay(8, (4, 2)).restore(replay.snapshot())
