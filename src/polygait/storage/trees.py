"""Trees of arrays as flat, named arrays and back, every bit and type preserved.

JAX is imported inside: opening a run folder does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polygait.errors import UserError
from polygait.storage.tensors import STORABLE


def flatten_tree(tree: Any, dotted: bool = False) -> dict[str, np.ndarray]:
    """Every array and number of a tree under the name of its path, such as ".layers[0].weight".

    With `dotted` names are "layers.0.weight", as members keep what a method exports.

    Random keys are stored as their raw data. Functions are no data: they stay in the program.
    """
    tensors: dict[str, np.ndarray] = {}
    for name, leaf in _named_leaves(tree, dotted):
        if callable(leaf):
            continue
        if name in tensors:
            raise UserError(f"Two leaves of the tree are called {name!r}.", "Give its nodes key paths.")
        tensors[name] = _stored(name, leaf)
    return tensors


def unflatten_tree(like: Any, tensors: Mapping[str, np.ndarray], dotted: bool = False) -> Any:
    """The tree that was flattened, in the structure of `like`: same names, shapes and types, or UserError.

    A leaf becomes what it is in `like`: NumPy or JAX array, plain number or random key. Functions,
    None and static fields are taken from `like`, whose leaves may be jax.ShapeDtypeStruct.
    """
    import jax

    named = _named_leaves(like, dotted)
    expected = {name: leaf for name, leaf in named if not callable(leaf)}
    problems = [f"missing {name!r}" for name in expected if name not in tensors]
    problems += [f"unexpected {name!r}" for name in tensors if name not in expected]
    for name, leaf in expected.items():
        if name in tensors:
            found, wanted = _kind(tensors[name]), _stored_kind(name, leaf)
            if found != wanted:
                problems.append(f"{name!r} is {found}, expected {wanted}")
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise UserError(
            f"The stored arrays do not fit: {'; '.join(problems[:5])}{more}.",
            "Load them with the configuration and the polygait version that saved them.",
        )
    leaves = [leaf if callable(leaf) else _restored(leaf, tensors[name]) for name, leaf in named]
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(like), leaves)


def _named_leaves(tree: Any, dotted: bool) -> list[tuple[str, Any]]:
    import jax

    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    spelled = {"simple": True, "separator": "."} if dotted else {}
    return [(jax.tree_util.keystr(path, **spelled), leaf) for path, leaf in paths]


def _stored(name: str, leaf: Any) -> np.ndarray:
    """A leaf as the array to store."""
    import jax

    array = np.asarray(jax.random.key_data(leaf) if _is_random_key(leaf) else leaf)
    if array.dtype not in STORABLE:
        raise UserError(
            f"Cannot store the leaf {name!r}: it is a {type(leaf).__name__} of type {array.dtype}.",
            "Keep such values in static fields or cast them.",
        )
    return array


def _stored_kind(name: str, leaf: Any) -> str:
    """The shape and type under which a leaf is stored."""
    import jax

    if _is_random_key(leaf):
        leaf = jax.eval_shape(jax.random.key_data, leaf)
    return _kind(leaf if hasattr(leaf, "dtype") else _stored(name, leaf))


def _kind(array: Any) -> str:
    return f"{np.dtype(array.dtype).name}{list(array.shape)}"


def _is_random_key(leaf: Any) -> bool:
    import jax

    return hasattr(leaf, "dtype") and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _restored(leaf: Any, array: np.ndarray) -> Any:
    """The stored array as the kind of leaf it was."""
    import jax

    if _is_random_key(leaf):
        implementation = jax.random.key_impl(jax.numpy.empty((), leaf.dtype))
        return jax.random.wrap_key_data(jax.numpy.asarray(array), impl=implementation)
    if isinstance(leaf, np.generic):
        return array[()]
    if isinstance(leaf, np.ndarray):
        return array.copy()
    if not hasattr(leaf, "dtype"):
        return array.item()
    restored = jax.numpy.asarray(array, dtype=leaf.dtype)
    # A weakly typed array promotes differently; losing that would change the bits of a resumed run.
    return jax.numpy.zeros_like(leaf).at[...].set(restored) if getattr(leaf, "weak_type", False) else restored
