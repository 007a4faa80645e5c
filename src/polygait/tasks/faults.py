"""Faults between a policy and its robot: actions that fail or lag, sensors that lie.

Plain NumPy, so that every simulator shares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from polygait.tasks.randomness import Draws
from polygait.tasks.schedule import NEVER, Generators, Scheduled, of_kind
from polygait.variations import ActionDrop, ActionGain, ActionLag, ActionPlay, Effect, SensorFault

_FROZEN, _SENSED, _HEARD = "frozen_sensors", "received_sensors", "received_actions"
_REMEMBERED = {"freeze": _FROZEN, "drop": _SENSED}
"""What a fault of sensors remembers, by its mode."""


class _Needs(NamedTuple):
    """How much memory some faults need."""

    lag: int = 0
    values: frozenset[tuple[str, int]] = frozenset()
    """Which values are remembered, and the place of the effect that remembers them."""
    play: bool = False

    @classmethod
    def of(cls, effects: list[Scheduled[Effect]]) -> _Needs:
        lag = sum((_lags(one) for one in of_kind(effects, ActionLag)), start=np.zeros(1, dtype=np.intp))
        sensors = {
            (_REMEMBERED[one.effect.mode], one.place)
            for one in of_kind(effects, SensorFault)
            if one.effect.mode in _REMEMBERED
        }
        actions = {(_HEARD, one.place) for one in of_kind(effects, ActionDrop)}
        return cls(
            int(np.max(lag, initial=0)), frozenset(sensors | actions), bool(of_kind(effects, ActionPlay))
        )

    def __or__(self, other: _Needs) -> _Needs:
        return _Needs(max(self.lag, other.lag), self.values | other.values, self.play or other.play)


class Faults:
    """The action and sensor faults of every environment, with the memory they need.

    `generator(row, purpose)` gives a row's own random numbers at its present step.
    """

    def __init__(self, num_envs: int, action_size: int, observation_size: int, generator: Generators) -> None:
        self._generator = generator
        self._gains: list[Scheduled[ActionGain]] = []
        self._lags: list[Scheduled[ActionLag]] = []
        self._drops: list[Scheduled[ActionDrop]] = []
        self._plays: list[Scheduled[ActionPlay]] = []
        self._sensors: list[Scheduled[SensorFault]] = []
        self._reserved = _Needs()
        self._num_envs = num_envs
        self._all_rows = np.arange(num_envs)
        self._sizes = {_FROZEN: observation_size, _SENSED: observation_size, _HEARD: action_size}
        self._sent = np.zeros((num_envs, 0, action_size))
        self._values: dict[tuple[str, int], np.ndarray] = {}
        """Frozen values and the last packets that arrived, of every effect its own; NaN is none."""
        self._played: np.ndarray | None = None

    def reserve(self, effects: list[Scheduled[Effect]]) -> None:
        """Keep room for faults that may come, so that a snapshot has the same shape whichever are there."""
        self._reserved = _Needs.of(effects)

    def install(self, effects: list[Scheduled[Effect]], changed: np.ndarray) -> None:
        """Replace all faults; the memory of rows that did not change stays."""
        self._gains = _present(of_kind(effects, ActionGain))
        self._lags = _present(of_kind(effects, ActionLag))
        self._drops = _present(of_kind(effects, ActionDrop))
        self._plays = _present(of_kind(effects, ActionPlay))
        self._sensors = _present(of_kind(effects, SensorFault))
        present: list = [*self._lags, *self._drops, *self._plays, *self._sensors]
        self._make_room(self._reserved | _Needs.of(present))
        self.forget(changed)

    def _make_room(self, needs: _Needs) -> None:
        if needs.lag != self._sent.shape[1]:
            shared = min(needs.lag, self._sent.shape[1])
            sent = np.zeros((self._num_envs, needs.lag, self._sent.shape[2]))
            sent[:, :shared] = self._sent[:, :shared]
            self._sent = sent
        self._values = {
            key: self._values.get(key, np.full((self._num_envs, self._sizes[key[0]]), np.nan))
            for key in sorted(needs.values)
        }
        if not needs.play:
            self._played = None
        elif self._played is None:
            self._played = np.zeros((self._num_envs, self._sizes[_HEARD]))

    def forget(self, rows: np.ndarray) -> None:
        """Begin new episodes: no action is under way, nothing is remembered."""
        self._sent[rows] = 0.0
        for values in self._values.values():
            values[rows] = np.nan
        if self._played is not None:
            self._played[rows] = 0.0

    def on_actions(self, actions: np.ndarray, step_count: np.ndarray) -> np.ndarray:
        """The actions that reach the robot."""
        if not (self._gains or self._lags or self._drops or self._plays):
            return actions
        arriving = actions.copy()
        if self._lags:
            lag = np.zeros(self._num_envs, dtype=np.intp)
            for one in self._lags:
                lag += np.where(one.acts(step_count), _lags(one), 0)
            late = np.flatnonzero(lag)
            arriving[late] = self._sent[late, lag[late] - 1]
            self._sent[:, 1:] = self._sent[:, :-1].copy()
            self._sent[:, 0] = actions
        for one in self._drops:
            self._repeat(arriving, one, self._all_rows, step_count)
        if self._played is not None and self._plays:
            self._play(arriving, self._played, step_count)
        for one in self._gains:
            rows, indices = one.due(step_count), np.array(one.effect.indices)
            gain = one.amounts[rows, 0]
            if (loss := one.amounts[rows, 1]).any():
                gain = np.maximum(gain - loss * one.age(step_count)[rows], 0.0)
            arriving[rows[:, None], indices[None]] *= gain[:, None]
        return arriving

    def _play(self, arriving: np.ndarray, played: np.ndarray, step_count: np.ndarray) -> None:
        """Several plays in one gear are as one that is as wide as all together."""
        half = np.zeros_like(arriving)
        for one in self._plays:
            rows = one.due(step_count)
            half[rows[:, None], np.array(one.effect.indices)[None]] += one.amounts[rows] / 2
        np.clip(played, arriving - half, arriving + half, out=played)
        # Where there is no play the command itself has arrived, to the last bit.
        played[half == 0] = arriving[half == 0]
        arriving[:] = played

    def on_observation(self, observation: np.ndarray, step_count: np.ndarray, rows: np.ndarray) -> None:
        """Spoil the observations of some rows in place."""
        for one in self._sensors:
            if one.effect.mode in _REMEMBERED:
                self._repeat(observation, one, rows, step_count)
            elif (due := rows[one.acts(step_count)[rows]]).size:
                self._spoil(observation, one, due, step_count)

    def _spoil(
        self, observation: np.ndarray, one: Scheduled[SensorFault], rows: np.ndarray, step_count: np.ndarray
    ) -> None:
        fault, amount = one.effect, one.amounts[rows]
        block = (rows[:, None], np.array(fault.indices)[None])
        if fault.mode == "zero":
            observation[block] = 0.0
        elif fault.mode == "bias":
            observation[block] += amount
        elif fault.mode == "drift":
            observation[block] += amount * one.age(step_count)[rows, None]
        else:
            noise = [
                self._generator(int(row), Draws.SENSORS + one.place).standard_normal(len(fault.indices))
                for row in rows
            ]
            observation[block] += amount * np.array(noise)

    def _repeat(
        self,
        values: np.ndarray,
        one: Scheduled[ActionDrop] | Scheduled[SensorFault],
        rows: np.ndarray,
        step_count: np.ndarray,
    ) -> None:
        """Let rows show once more what the effect remembers: frozen sensors always, others by chance.

        A frozen sensor remembers its value at the onset. A packet that gets lost leaves what the last one
        brought, be it from before the onset; the first of all never gets lost.
        """
        rows = rows[one.earliest[rows] < NEVER]
        acts = one.acts(step_count)[rows]
        again, kept = acts, acts
        what = _HEARD if isinstance(one.effect, ActionDrop) else _REMEMBERED[one.effect.mode]
        if what != _FROZEN:
            first = Draws.ACTIONS if what == _HEARD else Draws.SENSORS
            chance = [self._generator(row, first + one.place).random() for row in rows[acts].tolist()]
            again = acts.copy()
            again[acts] = np.array(chance) < one.amounts[rows[acts], 0]
            # Between windows nobody asks but for the last packet before the next one.
            kept = acts | one.acts(step_count + 1)[rows]
        block = (rows[:, None], np.array(one.effect.indices)[None])
        last, new = self._values[what, one.place][block], values[block]
        values[block] = shown = np.where(again[:, None] & ~np.isnan(last), last, new)
        self._values[what, one.place][block] = np.where(kept[:, None], shown, np.nan)

    def snapshot(self) -> dict[str, np.ndarray]:
        """The memory of all faults."""
        played = {} if self._played is None else {"played_actions": self._played.copy()}
        values = {f"{what}.{place}": array.copy() for (what, place), array in self._values.items()}
        return {"sent_actions": self._sent.copy(), **played, **values}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Bring back the memory of the same faults."""
        self._sent[:] = snapshot["sent_actions"]
        if self._played is not None:
            self._played[:] = snapshot["played_actions"]
        for (what, place), array in self._values.items():
            array[:] = snapshot[f"{what}.{place}"]


def _present(effects: list) -> list:
    """The effects that any environment has."""
    return [one for one in effects if one.rows.size]


def _lags(one: Scheduled[ActionLag]) -> np.ndarray:
    """How many steps late a delay lets every row's actions arrive."""
    return np.where(one.earliest < NEVER, one.amounts[:, 0], 0).astype(np.intp)
