"""Faults between a policy and its robot: actions that fail or lag, sensors that lie.

Plain NumPy, so that every simulator shares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from polygait.tasks.schedule import Scheduled, of_kind
from polygait.variations import ActionGain, ActionLag, Effect, SensorFault

Generators = Callable[[int], np.random.Generator]


class Faults:
    """The action and sensor faults of every environment, with the memory they need."""

    def __init__(self, num_envs: int, action_size: int, observation_size: int) -> None:
        self._shape = (num_envs, action_size, observation_size)
        self.install([])

    def install(self, effects: list[Scheduled[Effect]]) -> None:
        """Replace all faults; their memory begins empty."""
        num_envs, action_size, observation_size = self._shape
        self._gains = of_kind(effects, ActionGain)
        self._lags = of_kind(effects, ActionLag)
        self._sensors = of_kind(effects, SensorFault)
        longest = max((one.effect.steps for one in self._lags), default=0)
        self._sent = np.zeros((num_envs, longest, action_size))
        frozen = observation_size if any(one.effect.mode == "freeze" for one in self._sensors) else 0
        self._frozen = np.full((num_envs, frozen), np.nan)

    def forget(self, rows: np.ndarray) -> None:
        """Begin new episodes: no action is under way, no sensor value remembered."""
        self._sent[rows] = 0.0
        self._frozen[rows] = np.nan

    def on_actions(self, actions: np.ndarray, step_count: np.ndarray) -> np.ndarray:
        """The actions that reach the robot."""
        if not (self._gains or self._lags):
            return actions
        arriving = actions.copy()
        for one in self._lags:
            rows = one.due(step_count)
            arriving[rows] = self._sent[rows, one.effect.steps - 1]
        if self._lags:
            self._sent[:, 1:] = self._sent[:, :-1].copy()
            self._sent[:, 0] = actions
        for one in self._gains:
            rows, indices = one.due(step_count), np.array(one.effect.indices)
            arriving[rows[:, None], indices[None]] *= one.effect.gain
        return arriving

    def on_observation(
        self, observation: np.ndarray, step_count: np.ndarray, rows: np.ndarray, generator: Generators
    ) -> None:
        """Spoil the observations of some rows in place; `generator` gives a row's own random numbers."""
        for one in self._sensors:
            due = one.due(step_count)
            due = due[np.isin(due, rows)] if len(rows) < len(observation) else due
            if due.size:
                self._spoil(observation, one.effect, due, generator)

    def _spoil(
        self, observation: np.ndarray, fault: SensorFault, rows: np.ndarray, generator: Generators
    ) -> None:
        block = (rows[:, None], np.array(fault.indices)[None])
        if fault.mode == "zero":
            observation[block] = 0.0
        elif fault.mode == "bias":
            observation[block] += fault.amount
        elif fault.mode == "noise":
            noise = [generator(int(row)).standard_normal(len(fault.indices)) for row in rows]
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
