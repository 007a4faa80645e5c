"""The paper's two-joint arm (Figure 1, right), small enough to be worked out by hand.

The arm turns as it is told, θ′ = θ + TURN·a, and swings about: a_j = SWING_j·sin θ_j + NOISE·ε, every pose
as likely as any other. Seen with both angles, the action is (θ′ − θ)/TURN: nothing is left open. With the
elbow's angle removed, the shoulder's motor is still certain, and the elbow's may be doing anything it ever
does. Its variance is then SWING²/2 + NOISE², since sin² is ½ on average over a circle and the joints are
independent.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from polygait.diversity.inverse_dynamics import ModelConfig
from polygait.experiments.revealing import Inference, RawTransitions, filtered, fit, infer
from polygait.learning.keys import named_key
from polygait.tasks.state import StateFilter, StateLayout

LAYOUT = StateLayout(("shoulder.angle", "elbow.angle"))
TURN = 0.5
"""Radians that full speed turns a joint in one step."""
SWING = (0.4, 0.5)
"""Per joint."""
NOISE = 0.1
MOTORS = ["shoulder", "elbow"]
FILTERS = {
    "both angles": StateFilter.identity(LAYOUT),
    "without the elbow's": StateFilter.remove(LAYOUT, "elbow"),
    "without the shoulder's": StateFilter.remove(LAYOUT, "shoulder"),
    "neither angle": StateFilter.nothing(LAYOUT),
}
CONFIG = ModelConfig(hidden=(32, 32), learning_rate=3e-3, epochs=60)
"""Of the models."""


class Revealed(NamedTuple):
    """One filter: what a model found, and what it should have found."""

    name: str
    found: Inference
    expected: np.ndarray
    """(action,) variances worked out by hand."""


def swing(num_steps: int, seed: int) -> RawTransitions:
    """Steps of the arm, each from a pose of its own."""
    chance = np.random.default_rng(seed)
    angle = chance.uniform(-np.pi, np.pi, (num_steps, 2))
    action = np.array(SWING) * np.sin(angle) + NOISE * chance.normal(size=angle.shape)
    return RawTransitions(angle, action, angle + TURN * action)


def expected_variance(state_filter: StateFilter) -> np.ndarray:
    """By hand: 0 for a joint whose angle is kept, SWING²/2 + NOISE² for one whose angle is removed."""
    open_joints = ~np.isin(np.arange(2), state_filter.kept)
    return open_joints * (np.square(SWING) / 2 + NOISE**2)


def reveal(num_steps: int = 20_000, seed: int = 0) -> list[Revealed]:
    """Fit a model behind every filter, and question it about steps it has not seen."""
    seen, checked, fresh = (swing(num_steps, 3 * seed + place) for place in range(3))
    key = jax.random.key(seed)
    return [
        Revealed(
            name,
            infer(
                fit(seen, checked, state_filter, CONFIG, named_key(key, name)), filtered(fresh, state_filter)
            ),
            expected_variance(state_filter),
        )
        for name, state_filter in FILTERS.items()
    ]
