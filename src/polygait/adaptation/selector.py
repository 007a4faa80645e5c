"""What a selector is: which members to try next in a changed world, and whom to choose in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from polygait.adaptation.record import TrialRecord
from polygait.population.population import Population
from polygait.registry import Registry


class Request(NamedTuple):
    """Members that shall be tried next, each so many times."""

    members: Sequence[int]
    trials: int = 1


class Choice(NamedTuple):
    """The chosen member, and those that were given up for falling."""

    best: int
    stopped: tuple[int, ...] = ()


class Belief(NamedTuple):
    """What to expect of every member in this world."""

    mean: np.ndarray
    """(member,) NaN where nothing is known."""
    std: np.ndarray
    """(member,) How unsure the mean is; NaN where nothing tells."""


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

    @classmethod
    def with_budget(cls, config: Any, budget: int, num_members: int) -> Any:
        """The options under which at most so many trials are made; the loop stops there in any case."""
        del num_members
        known = {field.name for field in fields(config)}
        return replace(config, trials=budget) if "trials" in known else config

    def prepare(self, population: Population) -> None:
        """Read what else there is to know of these members, before the first trial."""
        del population

    @property
    @abstractmethod
    def budget(self) -> int:
        """The most trials of all members together."""

    @abstractmethod
    def requests(self, trials: TrialRecord) -> Iterator[Request]:
        """Whom to try next, given all trials so far, until the budget is spent or the choice is clear."""

    @abstractmethod
    def choose(self, trials: TrialRecord) -> Choice:
        """The member to take, after any number of trials but none."""

    def belief(self, trials: TrialRecord) -> Belief:
        """What trials lead one to expect; by themselves, their mean and its standard error."""
        tried = [row[np.isfinite(row)] for row in trials.returns]
        mean = [row.mean() if len(row) else np.nan for row in tried]
        std = [row.std(ddof=1) / np.sqrt(len(row)) if len(row) > 1 else np.nan for row in tried]
        return Belief(np.array(mean), np.array(std))


SELECTORS: Registry[Selector] = Registry(
    "selector", Selector, "polygait.adaptation.selectors", "polygait.selectors"
)
