"""Faults between a policy and its robot: actions that fail or lag, sensors that lie.

Plain NumPy, so that every simulator shares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from polygait.tasks.schedule import Scheduled, of_kind
from polygait.variations import ActionGain, ActionLag, Effect, SensorFault

Generators = Callable[[int, int], np.random.Generator]


class Faults:
    """The action and sensor faults of every environment, with the memory they need."""

    def __init__(self, num_envs: int, action_size: int, observation_size: int) -> None:
        self._gains: list[Scheduled[ActionGain]] = []
        self._lags: list[Scheduled[ActionLag]] = []
        self._sensors: list[Scheduled[SensorFault]] = []
        self._sent = np.zeros((num_envs, 0, action_size))
        self._frozen = np.full((num_envs, observation_size), np.nan)

    def install(self, effects: list[Scheduled[Effect]], changed: np.ndarray) -> None:
        """Replace all faults; the memory of rows that did not change stays."""
        self._gains = of_kind(effects, ActionGain)
        self._lags = of_kind(effects, ActionLag)
        self._sensors = of_kind(effects, SensorFault)
        longest = int(self._lag(np.full(len(self._sent), np.iinfo(np.int64).max)).max(initial=0))
        shared = min(longest, self._sent.shape[1])
        sent = np.zeros((len(self._sent), longest, self._sent.shape[2]))
        sent[:, :shared] = self._sent[:, :shared]
        self._sent = sent
        self.forget(changed)

    def forget(self, rows: np.ndarray) -> None:
        """Begin new episodes: no action is under way, no sensor value remembered."""
        self._sent[rows] = 0.0
        self._frozen[rows] = np.nan

    def on_actions(self, actions: np.ndarray, step_count: np.ndarray) -> np.ndarray:
        """The actions that reach the robot."""
        if not (self._gains or self._lags):
            return actions
        arriving = actions.copy()
        if self._lags:
            lag = self._lag(step_count)
            late = np.flatnonzero(lag)
            arriving[late] = self._sent[late, lag[late] - 1]
            self._sent[:, 1:] = self._sent[:, :-1].copy()
            self._sent[:, 0] = actions
        for one in self._gains:
            rows, indices = one.due(step_count), np.array(one.effect.indices)
            arriving[rows[:, None], indices[None]] *= one.effect.gain
        return arriving

    def _lag(self, step_count: np.ndarray) -> np.ndarray:
        """How many steps late every row's actions arrive; several delays add up."""
        lag = np.zeros(len(self._sent), dtype=np.intp)
        for one in self._lags:
            lag[one.due(step_count)] += one.effect.steps
        return lag

    def on_observation(
        self, observation: np.ndarray, step_count: np.ndarray, rows: np.ndarray, generator: Generators
    ) -> None:
        """Spoil the observations of some rows in place; `generator(row, place)` gives its random numbers."""
        for one in self._sensors:
            due = one.due(step_count)
            due = due[np.isin(due, rows)] if len(rows) < len(observation) else due
            if due.size:
                self._spoil(observation, one, due, generator)

    def _spoil(
        self, observation: np.ndarray, one: Scheduled[SensorFault], rows: np.ndarray, generator: Generators
    ) -> None:
        fault = one.effect
        block = (rows[:, None], np.array(fault.indices)[None])
        if fault.mode == "zero":
            observation[block] = 0.0
        elif fault.mode == "bias":
            observation[block] += fault.amount
        elif fault.mode == "noise":
            noise = [generator(int(row), one.place).standard_normal(len(fault.indices)) for row in rows]
            observation[block] += fault.amount * np.array(noise)
        else:
            held = self._frozen[block]
            held = np.where(np.isnan(held), observation[block], held)
            self._frozen[block] = held
            observation[block] = held

    def snapshot(self) -> dict[str, np.ndarray]:
        """The memory of all faults."""
        return {"sent_actions": self._sent.copy(), "frozen_sensors": self._frozen.copy()}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Bring back the memory of the same faults."""
        self._sent[:] = snapshot["sent_actions"]
        self._frozen[:] = snapshot["frozen_sensors"]
