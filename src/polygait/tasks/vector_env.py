"""Any Task as a Gymnasium environment, vectorised or single."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from polygait.tasks.registry import make_task
from polygait.tasks.task import Task


class TaskVectorEnv(VectorEnv):
    """A Task behind Gymnasium's vector interface, with any of its three ways to reset."""

    def __init__(
        self,
        task: str | Task,
        num_envs: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        self.task = make_task(task, num_envs=num_envs, **options) if isinstance(task, str) else task
        self.num_envs = self.task.num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = _spaces(self.task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, dtype=bool)
        self._seeded = "seed" in options

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes; `options={"reset_mask": mask}` begins them in some environments only."""
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds = [seed + row for row in range(self.num_envs)] if isinstance(seed, int) else seed
        if seeds is None and not self._seeded:
            seeds = self.np_random.integers(2**31, size=self.num_envs).tolist()
        self._seeded = True
        for row, one in enumerate(seeds or []):
            if mask[row] and one is not None:
                self.task.reset([row], seeds=[one])
        unseeded = mask if seeds is None else mask & np.array([one is None for one in seeds])
        self._ended[mask] = False
        return self.task.reset(unseeded), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step every environment; finished ones reset as `autoreset_mode` says."""
        step = self.task.step(actions)
        observation, reward, terminated, truncated = step
        info: dict[str, Any] = {"diverged": self.task.diverged.copy()}
        resetting = self._ended
        self._ended = terminated | truncated
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and resetting.any():
            observation = self.task.reset(resetting)
            reward, terminated, truncated = (
                np.where(resetting, 0, one) for one in (reward, terminated, truncated)
            )
            terminated, truncated = terminated.astype(bool), truncated.astype(bool)
            self._ended &= ~resetting
        elif self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            for row in np.flatnonzero(self._ended):
                final[row] = observation[row]
            info |= {"final_obs": final, "_final_obs": self._ended}
            observation = self.task.reset(self._ended)
        return observation, reward, terminated, truncated, info


class TaskEnv(gymnasium.Env):
    """One copy of a Task behind Gymnasium's single interface."""

    metadata = {"render_modes": []}

    def __init__(self, task: str, **options: Any) -> None:
        self.task = make_task(task, num_envs=1, **options)
        self.observation_space, self.action_space = _spaces(self.task)
        self._seeded = "seed" in options

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new episode."""
        super().reset(seed=seed, options=options)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**31))
        self._seeded = True
        return self.task.reset(seeds=None if seed is None else [seed])[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act once."""
        step = self.task.step(np.asarray(action)[None])
        info = {"diverged": bool(self.task.diverged[0])}
        return (
            step.observation[0],
            float(step.reward[0]),
            bool(step.terminated[0]),
            bool(step.truncated[0]),
            info,
        )


def _spaces(task: Task) -> tuple[Box, Box]:
    observation = Box(-np.inf, np.inf, (task.observation_size,), np.float64)
    return observation, Box(-1.0, 1.0, (task.action_size,), np.float32)
