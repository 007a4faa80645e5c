"""Faults in many environments at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

from polygait.errors import UserError
from polygait.faults.wrapper import FaultInjection
from polygait.tasks.faults import Faults
from polygait.tasks.randomness import CounterRandom
from polygait.tasks.schedule import Schedule, of_kind, variations_per_row
from polygait.tasks.state import StateLayout
from polygait.tasks.task import Variations
from polygait.variations import PHYSICS, Anatomy

_ONSETS = 2**21


class VectorFaultInjection(VectorWrapper):
    """A vector environment in which parts break: one variation for all, or a list with one for each.

    Environments of a SyncVectorEnv are wrapped one by one, so that everything can break that can break in
    one; of any other vector environment, sensors and motors can.
    """

    def __init__(self, env: VectorEnv, variation: Variations = None, seed: int = 0) -> None:
        super().__init__(env)
        self._given = variations_per_row(variation, {}, env.num_envs)
        self._wrapped = isinstance(env, SyncVectorEnv)
        if isinstance(env, SyncVectorEnv):
            env.envs = [
                FaultInjection(one, wanted, seed=seed + row)
                for row, (one, wanted) in enumerate(zip(env.envs, self._given, strict=True))
            ]
            return
        self._mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        if self._mode is AutoresetMode.SAME_STEP:
            raise UserError(
                "An environment that resets within a step shows its last observation past this wrapper.",
                "Wrap each environment: gymnasium.make_vec(…, wrappers=[lambda env: "
                "FaultInjection(env, text)]).",
            )
        layout = StateLayout.numbered(_size(env.single_observation_space, "observation"))
        actions = [f"action_{index}" for index in range(_size(env.single_action_space, "action"))]
        self.anatomy = Anatomy(
            {}, {}, {}, actions, layout.select, actions, has_model=False, state_parts=list(layout.parts)
        )
        count = env.num_envs
        self._limit = getattr(env.spec, "max_episode_steps", None) or 1000
        self._random = CounterRandom()
        self._keys = np.zeros((count, 2), dtype=np.uint64)
        self._keys[:, 0] = seed + np.arange(count)
        self._episode = np.zeros(count, dtype=np.int64)
        self._step = np.zeros(count, dtype=np.int64)
        self._ended = np.zeros(count, dtype=bool)
        self._rows = np.arange(count)
        self._schedule = Schedule(count, self.anatomy).with_variations(range(count), self._given)
        if of_kind(self._schedule.effects, PHYSICS):
            raise UserError(
                f"The physics behind a {type(env).__name__} cannot be reached from here.",
                "Wrap each environment where it is made: gymnasium.make_vec(…, wrappers=[lambda env: "
                "FaultInjection(env, text)]); or use a SyncVectorEnv.",
            )
        self._faults = Faults(count, len(actions), layout.size, self._generator)
        self._faults.install(self._schedule.effects, self._rows)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes, everywhere or where `options["reset_mask"]` says."""
        rows = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool))).copy()
        observation, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        if self._wrapped:
            return observation, info
        seeds = [seed + row for row in range(self.num_envs)] if isinstance(seed, int) else seed
        self._episode += rows
        for row, one in enumerate(seeds or []):
            if one is not None and rows[row]:
                self._keys[row, 0], self._episode[row] = one % 2**64, 0
        self._ended[rows] = False
        return self._begun(observation, np.flatnonzero(rows), info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Act once in every environment, each in its world as it is now."""
        if self._wrapped:
            return self.env.step(actions)
        flat = np.array(actions, dtype=np.float64).reshape(self.num_envs, -1)
        arriving = self._faults.on_actions(flat, self._step).reshape(np.shape(actions))
        truth = self._truth()
        begun = self._ended & (self._mode is AutoresetMode.NEXT_STEP)
        result = self.env.step(arriving.astype(np.asarray(actions).dtype))
        observation, reward, terminated, truncated, info = result
        self._step += 1
        self._ended = np.asarray(terminated) | np.asarray(truncated)
        self._episode += begun
        observation, info = self._begun(observation, np.flatnonzero(begun), info)
        info["fault"] = np.where(begun, self._truth(), truth).astype(object)
        return observation, reward, terminated, truncated, info

    def _begun(self, observation: Any, rows: np.ndarray, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """What is seen, once these rows have begun new episodes."""
        self._step[rows] = 0
        if self._schedule.draw_onsets(rows, self._onset, self._limit):
            self._faults.install(self._schedule.effects, rows)
        self._faults.forget(rows)
        seen = np.array(observation, dtype=np.float64).reshape(self.num_envs, -1)
        self._faults.on_observation(seen, self._step, self._rows)
        info["fault"], info["_fault"] = self._truth(), np.ones(self.num_envs, dtype=bool)
        return seen.reshape(np.shape(observation)).astype(np.asarray(observation).dtype), info

    def _truth(self) -> np.ndarray:
        """The edits that act now, in every environment."""
        acting: list[set[int]] = [set() for _ in range(self.num_envs)]
        for one in self._schedule.effects:
            for row in one.due(self._step).tolist():
                acting[row].add(one.edit)
        texts = [
            "+".join(str(self._given[row].edits[edit]) for edit in sorted(edits)) or "nominal"
            for row, edits in enumerate(acting)
        ]
        return np.array(texts, dtype=object)

    def _generator(self, row: int, purpose: int) -> np.random.Generator:
        step = 0 if purpose >= _ONSETS else int(self._step[row])
        return self._random.at(self._keys[row], int(self._episode[row]), purpose, step)

    def _onset(self, row: int, edit: int) -> np.random.Generator:
        return self._generator(row, _ONSETS + edit)


def _size(space: gymnasium.Space, what: str) -> int:
    if not isinstance(space, Box):
        raise UserError(
            f"The {what} space {space} is no Box of real numbers.", "Wrap each environment instead."
        )
    return int(np.prod(space.shape))
