"""What a diversity method is: a reward on top of the task's, and what it must learn to give it.

A method knows rollouts, filters and keys; it knows no task, no learner and no run folder. Its state is
a tree of arrays with a leading member axis where members have their own, so that it checkpoints whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key

from polygait.learning.rollout import Rollout

Tensors = Mapping[str, np.ndarray]
Statistics = Mapping[str, np.ndarray]
"""Numbers worth logging by name, one per member."""


class Setting(NamedTuple):
    """What a method may know about the cohort it serves."""

    action_size: int
    num_members: int
    """Members of the cohort that trains together."""


class Bonus(NamedTuple):
    """The reward a method adds."""

    reward: Float[np.ndarray, "time member env"]
    statistics: Statistics


class Fitted(NamedTuple):
    """A method's state after learning from a rollout."""

    state: Any
    statistics: Statistics


def bonus_statistics(
    value: Float[np.ndarray, "time member env"],
    reward: Float[np.ndarray, "time member env"],
    rollout: Rollout,
) -> dict[str, np.ndarray]:
    """A bonus in numbers: `value` before its factor α, and the weight of `reward` against the task's."""
    samples = (0, 2)
    task_reward = np.abs(rollout.reward).mean(axis=samples)
    return {
        "bonus_mean": value.mean(axis=samples),
        "bonus_std": value.std(axis=samples),
        "bonus_p99": np.quantile(value, 0.99, axis=samples),
        "bonus_ratio": np.abs(reward).mean(axis=samples) / np.maximum(task_reward, 1e-9),
    }


class Method(ABC):
    """One way to make members different. Stateless: everything that changes is in the state it returns."""

    name: str
    simultaneous: bool
    """Whether all members train at once, or one after another."""

    @abstractmethod
    def begin(self, keys: Key[Array, " member"], setting: Setting, earlier: Sequence[Tensors]) -> Any:
        """The state for a new cohort, given what earlier members left (`leave`)."""

    @abstractmethod
    def bonus(self, state: Any, rollout: Rollout) -> Bonus:
        """The reward to add to the task's."""

    @abstractmethod
    def fit(self, state: Any, rollout: Rollout, keys: Key[Array, " member"], iteration: int) -> Fitted:
        """Learn from a rollout; may run beside the policy's own update."""

    @abstractmethod
    def leave(self, state: Any) -> list[Tensors]:
        """What each member of a finished cohort leaves to those that come after it."""

    def judge(self, state: Any, rollout: Rollout) -> Statistics:
        """What the method can say about finished members, from fresh experience of theirs."""
        return {}
