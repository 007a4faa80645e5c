"""Exhaustive: every member as often as any other (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from polygait.adaptation.selector import Choice, Request, Selector
from polygait.adaptation.trials import Trials

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

    @property
    def budget(self) -> int:
        return (self.config.episodes or EPISODES) * len(self.nominal)

    def requests(self, trials: Trials) -> Iterator[Request]:
        yield Request(range(trials.num_members), self.config.episodes or EPISODES)

    def choose(self, trials: Trials) -> Choice:
        return Choice(int(np.argmax(trials.returns.mean(axis=1))))
