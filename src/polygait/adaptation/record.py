"""What trials of members in one changed world have shown so far."""

from __future__ import annotations

import math

import numpy as np


class TrialRecord:
    """The trials made so far, member by member; all that a selector knows of the world."""

    def __init__(self, num_members: int) -> None:
        self._tried: list[list[float]] = [[] for _ in range(num_members)]
        self.falls = np.zeros(num_members, dtype=np.int64)
        self.diverged = np.zeros(num_members, dtype=np.int64)

    def add(self, member: int, value: float, fell: bool = False, diverged: bool = False) -> None:
        """One more trial."""
        self._tried[member].append(value)
        self.falls[member] += fell
        self.diverged[member] += diverged

    @property
    def num_members(self) -> int:
        """How many can be chosen from."""
        return len(self._tried)

    @property
    def num_trials(self) -> int:
        """Of all members together."""
        return sum(map(len, self._tried))

    @property
    def counts(self) -> np.ndarray:
        """(member,) How often each was tried."""
        return np.array([len(tried) for tried in self._tried])

    @property
    def returns(self) -> np.ndarray:
        """(member, episode) NaN where not tried."""
        most = max(map(len, self._tried))
        return np.array([[*tried, *[math.nan] * (most - len(tried))] for tried in self._tried])

    @property
    def means(self) -> np.ndarray:
        """(member,) The average of each member's trials; −∞ for one that was never tried."""
        return np.array([np.mean(tried) if tried else -math.inf for tried in self._tried])
