"""What a learner is: how the policies of a cohort get better from what they did.

The training loop knows a learner only through these methods. A learner knows no method: the reward it is
given already holds any bonus. Every array of its state has a leading member axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Float32, Key

from polygait.errors import UserError
from polygait.learning.acting import TRAINING_TILE
from polygait.learning.normalizer import Moments
from polygait.learning.rollout import Actor, Rollout

Statistics = Mapping[str, np.ndarray]
"""Numbers worth logging by name, one per member."""


class Sizes(NamedTuple):
    """Of what networks read and write."""

    observation: int
    action: int


class PolicyState(NamedTuple):
    """What acts: a policy and the statistics it normalises observations with."""

    policy: Any
    moments: Moments


class PlainPolicy(NamedTuple):
    """A mean action as arithmetic that any runtime can do.

    x = clip((s − center)·factor, ±CLIP) where observations are normalised; activation(x·W + b) through the
    hidden layers; μ = tanh(x·W + b) in the end, or E[clip(μ + std·noise, ±1)] where there is a std.
    """

    weights: tuple[Float32[np.ndarray, "_ _"], ...]
    biases: tuple[Float32[np.ndarray, " _"], ...]
    activation: str
    """tanh or relu."""
    center: Float32[np.ndarray, " state"] | None = None
    factor: Float32[np.ndarray, " state"] | None = None
    std: Float32[np.ndarray, " action"] | None = None


class LearnerUpdate(NamedTuple):
    """A learner's state after learning from a rollout."""

    state: Any
    statistics: Statistics


class Learner(ABC):
    """One way to improve policies. What changes is in the state it returns, and in `snapshot`."""

    name: ClassVar[str]
    """What it is called on the command line; also the name of its section of settings and of its file."""
    Config: ClassVar[type[Any]]
    """Its settings, a frozen dataclass: see config/learners.py for what is asked of it."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values of Config that differ from its defaults, per preset."""
    envs: ClassVar[Mapping[str, int]]
    """Environments per member, per preset."""
    off_policy: ClassVar[bool] = False
    """Whether it learns again and again from remembered rewards, which must then keep their meaning."""
    log_interval: ClassVar[int] = 1
    """Iterations to one line of the log."""

    def __init__(self, config: Any, sizes: Sizes, num_envs: int) -> None:
        """For members with so many environments each."""
        self.config = config
        self.sizes = sizes
        self.num_envs = num_envs

    @classmethod
    def to_go_on(cls, config: Any) -> Any:
        """The settings with which a finished member that was trained with these goes on learning."""
        return config

    @abstractmethod
    def init(self, keys: Key[Array, " member"]) -> Any:
        """Fresh members, one for each key."""

    def start_from(self, state: Any, policies: PolicyState, critics: Any) -> Any:
        """Fresh members that begin with what finished ones left; all else stays as `init` made it."""
        raise UserError(f"{self.name} cannot go on from a finished member.", "Train one from nothing.")

    def policy(self, state: Any, iteration: int) -> Actor:
        """Who acts in the next rollout."""
        return self.actor(self.export(state), self.num_envs, TRAINING_TILE)

    @abstractmethod
    def update(
        self,
        state: Any,
        rollout: Rollout,
        reward: Float[np.ndarray, "time member env"],
        keys: Key[Array, " member"],
        iteration: int,
    ) -> LearnerUpdate:
        """Learn from a rollout, whose reward with any bonus is given beside it."""

    @abstractmethod
    def export(self, state: Any) -> PolicyState:
        """What acts, of every member."""

    @abstractmethod
    def critic(self, state: Any) -> Any:
        """What else a finished member keeps, to go on learning one day."""

    @abstractmethod
    def actor(self, policies: PolicyState, num_envs: int, tile: int) -> Actor:
        """Stacked policies, ready to act on raw observations of so many environments each."""

    @abstractmethod
    def policy_shape(self) -> PolicyState:
        """The shapes and types of one member's policy, to read it from a file."""

    def plain(self, policy: PolicyState) -> PlainPolicy:
        """One member's policy as plain arithmetic, to be written for other runtimes."""
        raise UserError(f"Policies of {self.name} cannot be exported.", "Learners of polygait's own can.")

    def snapshot(self) -> Mapping[str, np.ndarray]:
        """What must be saved besides the state."""
        return {}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot."""
        del snapshot
