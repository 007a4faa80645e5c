"""Policies that act, in NumPy: inside the physics loop a jitted call costs ten times as much."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32

from polygait.learning.clipping import clipped_mean
from polygait.learning.networks import Mlp, Policy
from polygait.learning.normalizer import CLIP, Moments, center_and_factor

TRAINING_TILE = 16
"""Rows of one matrix product while training: small, so that BLAS starts no threads of its own.
A product's last bits depend on the number of rows and on a row's place among them; here both are fixed."""
ALONE = 1
"""Each row by itself: its action has the same bits wherever and beside whatever it is computed."""


class NumpyNetwork:
    """The multilayer perceptrons of a cohort, each member with its own weights and its own rows.

    Rows are padded to whole tiles of one size, so a row's outputs do not depend on what other tiles hold.
    """

    def __init__(self, network: Mlp, num_envs: int, tile: int) -> None:
        """Copy a stacked network (leading member axis) for so many rows of each member."""
        self._weights = [np.array(weight)[:, None] for weight in network.weights]
        self._biases = [np.array(bias)[:, None, None] for bias in network.biases]
        self._activate = np.tanh if network.activation == "tanh" else _rectify
        num_members, _, input_size, _ = self._weights[0].shape
        num_tiles = -(-num_envs // tile)
        rows = (num_members, num_tiles, tile)
        padded = np.zeros((num_members, num_tiles * tile, input_size), np.float32)
        self.inputs: np.ndarray = padded[:, :num_envs]
        """(member, env, input) to be written before every call of `outputs`."""
        self._tiles = padded.reshape(*rows, input_size)
        self._layers = [np.empty((*rows, weight.shape[-1]), np.float32) for weight in self._weights]
        last = self._layers[-1]
        self._outputs = last.reshape(num_members, num_tiles * tile, last.shape[-1])[:, :num_envs]

    def outputs(self) -> Float32[np.ndarray, "member env output"]:
        """The last layer's values; a view that the next call overwrites."""
        values = self._tiles
        for index, (weight, bias, layer) in enumerate(
            zip(self._weights, self._biases, self._layers, strict=True)
        ):
            np.matmul(values, weight, out=layer)
            np.add(layer, bias, out=layer)
            values = layer if index == len(self._layers) - 1 else self._activate(layer, out=layer)
        return self._outputs


class NumpyPolicy:
    """Actions around μ(s) = tanh(mlp(normalised observation)), each member with its own weights."""

    def __init__(
        self,
        policy: Policy,
        moments: Moments | None,
        num_envs: int,
        tile: int = TRAINING_TILE,
        clips: bool = False,
    ) -> None:
        """Copy a stacked policy (leading member axis); without `moments` observations are taken raw.

        With `clips` its mean is that of the commands a robot receives, which are clipped.
        """
        self._network = NumpyNetwork(policy.network, num_envs, tile)
        self._std = np.array(policy.std())[:, None]
        self._clips = clips
        self._normalization = None
        if moments is not None:
            center, factor = center_and_factor(moments)
            self._normalization = center[:, None], factor[:, None]

    def act(
        self,
        observation: Float32[np.ndarray, "member env state"],
        noise: Float32[np.ndarray, "member env action"],
        out: Float32[np.ndarray, "member env action"],
    ) -> None:
        """Write a = μ(s) + σ·noise, unclipped, into `out`."""
        np.multiply(noise, self._std, out=out)
        np.add(out, self._center(observation), out=out)

    def mean(
        self, observation: Float32[np.ndarray, "member env state"]
    ) -> Float32[np.ndarray, "member env action"]:
        """The action of every environment without noise; a view that the next call overwrites."""
        center = self._center(observation)
        return clipped_mean(center, self._std) if self._clips else center

    def _center(
        self, observation: Float32[np.ndarray, "member env state"]
    ) -> Float32[np.ndarray, "member env action"]:
        """μ(s), around which the noise is."""
        inputs = self._network.inputs
        if self._normalization is None:
            inputs[:] = observation
        else:
            center, factor = self._normalization
            np.subtract(observation, center, out=inputs)
            np.multiply(inputs, factor, out=inputs)
            np.maximum(inputs, -CLIP, out=inputs)
            np.minimum(inputs, CLIP, out=inputs)
        outputs = self._network.outputs()
        return np.tanh(outputs, out=outputs)


def _rectify(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0.0, out=out)
