"""Diversity via Determinants (Parker-Holder et al. 2020) on PPO: act unlike the others in the same state.

With κ(x, y) = exp(−‖x − y‖²/(2ℓ²)), the action a_t as the robot receives it, clipped to [−1, 1], and the
mean actions μ_j(s_t) of the members that train together:

    pairwise      1/(M−1) · Σ_{j≠k} [κ(a_t, μ_k) − κ(a_t, μ_j)]
    determinant   log det K(a_t; others) − log det K(others), minus the same if all others were like k
    exponential   1/(M−1) · Σ_{j≠k} Σ_d exp((μ_k,d − μ_j,d)²)/2           (the paper's authors' code)

The first two are zero for members that act alike, whatever the noise, bounded, and depend on the action
taken. A function of the means alone, such as the third or a determinant over fixed states, says nothing
about the action to PPO, which takes rewards as given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Array, Float, Float64, Key

from polygait.diversity.method import (
    IntrinsicReward,
    Method,
    MethodUpdate,
    Setting,
    Tensors,
)
from polygait.learning.rollout import Rollout

Actions = Float[np.ndarray, "sample action"]
"""What one member did, or would do on average, in its own states."""
Others = Float[np.ndarray, "other sample action"]
"""What each of the others would do on average in these states."""


@dataclass(frozen=True)
class DvdConfig:
    """How Diversity via Determinants compares members' actions (paper, Appendix C.3)."""

    form: Literal["pairwise", "determinant", "exponential"] = "pairwise"
    """A kernel between pairs, the marginal of the log-determinant, or the authors' exp(+Δ²)/2."""
    length_scale: float = 1.0
    """Distance of two actions at which the kernel of pairs and determinant falls to exp(−1/2)."""
    ridge: float = 0.01
    """Share of the identity in the determinant's kernel: it bounds the logarithm."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = []
        if self.form not in ("pairwise", "determinant", "exponential"):
            found.append(f"dvd.form must be 'pairwise', 'determinant' or 'exponential', got {self.form!r}.")
        if not 0 < self.length_scale < math.inf:
            found.append(f"dvd.length_scale must be finite and above 0, got {self.length_scale}.")
        if not 0 < self.ridge < 1:
            found.append(f"dvd.ridge must lie between 0 and 1, got {self.ridge}.")
        return found


class Dvd(Method):
    """Reward for actions unlike those of the others; nothing is learned for it."""

    name = "dvd"
    title = "DvD"
    colour = "#009E73"
    rank = 2
    Config = DvdConfig
    presets = {"paper": {"form": "exponential"}}
    default_alpha = 0.1
    needs_peers = True
    simultaneous = True

    def init(self, keys: Key[Array, " member"], setting: Setting, earlier: Sequence[Tensors]) -> Any:
        return np.zeros((setting.num_members, 0))

    def intrinsic_reward(self, state: Any, rollout: Rollout) -> IntrinsicReward:
        value = np.empty_like(rollout.reward)
        for member in range(len(state)):
            means = _everyones_means(rollout, member)
            own, others = means[member], np.delete(means, member, axis=0)
            action = np.clip(rollout.action[:, member], -1.0, 1.0).reshape(own.shape)
            value[:, member] = self._unlikeness(action, own, others).reshape(value[:, member].shape)
        return IntrinsicReward(value, {})

    def update(
        self, state: Any, rollout: Rollout, keys: Key[Array, " member"], iteration: int
    ) -> MethodUpdate:
        return MethodUpdate(state, {})

    def export(self, state: Any) -> list[Tensors]:
        """Nothing: a later cohort compares its own members."""
        return [{} for _ in range(len(state))]

    def _unlikeness(self, action: Actions, own: Actions, others: Others) -> Float[np.ndarray, " sample"]:
        if self.config.form == "exponential":
            return exponential(own, others)
        if self.config.form == "determinant":
            return determinant(action, own, others, self.config)
        return pairwise(action, own, others, self.config.length_scale)


def pairwise(
    action: Actions, own: Actions, others: Others, length_scale: float
) -> Float[np.ndarray, " sample"]:
    """How much more an action is like the member's own mean than like the others', in [−1, 1]."""
    return _kernel(action, own, length_scale) - _kernel(action, others, length_scale).mean(axis=0)


def determinant(
    action: Actions, own: Actions, others: Others, config: DvdConfig
) -> Float[np.ndarray, " sample"]:
    """The marginal of log det K that an action adds to the others', less that among n likenesses of oneself.

    K = (1 − ρ)·κ + ρ·I with the ridge ρ. det K(a; others)/det K(others) = 1 − uᵀ K(others)⁻¹ u with
    u_j = (1 − ρ)·κ(a, μ_j); among n likenesses it is 1 − (1 − ρ)²·κ(a, μ_k)²·n/((1 − ρ)·n + ρ). Both lie
    in [ρ, 1], so the reward lies within ±log(1/ρ).
    """
    share, count = 1 - config.ridge, len(others)
    pairs = _kernel(others[:, None], others[None], config.length_scale)
    among = share * np.moveaxis(pairs, -1, 0) + config.ridge * np.eye(count)
    towards = share * _kernel(action, others, config.length_scale).T
    solved = np.linalg.solve(among, towards[:, :, None])[:, :, 0]
    rest = 1 - (towards * solved).sum(axis=1)
    alike = 1 - (share * _kernel(action, own, config.length_scale)) ** 2 * count / (
        share * count + config.ridge
    )
    return np.log(np.maximum(rest, config.ridge)) - np.log(alike)


def exponential(own: Actions, others: Others) -> Float[np.ndarray, " sample"]:
    """The authors' form: action_size/2 for members that act alike, at most 27.3 per action dimension."""
    return np.exp((own - others) ** 2).sum(axis=-1).mean(axis=0) / 2


def _kernel(
    one: Float[np.ndarray, "... action"], other: Float[np.ndarray, "... action"], length_scale: float
) -> Float[np.ndarray, ...]:
    """κ = exp(−‖x − y‖²/(2ℓ²)), over any leading axes that fit together."""
    return np.exp(-((one - other) ** 2).sum(axis=-1) / (2 * length_scale**2))


def _everyones_means(rollout: Rollout, member: int) -> Float64[np.ndarray, "member sample action"]:
    """What every member would do on average in the states of one of them."""
    time, members, envs, size = rollout.action.shape
    means = np.empty((members, time, envs, size))
    shape = (members, *rollout.observation.shape[2:])
    for moment in range(time):
        means[:, moment] = rollout.policy.mean(np.broadcast_to(rollout.observation[moment, member], shape))
    return means.reshape(members, time * envs, size)
