"""Room for more: rollouts of changing size in compiled programs of few sizes.

XLA compiles a program anew for every shape it meets. Samples are therefore filled up to a power of two, and
gradient steps to as many as that power would need; nothing reads what only fills.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int32

Carry = TypeVar("Carry")

SMALLEST_ROOM = 256
"""Below this, another program would cost more than it saves."""
FILL = 0.0
"""What stands where no sample is."""


class PaddedOrder(NamedTuple):
    """Which samples each gradient step reads, with room for more steps than there are."""

    order: Int[Array, "step minibatch"]
    num_steps: Int[Array, ""]


Order = Int[Array, "step minibatch"] | PaddedOrder


def room_for(count: int) -> int:
    """The number that so many samples are filled up to."""
    return max(SMALLEST_ROOM, 2 ** math.ceil(math.log2(count)))


def padded(array: np.ndarray, room: int) -> np.ndarray:
    """An array filled up to so many rows."""
    rest = np.full((room - len(array), *array.shape[1:]), FILL).astype(array.dtype)
    return np.concatenate([array, rest])


def is_sample(count: int, room: int) -> Bool[np.ndarray, " sample"]:
    """Which rows of a padded array are samples."""
    return np.arange(room) < count


def padded_order(order: Int32[np.ndarray, "step minibatch"], most_steps: int) -> PaddedOrder:
    """An order filled up to so many steps."""
    room = np.zeros((most_steps, order.shape[1]), np.int32)
    room[: len(order)] = order
    return PaddedOrder(jnp.asarray(room), jnp.int32(len(order)))


def over_minibatches(
    step: Callable[[Carry, Int[Array, " minibatch"]], tuple[Carry, Any]], start: Carry, order: Order
) -> tuple[Carry, Any]:
    """Step after step through an order, as jax.lax.scan goes, and the mean of what the steps measured."""
    if not isinstance(order, PaddedOrder):
        end, measures = jax.lax.scan(step, start, order)
        return end, jax.tree.map(jnp.mean, measures)

    def counted(index: Int[Array, ""], state: tuple[Carry, Any]) -> tuple[Carry, Any]:
        end, measures = step(state[0], order.order[index])
        return end, jax.tree.map(jnp.add, state[1], measures)

    shapes = jax.eval_shape(step, start, order.order[0])[1]
    nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    end, total = jax.lax.fori_loop(0, order.num_steps, counted, (start, nothing))
    return end, jax.tree.map(lambda sum_of: sum_of / order.num_steps, total)
