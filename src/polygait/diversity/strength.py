"""How much a bonus weighs against the task: a fixed factor, or a share of what the task pays.

The paper multiplies the bonus by α, in units of reward per nat, so every robot and method needs another
number. Here the bonus can also be measured against the task while members train:

    r_t + w(p)·d·(m/s)·(u_t − c)

with the bonus u, its running mean c and standard deviation s, the running mean m of the task's absolute
reward, and the diversity d that a user asks for: d = 0.2 lets the bonus move the reward by a fifth of what
the task pays. Less its mean, the bonus rewards no mere survival, nor punishes it. w fades with the share p of
training that is over: first a member finds its own way, then it becomes good at it.

The paper asks for the largest diversity with E[R] ≥ b. A guard is that constraint's multiplier: it shrinks
the bonus, and what a method takes off beside it, while a member earns less than b, and lets it grow again
otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

_SHARE = 0.1
"""Weight of the newest rollout in the running means."""
_SMALLEST = 1e-9
_GUARD_STEP = 0.9
"""What a guard is multiplied with after a rollout in which its member is behind."""


class BonusScale(NamedTuple):
    """Running means over rollouts, NaN before the first."""

    center: Float[np.ndarray, " member"]
    spread: Float[np.ndarray, " member"]
    task: Float[np.ndarray, " member"]


class WeighedBonus(NamedTuple):
    """A bonus as a reward, and the scale for the next one."""

    reward: Float[np.ndarray, "time member env"]
    scale: BonusScale


def initial_scale(num_members: int) -> BonusScale:
    """Nothing is known yet."""
    unknown = np.full(num_members, np.nan)
    return BonusScale(unknown, unknown.copy(), unknown.copy())


def fading(progress: float, fade: float) -> float:
    """w(p): whole until half of `fade`, then linearly to 0 at `fade`; 1 throughout when `fade` is 0.

    Of training that is over, and of a distance that is far enough.
    """
    return float(np.clip(2 - 2 * progress / fade, 0.0, 1.0)) if fade else 1.0


def guarded(
    guard: Float[np.ndarray, " member"], earned: Float[np.ndarray, " member"], least: float
) -> Float[np.ndarray, " member"]:
    """The guard after a rollout: smaller where a member earns less than `least`, else larger, at most 1.

    Nothing changes where either is not known.
    """
    step = np.where(earned < least, _GUARD_STEP, np.where(earned >= least, 1 / _GUARD_STEP, 1.0))
    return np.minimum(guard * step, 1.0)


def weigh(
    scale: BonusScale,
    value: Float[np.ndarray, "time member env"],
    task_reward: Float[np.ndarray, "time member env"],
    factor: Float[np.ndarray, " member"],
) -> WeighedBonus:
    """The bonus measured against the task's reward; `factor` = w(p)·d, with the guard."""
    samples = (0, 2)
    newest = BonusScale(value.mean(samples), value.std(samples), np.abs(task_reward).mean(samples))
    scale = BonusScale(*(running_mean(old, new) for old, new in zip(scale, newest, strict=True)))
    per_unit = factor * scale.task / np.maximum(scale.spread, _SMALLEST)
    reward = per_unit[:, None] * (value - scale.center[:, None])
    return WeighedBonus(np.where(scale.spread[:, None] > _SMALLEST, reward, 0.0), scale)


def running_mean(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """A mean over rollouts in which the newest counts most; NaN is nothing yet."""
    return np.where(np.isnan(old), new, (1 - _SHARE) * old + _SHARE * new)
