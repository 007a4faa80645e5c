"""Policies that act, in NumPy: inside the physics loop a jitted call costs ten times as much."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32

from polygait.learning.networks import Policy
from polygait.learning.normalizer import CLIP, Moments, center_and_factor

TRAINING_TILE = 16
"""Rows of one matrix product while training: small, so that BLAS starts no threads of its own.
A product's last bits depend on the number of rows and on a row's place among them; here both are fixed."""
ALONE = 1
"""Each row by itself: its action has the same bits wherever and beside whatever it is computed."""


class NumpyPolicy:
    """The mean actions of a cohort: tanh(mlp(normalised observation)), each member with its own weights.

    Rows are padded to whole tiles of one size, so a row's action does not depend on what other tiles hold.
    """

    std: Float32[np.ndarray, "member action"]

    def __init__(
        self, policy: Policy, moments: Moments | None, envs_per_member: int, tile: int = TRAINING_TILE
    ) -> None:
        """Copy a stacked policy (leading member axis); without `moments` observations are taken raw."""
        network = policy.network
        self._weights = [np.array(weight)[:, None] for weight in network.weights]
        self._biases = [np.array(bias)[:, None, None] for bias in network.biases]
        self.std = np.array(policy.std())
        num_members, _, observation_size, _ = self._weights[0].shape
        self._normalization = None
        if moments is not None:
            center, factor = center_and_factor(moments)
            self._normalization = center[:, None], factor[:, None]
        num_tiles = -(-envs_per_member // tile)
        rows = (num_members, num_tiles, tile)
        self._num_envs = envs_per_member
        self._inputs = np.zeros((num_members, num_tiles * tile, observation_size), np.float32)
        self._tiles = self._inputs.reshape(*rows, observation_size)
        self._layers = [np.empty((*rows, weight.shape[-1]), np.float32) for weight in self._weights]
        self._outputs = self._layers[-1].reshape(num_members, num_tiles * tile, self._layers[-1].shape[-1])

    def act(
        self,
        observation: Float32[np.ndarray, "member env state"],
        noise: Float32[np.ndarray, "member env action"],
        out: Float32[np.ndarray, "member env action"],
    ) -> None:
        """Write a = μ(s) + σ·noise, unclipped, into `out`."""
        np.multiply(noise, self.std[:, None], out=out)
        np.add(out, self.mean(observation), out=out)

    def mean(
        self, observation: Float32[np.ndarray, "member env state"]
    ) -> Float32[np.ndarray, "member env action"]:
        """The mean action of every environment; a view that the next call overwrites."""
        inputs = self._inputs[:, : self._num_envs]
        if self._normalization is None:
            inputs[:] = observation
        else:
            center, factor = self._normalization
            np.subtract(observation, center, out=inputs)
            np.multiply(inputs, factor, out=inputs)
            np.maximum(inputs, -CLIP, out=inputs)
            np.minimum(inputs, CLIP, out=inputs)
        values = self._tiles
        for weight, bias, layer in zip(self._weights, self._biases, self._layers, strict=True):
            np.matmul(values, weight, out=layer)
            np.add(layer, bias, out=layer)
            values = np.tanh(layer, out=layer)
        return self._outputs[:, : self._num_envs]
