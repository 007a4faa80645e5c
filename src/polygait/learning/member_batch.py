"""One member's share of a batch, in arrays of few sizes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from polygait.config import PPOConfig
from polygait.learning.batch import Batch
from polygait.learning.padding import is_sample, padded, room_for


class MemberBatch(NamedTuple):
    """One member's share of a Batch."""

    observation: Float[Array, "time env state"]
    action: Float[Array, "time env action"]
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    cut: Int[Array, " cut"]
    """Steps, counted through time and environments, after which the rollout ends or goes on elsewhere."""
    cut_observation: Float[Array, "cut state"]
    """What was seen after them; after any other step that is the next observation, if anything."""
    sample: Bool[Array, "time env"] | None
    """Which steps were made, where others only fill the arrays up; None where there are no others."""


def share_of(batch: Batch, member: int, config: PPOConfig) -> MemberBatch:
    """What belongs to one member.

    The critic is asked about most states once: V(s_{t+1}) is the next row's V(s_t), but after time limits and
    at the end of the rollout. Their number is filled up to one of few, since each is another program; so are
    the steps themselves where their number changes.
    """
    own = Batch(*(array[:, member] for array in batch))
    length, num_envs = own.reward.shape
    cut = own.truncated.copy()
    cut[-1] = True
    steps = np.flatnonzero(cut)
    room = num_envs * 2 ** math.ceil(math.log2(len(steps) / num_envs))
    steps = np.pad(steps, (0, (config.episodes_per_iteration or room) - len(steps)), mode="edge")
    fields: dict[str, Any] = own._asdict()
    next_observation = fields.pop("next_observation").reshape(length * num_envs, -1)
    sample = None
    if config.episodes_per_iteration:
        longest = room_for(length)
        fields = {name: padded(array, longest) for name, array in fields.items()}
        sample = jnp.asarray(is_sample(length, longest)[:, None])
    return MemberBatch(
        **fields,
        cut=jnp.asarray(steps, jnp.int32),
        cut_observation=next_observation[steps],
        sample=sample,
    )
