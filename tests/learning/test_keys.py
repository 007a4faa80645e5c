"""Keys depend on their names and on nothing else."""

import jax
import numpy as np
import pytest

from polygait.learning.keys import member_keys, named_key


def data(key) -> tuple[int, ...]:
    return tuple(np.asarray(jax.random.key_data(key)).tolist())


def test_a_name_always_leads_to_the_same_key():
    key = jax.random.key(7)
    assert data(named_key(key, "rollout", 3)) == data(named_key(key, "rollout", 3))
    assert data(named_key(key, "rollout", 3)) == data(named_key(named_key(key, "rollout"), 3))
    # Written down once: a change of the hash would change every run.
    assert data(named_key(jax.random.key(0), "rollout")) == (2671219102, 3005361852)


def test_different_names_lead_to_different_keys():
    key = jax.random.key(7)
    names = [("a",), ("b",), ("a", "b"), ("b", "a"), ("a", 0), ("a", 1), (0,), (1,), ("0",)]
    assert len({data(named_key(key, *each)) for each in names} | {data(key)}) == len(names) + 1


def test_a_number_may_be_traced():
    key = jax.random.key(7)
    traced = jax.jit(lambda number: named_key(key, "rollout", number))(jax.numpy.uint32(5))
    assert data(traced) == data(named_key(key, "rollout", 5))


@pytest.mark.parametrize("number", [-1, 2**32])
def test_a_number_beyond_32_bits_is_refused(number):
    with pytest.raises(ValueError, match=str(number)):
        named_key(jax.random.key(0), number)


def test_a_member_has_the_same_key_in_any_cohort():
    key = jax.random.key(1)
    together, later = member_keys(key, 0, 5), member_keys(key, 3, 2)
    assert data(together[3]) == data(later[0]) == data(named_key(key, "member", 3))
