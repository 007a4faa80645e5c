"""Runs a policy that polygait exported as .npz. Needs NumPy alone; copy this file wherever the policy goes.

policy = Policy("policy.npz")
controls = policy(observation)       # one robot's, or a row for each of many
print(policy.card["observations"], policy.card["actions"])
"""

import json
import math

import numpy as np


class Policy:
    """What to do, given what is seen: controls in the units that `card` names."""

    def __init__(self, path):
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        self.card = json.loads(str(arrays["card"]))
        self._activate = np.tanh if self.card["activation"] == "tanh" else lambda x: np.maximum(x, 0)
        self._layers = [(arrays[f"weight_{i}"], arrays[f"bias_{i}"]) for i in range(self.card["layers"])]
        self._center, self._factor, self._clip = (arrays[name] for name in ("center", "factor", "clip"))
        self._std = arrays.get("std")
        self._law = [arrays[name] for name in ("default", "scale", "low", "high")]

    def actions(self, observation):
        """The actions in [-1, 1], before they are scaled."""
        x = np.asarray(observation, np.float32)
        if x.shape[-1:] != self._center.shape or not np.isfinite(x).all():
            raise ValueError(f"Expected {len(self._center)} finite numbers, got {observation!r}.")
        x = np.clip((x - self._center) * self._factor, -self._clip, self._clip)
        for weight, bias in self._layers[:-1]:
            x = self._activate(x @ weight + bias)
        weight, bias = self._layers[-1]
        mean = np.tanh(x @ weight + bias)
        return mean if self._std is None else _clipped_mean(mean, self._std)

    def __call__(self, observation):
        """The controls: default + scale * action, cut to [low, high]."""
        default, scale, low, high = self._law
        return np.clip(default + scale * self.actions(observation), low, high)


def _clipped_mean(mean, std):
    """The mean of mean + std * noise, cut to [-1, 1]: what the robot got while it learned."""
    return (mean - std * _beyond((1 - mean) / std) + std * _beyond((1 + mean) / std)).astype(np.float32)


def _beyond(edge):
    """How far standard normal noise lies beyond an edge on average."""
    density = np.exp(-0.5 * edge**2) / math.sqrt(2 * math.pi)
    return density - edge * 0.5 * np.vectorize(math.erfc, otypes=[float])(edge / math.sqrt(2))
