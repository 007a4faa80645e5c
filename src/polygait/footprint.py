"""What a training needs in memory, estimated before it begins: generously rounded, but never off by ten."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from polygait.memory import require_memory, size_text
from polygait.presets import RunConfig

_NUMBER = 4
"""Bytes of a float32."""
_COPIES = 5
"""Of a network in training: its weights, their gradient, Adam's two moments, and the weights to be kept."""
_ROW = 1000
"""Bytes that every environment has, whatever it shows."""


class Footprint(NamedTuple):
    """Bytes, by what needs them."""

    networks: int
    rollouts: int
    environments: int


def environment_bytes(observation_size: int, action_size: int) -> int:
    """About what one simulated row of a task takes."""
    return _ROW + 4 * _NUMBER * (2 * observation_size + action_size)


def training_footprint(run: RunConfig, observation_size: int, action_size: int) -> Footprint:
    """Of all members that train together, and of the models that earlier ones left."""
    ppo = run.ppo
    together = 1 if run.method == "dir" else run.members
    policy = (observation_size, *ppo.policy_hidden, action_size)
    critic = (observation_size, *ppo.critic_hidden, 1)
    numbers = _COPIES * together * (_weights(policy) + _weights(critic))
    # Activations and their gradients, of every sample of a minibatch.
    numbers += 2 * together * ppo.minibatch_size * (sum(policy) + sum(critic))
    samples = together * ppo.rollout_steps
    # Four states and three actions of each transition, raw and normalised; the order in which they are read.
    numbers_of_sample = 4 * observation_size + 3 * action_size + 15 + 3 * ppo.epochs
    if run.method == "dir":
        model = (2 * observation_size, *run.dir.hidden, 2 * action_size)
        numbers += (_COPIES + run.members) * _weights(model) + 2 * run.dir.minibatch_size * sum(model)
        numbers_of_sample += 3 * run.dir.epochs
    if run.method == "smerl":
        discriminator = (observation_size, *run.smerl.hidden, run.members)
        numbers += _COPIES * _weights(discriminator) + 2 * run.smerl.minibatch_size * sum(discriminator)
        numbers_of_sample += 3 * run.smerl.epochs
    row = environment_bytes(observation_size, action_size)
    return Footprint(_NUMBER * numbers, _NUMBER * samples * numbers_of_sample, together * run.envs * row)


def require_training_memory(run: RunConfig, observation_size: int, action_size: int) -> None:
    """Refuse a training that this machine can never hold."""
    found = training_footprint(run, observation_size, action_size)
    parts = ", ".join(f"{name} {size_text(size)}" for name, size in found._asdict().items())
    remedy = "Choose fewer members, environments, epochs or rollout steps, or narrower networks."
    require_memory(f"This training ({parts})", sum(found), f"{remedy} Nothing was started.")


def _weights(widths: Sequence[int]) -> int:
    """Of a network with layers between these widths."""
    return sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(widths))
