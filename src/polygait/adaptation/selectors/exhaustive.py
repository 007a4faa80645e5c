"""Exhaustive: every member as often as any other (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from polygait.adaptation.record import TrialRecord
from polygait.adaptation.selector import Choice, Request, Selector

EPISODES = 20
"""Per member in the paper's protocol."""


@dataclass(frozen=True)
class ExhaustiveConfig:
    """How often to try."""

    episodes: int | None = None
    """Episodes per member; 20 when left out."""


class Exhaustive(Selector):
    """The highest average wins; of equals the first."""

    name = "exhaustive"
    Config = ExhaustiveConfig

    config: ExhaustiveConfig

    @classmethod
    def complete(cls, config: ExhaustiveConfig, num_members: int) -> ExhaustiveConfig:
        return replace(config, episodes=config.episodes or EPISODES)

    @classmethod
    def with_budget(cls, config: ExhaustiveConfig, budget: int, num_members: int) -> ExhaustiveConfig:
        return replace(config, episodes=-(-budget // num_members))

    @property
    def budget(self) -> int:
        return (self.config.episodes or EPISODES) * len(self.nominal)

    def requests(self, trials: TrialRecord) -> Iterator[Request]:
        yield Request(range(trials.num_members), self.config.episodes or EPISODES)

    def choose(self, trials: TrialRecord) -> Choice:
        return Choice(int(np.argmax(trials.means)))
