"""Any Task as a Gymnasium environment, vectorised or single."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from polygait.errors import UserError
from polygait.tasks.registry import make_task
from polygait.tasks.task import Task


class RenderModeError(UserError, TypeError):
    """An environment that cannot be drawn as asked.

    Also a TypeError: Stable-Baselines3's make_vec_env always asks for pictures, and asks again without them
    when it gets one.
    """


class TaskVectorEnv(VectorEnv):
    """A Task behind Gymnasium's vector interface, with any of its three ways to reset."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        task: str | Task,
        num_envs: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.render_mode = _checked_mode(render_mode, self.metadata)
        self.task = make_task(task, num_envs=num_envs, **options) if isinstance(task, str) else task
        self.num_envs = self.task.num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = _spaces(self.task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, dtype=bool)
        self._seeded = "seed" in options

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes; `options={"reset_mask": mask}` begins them in some environments only."""
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds = [seed + row for row in range(self.num_envs)] if isinstance(seed, int) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise UserError(
                f"Expected a seed, or a list of {self.num_envs} (one per environment), got {len(seeds)}.",
                "Give None for environments that go on with their own.",
            )
        if seeds is None and not self._seeded:
            seeds = self.np_random.integers(2**31, size=self.num_envs).tolist()
        self._seeded = True
        for row, number in enumerate(seeds or []):
            if mask[row] and number is not None:
                self.task.reset([row], seeds=[number])
        unseeded = mask if seeds is None else mask & np.array([number is None for number in seeds])
        self._ended[mask] = False
        return self.task.reset(unseeded), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step every environment; finished ones reset as `autoreset_mode` says."""
        resetting = self._ended & (self.autoreset_mode is AutoresetMode.NEXT_STEP)
        self.task.rest(resetting)  # an environment that is about to be reset is not stepped beyond its end
        observation, reward, terminated, truncated = self.task.step(actions)
        info = _info(self.task.diverged, ~resetting)
        self._ended = terminated | truncated
        if resetting.any():
            observation = self.task.reset(resetting)
        elif self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended
            final = np.full(self.num_envs, None, dtype=object)
            for row in np.flatnonzero(ended):
                final[row] = observation[row]
            info = {
                "final_obs": final,
                "_final_obs": ended.copy(),
                "final_info": _info(self.task.diverged, ended),
                "_final_info": ended.copy(),
                **_info(self.task.diverged, ~ended),
            }
            observation = self.task.reset(ended)
        return observation, reward, terminated, truncated, info


class TaskEnv(gymnasium.Env):
    """One copy of a Task behind Gymnasium's single interface."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: str, render_mode: str | None = None, **options: Any) -> None:
        self.render_mode = _checked_mode(render_mode, self.metadata)
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


def _info(diverged: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    """The infos of some environments as Gymnasium batches them: values, and whose values they are."""
    return {"diverged": diverged & rows, "_diverged": rows.copy()}


def _checked_mode(render_mode: str | None, metadata: dict[str, Any]) -> str | None:
    if render_mode is not None and render_mode not in metadata["render_modes"]:
        known = ", ".join(metadata["render_modes"]) or "none here: gymnasium.make gives one that can be drawn"
        raise RenderModeError(f"Unknown render_mode: {render_mode!r}.", f"Known: {known}.")
    return render_mode


def _spaces(task: Task) -> tuple[Box, Box]:
    observation = Box(-np.inf, np.inf, (task.observation_size,), np.float64)
    return observation, Box(-1.0, 1.0, (task.action_size,), np.float32)
