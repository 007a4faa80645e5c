"""Trees to named arrays and back: every bit, shape and type, or an error that lists what differs."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polygait.errors import UserError
from polygait.storage.tensors import pack, unpack
from polygait.storage.trees import flatten_tree, unflatten_tree

DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint8, np.bool_]
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
NUMBERS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats()
TREES = st.recursive(
    ARRAYS | NUMBERS | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def exact(leaf: Any) -> tuple[Any, ...]:
    array = np.asarray(leaf)
    return type(leaf), array.dtype, array.shape, array.tobytes()


@given(TREES)
@settings(max_examples=150, deadline=None)
def test_any_tree_round_trips_through_bytes(tmp_path_factory, tree):
    tensors, _ = unpack(pack(flatten_tree(tree)), tmp_path_factory.getbasetemp())
    found = unflatten_tree(jax.tree_util.tree_map(blank, tree), tensors)
    assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(tree)
    for one, other in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(tree), strict=True):
        assert exact(one) == exact(other)


def blank(leaf: Any) -> Any:
    return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else type(leaf)(0)


class Network(eqx.Module):
    layers: list[eqx.nn.Linear]
    activation: Any
    scale: jax.Array
    bias: jax.Array | None
    name: str = eqx.field(static=True)


def network(seed: int) -> Network:
    keys = jax.random.split(jax.random.key(seed), 3)
    layers = [eqx.nn.Linear(3, 4, key=keys[0]), eqx.nn.Linear(4, 0, key=keys[1])]
    return Network(layers, jax.nn.tanh, jax.random.normal(keys[2]), None, f"network {seed}")


def test_an_equinox_module_keeps_its_functions_and_static_fields():
    first, second = network(1), network(2)
    tensors = flatten_tree(first)
    assert ".layers[0].weight" in tensors and ".activation" not in tensors and ".bias" not in tensors
    found = unflatten_tree(second, tensors)
    assert found.name == "network 2" and found.activation is jax.nn.tanh and found.bias is None
    np.testing.assert_array_equal(found.layers[0].weight, first.layers[0].weight)
    assert isinstance(found.scale, jax.Array)
    shapes = eqx.filter_eval_shape(network, 1)
    assert flatten_tree(unflatten_tree(shapes, tensors)).keys() == tensors.keys()


def test_a_module_restored_computes_the_same_without_compiling_again():
    tree = {
        "weak": jnp.asarray(0.5),
        "full": jnp.full(3, 2.0),
        "strong": jnp.zeros(2),
        "step": jnp.asarray(3),
    }
    traces = []

    @jax.jit
    def step(tree):
        traces.append(1)
        return jax.tree_util.tree_map(lambda leaf: leaf * 3, tree)

    step(tree)
    found = unflatten_tree(tree, flatten_tree(tree))
    step(found)
    assert len(traces) == 1
    assert [leaf.weak_type for leaf in jax.tree_util.tree_leaves(found)] == [True, True, False, True]


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_random_keys_new_and_raw(implementation):
    tree = {
        "one": jax.random.key(7, impl=implementation),
        "many": jax.random.split(jax.random.key(8, impl=implementation), (2, 3)),
        "raw": jax.random.PRNGKey(9),
    }
    tensors = flatten_tree(tree)
    assert {array.dtype for array in tensors.values()} == {np.dtype(np.uint32)}
    for like in (tree, jax.eval_shape(lambda: tree)):
        found = unflatten_tree(like, tensors)
        assert found["many"].shape == (2, 3) and found["one"].dtype == tree["one"].dtype
        assert jax.random.bits(found["one"]) == jax.random.bits(tree["one"])
        np.testing.assert_array_equal(found["raw"], tree["raw"])


def test_float64_under_jax():
    with jax.enable_x64(True):
        tree = [jnp.asarray(1 / 3, dtype=jnp.float64), jnp.arange(3, dtype=jnp.int64)]
        found = unflatten_tree(tree, flatten_tree(tree))
        assert [leaf.dtype for leaf in found] == [jnp.float64, jnp.int64] and found[0] == tree[0]


def test_a_restored_array_is_a_copy_that_may_be_changed():
    tensors = flatten_tree([np.zeros(2)])
    found = unflatten_tree([np.ones(2)], tensors)
    found[0][0] = 5
    assert tensors["[0]"][0] == 0


def test_everything_that_differs_is_listed():
    tensors = flatten_tree({"a": np.zeros(2), "b": np.zeros(2), "c": np.zeros(2), "d": 1})
    like = {"b": np.zeros(3), "c": np.zeros(2, np.float32), "d": 1.0, "e": np.zeros(1)}
    with pytest.raises(UserError) as caught:
        unflatten_tree(like, tensors)
    for part in (
        "missing \"['e']\"",
        "unexpected \"['a']\"",
        "\"['b']\" is float64[2], expected float64[3]",
        "\"['c']\" is float64[2], expected float32[2]",
        "\"['d']\" is int64[], expected float64[]",
    ):
        assert part in caught.value.problem
    with pytest.raises(UserError, match="and 15 more"):
        unflatten_tree([0] * 20, {})


@pytest.mark.parametrize("leaf", ["text", 2**70, np.zeros(1, "U2"), jnp.zeros(2, jnp.bfloat16), object()])
def test_leaves_that_cannot_be_stored_are_named(leaf):
    with pytest.raises(UserError, match=r"Cannot store the leaf \"\['bad'\]\""):
        flatten_tree({"bad": leaf})
