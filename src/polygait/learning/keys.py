"""Random keys by name, so that no draw depends on what was drawn before it."""

from __future__ import annotations

import hashlib

import jax
from jaxtyping import Array, Integer, Key

Name = str | int | Integer[Array, ""]


def named_key(key: Key[Array, ""], *names: Name) -> Key[Array, ""]:
    """The key that `names` lead to: words and numbers are folded in one after the other.

    `named_key(member_key, "rollout", iteration)` is the same key whenever and wherever it is asked
    for. Words go through a hash that does not change between processes or Python versions. A number
    may be traced; a concrete one must fit 32 bits.
    """
    for name in names:
        key = jax.random.fold_in(key, _number(name))
    return key


def member_keys(key: Key[Array, ""], first: int, count: int) -> Key[Array, " member"]:
    """The keys of members first … first + count − 1; a member's key does not depend on its cohort."""
    return jax.vmap(lambda index: named_key(key, "member", index))(jax.numpy.arange(first, first + count))


def _number(name: Name) -> int | Integer[Array, ""]:
    if isinstance(name, str):
        return int.from_bytes(hashlib.blake2s(name.encode(), digest_size=4).digest(), "little")
    if isinstance(name, int) and not 0 <= name < 2**32:
        raise ValueError(f"A number in a key's name must lie in [0, 2**32), got {name}.")
    return name
