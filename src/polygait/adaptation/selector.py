"""What a selector is: which members to try next in a changed world, and whom to choose in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from polygait.adaptation.trials import Trials
from polygait.registry import Registry


class Request(NamedTuple):
    """Members that shall be tried next, each so many times."""

    members: Sequence[int]
    trials: int = 1


class Choice(NamedTuple):
    """The chosen member, and those that were given up for falling."""

    best: int
    stopped: tuple[int, ...] = ()


class Selector(ABC):
    """One way to spend trials. A selector is one class in one file, with its own options."""

    name: ClassVar[str]
    """What it is called on the command line; also the name of its file."""
    Config: ClassVar[type[Any]]
    """Its options, a frozen dataclass; None leaves a choice to `complete`."""

    def __init__(self, config: Any, nominal: np.ndarray) -> None:
        """For members of which these nominal returns are known."""
        self.config = config
        self.nominal = nominal

    @classmethod
    def complete(cls, config: Any, num_members: int) -> Any:
        """The options with whatever was left open filled in."""
        return config

    @classmethod
    def problems(cls, config: Any, num_members: int) -> list[str]:
        """Every rule that options break, in words."""
        return []

    @property
    @abstractmethod
    def budget(self) -> int:
        """The most trials of all members together."""

    @abstractmethod
    def requests(self, trials: Trials) -> Iterator[Request]:
        """Whom to try next, given all trials so far, until the budget is spent or the choice is clear."""

    @abstractmethod
    def choose(self, trials: Trials) -> Choice:
        """The member to take, after any number of trials."""


SELECTORS: Registry[Selector] = Registry(
    "selector", Selector, "polygait.adaptation.selectors", "polygait.selectors"
)
