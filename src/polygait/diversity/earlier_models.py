"""The frozen models of earlier members, and how unlike them a member's transitions are."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from polygait.diversity.classifier import SAMPLES
from polygait.diversity.features import PREFIX
from polygait.diversity.inverse_dynamics import InverseDynamics, Transitions
from polygait.diversity.method import Tensors
from polygait.storage.trees import unflatten_tree

_SLOTS = 4
"""Earlier models are padded to a multiple of this, so that not every new member compiles anew."""
OWN = "own"
"""The name under which a model's mean on its own member's data stands beside its arrays."""


class Earlier(NamedTuple):
    """The frozen models of earlier members, stacked and padded."""

    models: InverseDynamics
    own: Float[Array, " slot"]
    """Mean negative log-likelihood of each model on its own member's data."""
    used: Bool[Array, " slot"]


class Unlikeness(NamedTuple):
    """How unlike the earlier members each transition is, before α."""

    mean: Float[Array, " sample"]
    """Mean over earlier members, the bracket of the DiR reward."""
    per_member: Float[Array, " slot"]
    """Mean over transitions."""
    floored: Float[Array, ""]
    """Share of (model, transition, dimension) where the floor acts."""


@functools.partial(jax.jit, static_argnames="std_floor")
def likelihood(model: InverseDynamics, transitions: Transitions, std_floor: float) -> Float[Array, " sample"]:
    """−log T summed over action dimensions, as the reward sums it."""
    return model.negative_log_likelihood(transitions, std_floor).sum(axis=-1)


@functools.partial(jax.jit, static_argnames="std_floor")
def unlikeness(
    earlier: Earlier,
    transitions: Transitions,
    std_floor: float,
    sample: Bool[Array, " sample"] | Bool[np.ndarray, " sample"] | None,
) -> Unlikeness:
    """All earlier models on all transitions in one call; means are over those that were made."""
    wide = None if sample is None else jnp.asarray(sample)[:, None]

    def of_model(model: InverseDynamics) -> tuple[Float[Array, " sample"], Float[Array, ""]]:
        _, log_std = model.mean_and_log_std(transitions)
        floored = (log_std < math.log(std_floor)).mean(where=wide) if std_floor > 0 else jnp.array(0.0)
        return model.negative_log_likelihood(transitions, std_floor).sum(axis=-1), floored

    value, floored = jax.lax.map(of_model, earlier.models)
    if std_floor > 0:
        value = value - earlier.own[:, None]
    count = earlier.used.sum()
    return Unlikeness(
        mean=jnp.where(earlier.used[:, None], value, 0.0).sum(axis=0) / count,
        per_member=value.mean(axis=1, where=sample),
        floored=jnp.where(earlier.used, floored, 0.0).sum() / count,
    )


def stacked_models(exported: Sequence[Tensors], like: InverseDynamics) -> Earlier:
    """The models that `export` wrote in one tree, padded with unused copies of `like`."""
    slots = max(1, -(-len(exported) // _SLOTS)) * _SLOTS
    unused = slots - len(exported)
    models = [unflatten_tree(like, _model_arrays(tensors), dotted=True) for tensors in exported]
    return Earlier(
        models=jax.tree.map(lambda *leaves: jnp.stack(leaves), *models, *[like] * unused),
        own=jnp.array([float(tensors[OWN]) for tensors in exported] + [0.0] * unused, dtype=jnp.float32),
        used=jnp.arange(slots) < len(exported),
    )


def _model_arrays(tensors: Tensors) -> Tensors:
    beside = (PREFIX, SAMPLES)
    return {name: array for name, array in tensors.items() if name != OWN and not name.startswith(beside)}
