"""Any Gymnasium environment with a Box action space as a Task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import FlattenObservation

from polygait.errors import UserError, unknown_name
from polygait.tasks.faults import Faults
from polygait.tasks.schedule import of_kind, row_ids, schedule, variations_per_row
from polygait.tasks.state import StateFilter, StateLayout
from polygait.tasks.task import EnvIds, Step, Variations, check_count, checked_actions, checked_seeds
from polygait.variations import Anatomy, ModelChange


class GymTask:
    """Copies of a Gymnasium environment, stepped one after another.

    Actions in [−1, 1] are rescaled to the environment's bounds. A snapshot holds the actions since each
    episode began: restoring replays them, which is exact for every deterministic environment.
    """

    feet: tuple[str, ...] = ()
    conditions: Mapping[str, str] = {}

    def __init__(
        self,
        env: str | Callable[[], gymnasium.Env],
        num_envs: int = 1,
        seed: int = 0,
        variation: Variations = None,
        layout: StateLayout | None = None,
        **options: Any,
    ) -> None:
        limit = options.pop("max_episode_steps", None)
        make = env if callable(env) else lambda: _make(env, options)
        check_count("num_envs", num_envs)
        self._envs = [_flat(make()) for _ in range(num_envs)]
        spec = self._envs[0].spec
        self.name = env if isinstance(env, str) else (spec.id if spec else "gymnasium")
        self.num_envs = num_envs
        self._low, self._high = _action_bounds(self._envs[0].action_space, self.name)
        self.action_size = len(self._low)
        self.observation_size = int(np.prod(self._envs[0].observation_space.shape or (0,)))
        self.max_episode_steps = int(limit or (spec and spec.max_episode_steps) or 1000)
        self.layout = _layout(layout, self.observation_size)
        self.default_filter = StateFilter.identity(self.layout)
        self.diverged = np.zeros(num_envs, dtype=bool)
        self.num_diverged = 0

        motors = [f"action_{index}" for index in range(self.action_size)]
        self._anatomy = Anatomy(joints={}, bodies={}, geoms={}, actions=motors, state=self.layout.select)
        self._keys = np.stack([np.full(num_envs, seed % 2**63), np.arange(num_envs)], axis=1).astype(np.int64)
        self._episode = np.zeros(num_envs, dtype=np.int64)
        self._untouched = np.ones(num_envs, dtype=bool)
        self._resting = np.zeros(num_envs, dtype=bool)
        self._history: list[list[np.ndarray]] = [[] for _ in range(num_envs)]
        self._observation = np.zeros((num_envs, self.observation_size))
        self._faults = Faults(num_envs, self.action_size, self.observation_size)
        self.variations = variations_per_row(None, {}, num_envs)
        self.set_variation(variation)
        self.reset()
        self._untouched[:] = True

    @property
    def _step_count(self) -> np.ndarray:
        return np.array([len(actions) for actions in self._history])

    def set_variation(self, variation: Variations, env_ids: EnvIds = None) -> None:
        """Change sensors, motors or delay from the next step on; None is the nominal world."""
        rows = row_ids(env_ids, self.num_envs)
        variations = list(self.variations)
        for row, one in zip(rows, variations_per_row(variation, {}, len(rows)), strict=True):
            variations[row] = one
        effects = schedule(variations, self._anatomy)
        if of_kind(effects, ModelChange):
            raise UserError(
                f"The physics of {self.name} cannot be changed from outside.",
                "Use sensor(…), motor(action_0) or delay=2 here, or write a Robot file for a MuJoCo model.",
            )
        self._faults.install(effects, rows)
        self.variations = variations

    def reset(self, env_ids: EnvIds = None, seeds: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Begin new episodes (everywhere, or in env_ids); the observations of every environment."""
        rows = row_ids(env_ids, self.num_envs)
        if seeds is not None:
            self._keys[rows, 0], self._keys[rows, 1] = checked_seeds(seeds, len(rows), bits=63), 0
            self._episode[rows], self._untouched[rows] = 0, True
        if rows.size:
            self._episode[rows] += ~self._untouched[rows]
            self._untouched[rows] = False
            self._begin(rows)
        return self._observation.copy()

    def rest(self, env_ids: EnvIds) -> None:
        """Leave environments out until their next reset: they stay as they are and earn nothing."""
        self._resting[row_ids(env_ids, self.num_envs)] = True

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment; nothing resets by itself."""
        actions = checked_actions(actions, self.num_envs, self.action_size)
        arriving = self._faults.on_actions(actions, self._step_count)
        self._untouched[:] = False
        scaled = self._low + (np.clip(arriving, -1, 1) + 1) / 2 * (self._high - self._low)
        true_state, reward = self._observation.copy(), np.zeros(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=bool)
        for row in np.flatnonzero(~self._resting).tolist():
            env = self._envs[row]
            self._history[row].append(actions[row])
            action = scaled[row].reshape(env.action_space.shape).astype(env.action_space.dtype)
            state, reward[row], terminated[row], truncated[row], _ = env.step(action)
            true_state[row] = np.ravel(state)
        self.diverged = ~(np.isfinite(true_state).all(axis=1) & np.isfinite(reward))
        if self.diverged.any():
            self.num_diverged += int(self.diverged.sum())
            true_state[self.diverged] = self._observation[self.diverged]
            reward, terminated = np.where(self.diverged, 0.0, reward), terminated | self.diverged
        self._observation = self._seen(true_state, np.arange(self.num_envs))
        truncated |= self._step_count >= self.max_episode_steps
        return Step(self._observation.copy(), reward, terminated, truncated)

    def foot_contacts(self) -> np.ndarray:
        """A Gymnasium environment names no feet: (num_envs, 0)."""
        return np.zeros((self.num_envs, 0), dtype=bool)

    def snapshot(self) -> dict[str, np.ndarray]:
        """The seeds and the actions since every episode began."""
        steps = self._step_count
        actions = np.zeros((self.num_envs, int(steps.max(initial=0)), self.action_size))
        for row, history in enumerate(self._history):
            actions[row, : len(history)] = history if history else actions[row, :0]
        return {
            "keys": self._keys.copy(),
            "episode": self._episode.copy(),
            "untouched": self._untouched.copy(),
            "step_count": steps,
            "actions": actions,
            "num_diverged": np.array(self.num_diverged),
        }

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Begin the same episodes and replay their actions."""
        self._keys[:] = snapshot["keys"]
        self._episode[:] = snapshot["episode"]
        steps = snapshot["step_count"]
        self._begin(np.arange(self.num_envs))
        # Rows differ in length: each begins late enough for all to end together.
        longest = int(steps.max(initial=0))
        for moment in range(longest):
            late = np.flatnonzero(longest - steps == moment)
            if late.size and moment:
                self._begin(late)
            index = np.clip(moment - (longest - steps), 0, None)
            self.step(snapshot["actions"][np.arange(self.num_envs), index])
        fresh = np.flatnonzero(steps == 0)
        if fresh.size and longest:
            self._begin(fresh)
        self._untouched[:] = snapshot["untouched"]
        self.num_diverged = int(snapshot["num_diverged"])

    def _begin(self, rows: np.ndarray) -> None:
        """Start the rows' current episodes: an episode is a function of its seed."""
        true_state = self._observation.copy()
        for row in rows.tolist():
            true_state[row] = np.ravel(self._envs[row].reset(seed=self._seed(row))[0])
            self._history[row] = []
        self._resting[rows] = False
        self._faults.forget(rows)
        self._observation[rows] = self._seen(true_state, rows)[rows]
        self.diverged[rows] = False

    def _seen(self, true_state: np.ndarray, rows: np.ndarray) -> np.ndarray:
        seen = true_state.copy()
        count = self._step_count
        self._faults.on_observation(
            seen,
            count,
            rows,
            lambda row, place: np.random.default_rng([self._seed(row), int(count[row]), place]),
        )
        return seen

    def _seed(self, row: int) -> int:
        key = [*self._keys[row].tolist(), int(self._episode[row])]
        return int(np.random.SeedSequence(key).generate_state(1)[0])


def _make(name: str, options: dict[str, Any]) -> gymnasium.Env:
    try:
        return gymnasium.make(name, **options)
    except (gymnasium.error.UnregisteredEnv, gymnasium.error.DependencyNotInstalled) as error:
        if isinstance(error, gymnasium.error.DependencyNotInstalled):
            raise UserError(f"{name} needs a package that is not installed: {error}") from error
        raise unknown_name("Gymnasium environment", name, gymnasium.registry) from None


def _flat(env: gymnasium.Env) -> gymnasium.Env:
    return env if isinstance(env.observation_space, Box) else FlattenObservation(env)


def _action_bounds(space: gymnasium.Space, name: str) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(space, Box):
        raise UserError(
            f"{name} has the action space {space}; polygait needs a Box of real numbers.",
            "Wrap the environment so that its actions are continuous.",
        )
    low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise UserError(
            f"{name} has actions without bounds.",
            "Wrap it with gymnasium.wrappers.RescaleAction or ClipAction.",
        )
    return low, high


def _layout(given: StateLayout | None, size: int) -> StateLayout:
    layout = given or StateLayout.numbered(size)
    if layout.size != size:
        raise UserError(
            f"The layout names {layout.size} numbers, the observation has {size}.", "Name each once."
        )
    return layout
