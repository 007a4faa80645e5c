"""What a diversity method is: a reward on top of the task's, and what it must learn to give it.

A method knows rollouts, filters and keys; it knows no task, no learner and no run folder. Its state is
a tree of arrays with a leading member axis where members have their own, so that it checkpoints whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key

from polygait.config.settings import NoSettings
from polygait.learning.rollout import Rollout
from polygait.tasks.state import StateFilter

Tensors = Mapping[str, np.ndarray]
Statistics = Mapping[str, np.ndarray]
"""Numbers worth logging by name, one per member."""


class Setting(NamedTuple):
    """What a method may know about the cohort it serves."""

    action_size: int
    num_members: int
    """Members of the cohort that trains together."""


class IntrinsicReward(NamedTuple):
    """What a method would pay, in units of its own; how much it weighs is not its business (strength.py)."""

    value: Float[np.ndarray, "time member env"]
    statistics: Statistics
    share: float = 1.0
    """Of its strength that is wanted now: 0 where members differ enough."""
    cost: Float[np.ndarray, "time member env"] | None = None
    """What is taken off the reward beside it, for differences that nobody wants: neither the share nor the
    fading makes it smaller, only a guard."""


class MethodUpdate(NamedTuple):
    """A method's state after learning from a rollout."""

    state: Any
    statistics: Statistics


def bonus_statistics(
    value: Float[np.ndarray, "time member env"],
    reward: Float[np.ndarray, "time member env"],
    rollout: Rollout,
) -> dict[str, np.ndarray]:
    """A bonus in numbers: `value` before its factor, and what all that is added weighs against the task."""
    samples = (0, 2)
    task_reward = np.abs(rollout.reward).mean(axis=samples)
    return {
        "bonus_mean": value.mean(axis=samples),
        "bonus_std": value.std(axis=samples),
        "bonus_p99": np.quantile(value, 0.99, axis=samples),
        "bonus_ratio": np.abs(reward).mean(axis=samples) / np.maximum(task_reward, 1e-9),
    }


class Method(ABC):
    """One way to make members different. Stateless: everything that changes is in the state it returns.

    A method is one class in one file: the class attributes are all that the rest of polygait asks about it.
    """

    name: ClassVar[str]
    """What it is called on the command line; also the name of its section of settings and of its file."""
    title: ClassVar[str]
    """What it is called in tables and charts."""
    colour: ClassVar[str] = "#7F7F7F"
    rank: ClassVar[int] = 100
    """Its place in tables: the paper's order, others after it."""
    Config: ClassVar[type[Any]] = NoSettings
    """Its settings, a frozen dataclass with `problems()`."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values of Config that differ from its defaults, per preset."""
    default_alpha: ClassVar[float] = 0.0
    """The usual factor of its bonus, for robots that name no other."""
    default_diversity: ClassVar[Mapping[str, float]] = {}
    """Per preset, the strength of its bonus as a share of what the task pays; without it, alpha counts."""
    relative: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Per preset, further values of Config where the bonus is such a share, and not alpha times its value."""
    has_bonus: ClassVar[bool] = True
    """Whether it pays for anything but the task; without a bonus there is no factor to choose."""
    needs_peers: ClassVar[bool] = False
    """Whether it compares members while these train together, and so needs two of them at once."""
    needs_filter: ClassVar[bool] = False
    """Whether it rests on a filter: on parts of the state in which members may differ."""
    simultaneous: ClassVar[bool]
    """Whether all members train at once, or one after another."""
    single: ClassVar[bool] = False
    """Whether it trains one policy, with the steps of a whole population."""
    reports_novelty: ClassVar[bool] = False
    """Whether `metrics` tells how unlike the earlier members a new one is."""
    update_cost: ClassVar[float] = 0.0
    """Time of its own update, as a share of PPO's with ten epochs."""

    def __init__(self, config: Any, state_filter: StateFilter) -> None:
        self.config = config
        self.filter = state_filter

    @classmethod
    def prepare(cls, config: Any, best_return: Callable[[str], float]) -> Any:
        """Its settings when a run begins; `best_return(folder)` is what the best member of a run earned."""
        return config

    @classmethod
    def is_stationary(cls, config: Any) -> bool:
        """Whether a transition's bonus stays the same while a cohort trains, so that it can be remembered."""
        return not cls.needs_peers

    @classmethod
    def problems(cls, config: Any, num_members: int, samples: int) -> list[str]:
        """Rules that settings break together: `samples` are one member's steps in a rollout."""
        return []

    @classmethod
    def experience_numbers(cls, config: Any, samples: int) -> int:
        """How many numbers it keeps beside a rollout of so many samples, of all that train together."""
        return 0

    @classmethod
    def network_widths(cls, config: Any, sizes: tuple[int, int]) -> list[tuple[int, ...]]:
        """The layers of every network that a member keeps; `sizes` = (observation size, action size)."""
        return []

    @abstractmethod
    def init(self, keys: Key[Array, " member"], setting: Setting, earlier: Sequence[Tensors]) -> Any:
        """The state for a new cohort, given what earlier members left (`export`)."""

    @abstractmethod
    def intrinsic_reward(self, state: Any, rollout: Rollout) -> IntrinsicReward:
        """What each transition is worth to diversity, before any factor."""

    @abstractmethod
    def update(
        self, state: Any, rollout: Rollout, keys: Key[Array, " member"], iteration: int
    ) -> MethodUpdate:
        """Learn from a rollout; may run beside the policy's own update."""

    @abstractmethod
    def export(self, state: Any) -> list[Tensors]:
        """What each member of a finished cohort leaves to those that come after it."""

    def metrics(self, state: Any, rollout: Rollout) -> Statistics:
        """What the method can say about finished members, from fresh experience of theirs."""
        return {}
