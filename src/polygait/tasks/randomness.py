"""Random numbers by counter: no running state to save, and no environment disturbs another."""

from __future__ import annotations

import enum

import numpy as np


class Draws(enum.IntEnum):
    """What the random numbers of one episode are drawn for."""

    START = 0
    SENSORS = 1
    """Of the first faulty sensor; the next numbers are those of the others."""
    ACTIONS = 2**20
    """Of the first faulty motor, and so on."""
    ONSETS = 2**21
    """Of the first edit that begins at random, and so on."""
    WORLDS = 2**22
    MODEL = 2**32
    EXPLORATION = 2**33


class EpisodePurpose(enum.IntEnum):
    """What episodes of finished members are run for; each purpose has starts of its own."""

    SELECTION = 0
    """Trials of adaptation, evaluations, filters: members are compared from the same starts."""
    HELD_OUT = 1
    EXPERIENCE = 2
    CONTACTS = 3
    NOMINAL = 4
    SPECIALISTS = 5


TRAINED_MEMBERS = 1
"""The third number behind the seeds of finished members' episodes; those of training have two."""


class CounterRandom:
    """Random numbers as a function of (key, episode, purpose, step).

    One generator is moved to the place asked for, ten times faster than making a new one: use what
    `at` returns before asking again.
    """

    def __init__(self) -> None:
        self._philox = np.random.Philox(key=0)
        self._generator = np.random.Generator(self._philox)
        self._state = self._philox.state

    def at(self, key: np.ndarray, episode: int, purpose: int, step: int) -> np.random.Generator:
        """The generator at the beginning of one place's numbers; `key` is two 64-bit words."""
        self._state["state"]["key"] = key
        self._state["state"]["counter"] = np.array((0, step, purpose, episode), dtype=np.uint64)
        self._state["buffer_pos"] = 4  # nothing left over from the last place
        self._state["has_uint32"] = 0
        self._philox.state = self._state
        return self._generator
