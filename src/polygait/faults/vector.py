"""Faults in many environments at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

from polygait.config import is_whole
from polygait.errors import UserError
from polygait.faults.reach import (
    PHYSICS,
    Reach,
    Refusal,
    layers,
    name_of,
    numbered_actions,
    refusals,
    signal_anatomy,
    step_limit,
)
from polygait.faults.script import Script, seeds_per_row
from polygait.faults.signals import Actions, Observations
from polygait.faults.wrapper import FaultInjection
from polygait.tasks.faults import Faults
from polygait.tasks.schedule import variations_per_row
from polygait.tasks.task import Variations

_WRAP_EACH = (
    "Wrap each environment where it is made: gymnasium.make_vec(…, wrappers=[lambda env: "
    "FaultInjection(env, text)])"
)


class VectorFaultInjection(VectorWrapper):
    """A vector environment in which parts break: one variation for all, a list with one for each, or worlds.

    Environments of a SyncVectorEnv are wrapped one by one, so that everything can break that can break in
    one; of any other vector environment, sensors and motors can. Of `worlds` every environment draws its own.
    Seeds count on from `seed`, or from the one that `reset` is given, as Gymnasium's own do.
    """

    def __init__(
        self,
        env: VectorEnv,
        variation: Variations = None,
        *,
        worlds: str | None = None,
        layout: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(env)
        if any(isinstance(one, VectorFaultInjection) for one in layers(env)):
            raise _stacked(env)
        given = None if variation is None else variations_per_row(variation, {}, env.num_envs)
        seeds = seeds_per_row(seed, env.num_envs)
        self._wrapped = isinstance(env, SyncVectorEnv)
        if isinstance(env, SyncVectorEnv):
            wrapped = [
                FaultInjection(one, text, worlds=worlds, layout=layout, seed=own)
                for one, text, own in zip(env.envs, given or [None] * env.num_envs, seeds, strict=True)
            ]
            self.anatomy = wrapped[0].anatomy
            env.envs = list(wrapped)
            return
        self._mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        if self._mode is AutoresetMode.SAME_STEP:
            raise UserError(
                "An environment that resets within a step shows its last observation past this wrapper.",
                f"{_WRAP_EACH}.",
            )
        self._actions = Actions(env.single_action_space)
        self._observations = Observations(env.single_observation_space, layout)
        self._script = Script(self._reach(), seeds)
        self._script.open(given, worlds)
        self.anatomy = self._script.reach.anatomy
        self._rows = np.arange(env.num_envs)
        self._step = np.zeros(env.num_envs, dtype=np.int64)
        self._ended = np.zeros(env.num_envs, dtype=bool)
        self._faults = Faults(
            env.num_envs, self._actions.size, self._observations.layout.size, self._generator
        )
        self._faults.install(self._script.effects, self._rows)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes, everywhere or where `options["reset_mask"]` says."""
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool))).copy()
        observation, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        if self._wrapped:
            return observation, info
        if "fault" in info:
            raise _stacked(self.env)
        seeds: Any = [None] * self.num_envs if seed is None else seed
        if is_whole(seeds):
            seeds = [seeds + row for row in range(self.num_envs)]
        self._ended[mask] = False
        rows = np.flatnonzero(mask)
        self._begin(rows, [seeds[row] for row in rows])
        return self._shown(observation), self._told(info, self._step)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Act once in every environment, each in its world as it is now."""
        if self._wrapped:
            return self.env.step(actions)
        if self._script.meddles:
            sent = self._actions.flat(actions, self.num_envs)
            actions = self._actions.whole(actions, sent, self._faults.on_actions(sent, self._step))
        observation, reward, terminated, truncated, info = self.env.step(actions)
        begun = self._ended & (self._mode is AutoresetMode.NEXT_STEP)
        self._ended = np.asarray(terminated) | np.asarray(truncated)
        before = np.where(begun, 0, self._step)
        self._step = self._step + 1
        rows = np.flatnonzero(begun)
        self._begin(rows, [None] * len(rows))
        return self._shown(observation), reward, terminated, truncated, self._told(info, before)

    def _begin(self, rows: np.ndarray, seeds: Sequence[int | None]) -> None:
        """Begin the next episodes of some rows."""
        self._step[rows] = 0
        changed = self._script.begin(rows, seeds)
        if changed.size:
            self._faults.install(self._script.effects, changed)
        self._faults.forget(rows)

    def _shown(self, observation: Any) -> Any:
        """What is seen of the environments."""
        if not self._script.spoils:
            return observation
        true = self._observations.flat(observation, self.num_envs)
        seen = true.copy()
        self._faults.on_observation(seen, self._step, self._rows)
        return self._observations.whole(observation, true, seen)

    def _told(self, info: dict[str, Any], before: np.ndarray) -> dict[str, Any]:
        """The infos, with the truth about every environment."""
        info["fault"] = np.array(self._script.truth(before, self._step), dtype=object)
        info["_fault"] = np.ones(self.num_envs, dtype=bool)
        return info

    def _reach(self) -> Reach:
        """What can fail in environments that cannot be reached one by one."""
        env, layout = self.env, self._observations.layout
        anatomy, name = signal_anatomy(layout, numbered_actions(self._actions.size)), name_of(env)
        refused = refusals(name, anatomy, layout, env.single_action_space)
        refused[PHYSICS] = Refusal(
            f"the physics behind {type(env).__name__} cannot be reached from here.",
            f"{_WRAP_EACH}; or give a SyncVectorEnv itself. {refused[PHYSICS].remedy}",
        )
        return Reach(name, anatomy, refused, step_limit(env))

    def _generator(self, row: int, purpose: int) -> np.random.Generator:
        return self._script.random(row, purpose, int(self._step[row]))


def _stacked(env: VectorEnv) -> UserError:
    return UserError(
        f"{env} injects faults already; of two wrappers only one would tell the truth.",
        'Use one, with the texts of both joined by +: "delay=2+sensor(state.0)".',
    )
