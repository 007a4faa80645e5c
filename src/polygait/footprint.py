"""What a training needs in memory, estimated before it begins: generously rounded, but never off by ten."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from polygait.memory import NUMBER, environment_bytes, require_memory, size_text
from polygait.run_config import RunConfig

_COPIES = 5
"""Of a network in training: its weights, their gradient, Adam's two moments, and the weights to be kept."""


class Footprint(NamedTuple):
    """Bytes, by what needs them."""

    networks: int
    rollouts: int
    environments: int


def training_footprint(run: RunConfig, observation_size: int, action_size: int) -> Footprint:
    """Of all members that train together, and of the models that earlier ones left."""
    sizes = (observation_size, action_size)
    together = run.generalists if run.simultaneous else 1
    learning = run.learner.network_widths(sizes)
    models = run.method_class.network_widths(run.method_config, sizes)
    numbers = _COPIES * together * sum(map(_weights, learning))
    numbers += (_COPIES + run.members) * sum(map(_weights, models))
    # Activations and their gradients, of every sample of a minibatch.
    numbers += 2 * together * run.learner.minibatch_size * sum(map(sum, learning + models))
    experience = together * run.learner.experience_numbers(sizes)
    samples = together * run.learner.steps_per_iteration
    experience += run.method_class.experience_numbers(run.method_config, samples)
    row = environment_bytes(observation_size, action_size)
    return Footprint(NUMBER * numbers, NUMBER * experience, together * run.envs * row)


def require_training_memory(run: RunConfig, observation_size: int, action_size: int) -> None:
    """Refuse a training that this machine can never hold."""
    found = training_footprint(run, observation_size, action_size)
    parts = ", ".join(f"{name} {size_text(size)}" for name, size in found._asdict().items())
    remedy = "Choose fewer members, environments, epochs or rollout steps, or narrower networks."
    require_memory(f"This training ({parts})", sum(found), f"{remedy} Nothing was started.")


def _weights(widths: Sequence[int]) -> int:
    """Of a network with layers between these widths."""
    return sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(widths))
