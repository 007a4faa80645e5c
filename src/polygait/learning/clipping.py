"""What a robot receives on average when noise leaves the box of actions and is clipped."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float32
from scipy.special import ndtr


def clipped_mean(
    mean: Float32[np.ndarray, "*batch action"], std: Float32[np.ndarray, "*#batch action"]
) -> Float32[np.ndarray, "*batch action"]:
    """E[clip(μ + σ·ε, −1, 1)] = μ − σ·g((1 − μ)/σ) + σ·g((1 + μ)/σ) for standard normal ε.

    g is how far ε lies beyond an edge on average. Near an edge noise is clipped on one side only, so that a
    robot gets less than μ as long as the policy explores: at μ = 1 and σ = 0.4 it is 0.84.
    """
    return mean - std * _beyond((1 - mean) / std) + std * _beyond((1 + mean) / std)


def _beyond(edge: np.ndarray) -> np.ndarray:
    """g(z) = E[max(ε − z, 0)] = φ(z) − z·Φ(−z)."""
    density = np.exp(-0.5 * edge**2) * np.float32(1 / math.sqrt(2 * math.pi))
    return density - edge * ndtr(-edge)
