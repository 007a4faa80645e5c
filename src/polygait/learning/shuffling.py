"""Which samples each gradient step reads, in an order that follows from a key alone."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32, Integer, Key, UInt32

from polygait.learning.keys import named_key


def sample_order(
    seed: UInt32[np.ndarray, " word"], num_samples: int, epochs: int, minibatch_size: int
) -> Int32[np.ndarray, "step minibatch"]:
    """Which samples each gradient step reads: all of them, shuffled anew for every epoch.

    Epochs follow each other without a gap, so a minibatch may span two; where the sizes do not
    divide, less than one minibatch of the last epoch goes unused instead of some of every epoch. Samples that
    do not fill one minibatch in all epochs are read again until they do.
    Shuffled by NumPy, since XLA sorts so slowly that its shuffle would add a fifth to the update.
    """
    generator = np.random.default_rng(seed)
    stream = np.concatenate([generator.permutation(num_samples) for _ in range(epochs)])
    stream = np.resize(stream, max(len(stream), minibatch_size))
    num_steps = len(stream) // minibatch_size
    used = stream[: num_steps * minibatch_size]
    return used.reshape(num_steps, minibatch_size).astype(np.int32)


def order_seeds(
    member_keys: Key[Array, " member"], purpose: str, iteration: int
) -> UInt32[np.ndarray, "member word"]:
    """A seed for each member's sample_order, for one purpose in one iteration."""
    return np.asarray(_seeds(member_keys, purpose, jnp.uint32(iteration)))


@partial(jax.jit, static_argnames="purpose")
def _seeds(
    member_keys: Key[Array, " member"], purpose: str, iteration: Integer[Array, ""]
) -> UInt32[Array, "member word"]:
    def of_member(key: Key[Array, ""]) -> UInt32[Array, " word"]:
        return jax.random.key_data(named_key(key, purpose, iteration))

    return jax.vmap(of_member)(member_keys)
