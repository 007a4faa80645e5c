"""Any Gymnasium environment with a Box action space as a Task."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import FlattenObservation

from polygait.errors import UserError, unknown_name
from polygait.tasks.actions import law_of_bounds
from polygait.tasks.batched import BatchedTask
from polygait.tasks.divergence import broke_down, divert_warnings
from polygait.tasks.gym_layout import environment_layout, given_layout, model_of
from polygait.tasks.schedule import Scheduled, of_kind
from polygait.tasks.state import StateFilter, StateLayout
from polygait.tasks.task import Step, Variations, check_count, check_limit, check_snapshot, checked_actions
from polygait.tasks.timers import stop_timers
from polygait.variations import PHYSICS, Anatomy, Effect


@dataclass(frozen=True)
class GymBody:
    """The model file of one of Gymnasium's MuJoCo environments, to be drawn."""

    file: str
    feet: Mapping[str, str] = field(default_factory=dict)
    floor: str = "floor"

    def spec(self) -> mujoco.MjSpec:
        """The model, before it is compiled."""
        return mujoco.MjSpec.from_file(self.file)


_FREE = mujoco.mjtJoint.mjJNT_FREE.value
_told: set[str] = set()
"""What Gymnasium has said about environments in this process."""


class GymTask(BatchedTask):
    """Copies of a Gymnasium environment, stepped one after another.

    Actions in [−1, 1] are rescaled to the environment's bounds. A snapshot holds the actions since each
    episode began: restoring replays them, which is exact for every deterministic environment.
    """

    feet: tuple[str, ...] = ()

    def __init__(
        self,
        env: str | Callable[[], gymnasium.Env],
        num_envs: int = 1,
        seed: int = 0,
        variation: Variations = None,
        layout: Any = None,
        **options: Any,
    ) -> None:
        """`layout` names the observation: a StateLayout, a TOML file, parts with names, or names in order."""
        limit = options.pop("max_episode_steps", None)
        if limit is not None:
            check_limit(limit)
        if callable(env) and options:
            raise UserError(
                f"{', '.join(options)}: a function that makes environments takes no options from here.",
                "Let the function give them.",
            )
        make = env if callable(env) else lambda: _make(env, options, limit)
        check_count("num_envs", num_envs)
        divert_warnings()
        stop_timers()
        made = [make() for _ in range(num_envs)]
        self._envs = [_flat(one) for one in made]
        spec = self.env.spec
        self.name = env if isinstance(env, str) else (spec.id if spec else "gymnasium")
        self._low, self._high = _action_bounds(self.env.action_space, self.name)
        self.layout = _layout(layout, self.env, made[0].observation_space)
        self.default_filter = StateFilter.identity(self.layout)
        self.model = model_of(self.env)
        self.time_step = _time_step(self.env) if self.model else None
        self.max_episode_steps = int(limit or (spec and spec.max_episode_steps) or 1000)
        motors = [f"action_{index}" for index in range(len(self._low))]
        anatomy = Anatomy(
            joints={},
            bodies={},
            geoms={},
            actions=motors,
            state=self.layout.select,
            motors=motors,
            has_model=False,
            state_parts=list(self.layout.parts),
        )
        super().__init__(num_envs, seed, self.layout.size, anatomy)
        self.action_law = law_of_bounds(
            motors, self._low, self._high, 1 / self.time_step if self.time_step else None
        )
        self._history: list[list[np.ndarray]] = [[] for _ in range(num_envs)]
        self._open(variation)

    @property
    def env(self) -> gymnasium.Env:
        """The first of the environments."""
        return self._envs[0]

    @property
    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """What the actions −1 and 1 become."""
        return self._low.copy(), self._high.copy()

    @property
    def body(self) -> GymBody | None:
        """What can be drawn: the model of a MuJoCo environment that says where its file is."""
        file = getattr(self.env.unwrapped, "fullpath", None)
        return GymBody(file) if self.model is not None and isinstance(file, str) else None

    @property
    def poses(self) -> np.ndarray:
        """(num_envs, position) Of every environment's model; without columns if there is none."""
        if self.model is None:
            return np.zeros((self.num_envs, 0))
        return np.array([getattr(env.unwrapped, "data").qpos for env in self._envs])  # noqa: B009

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment; nothing resets by itself."""
        actions = np.clip(checked_actions(actions, self.num_envs, self.action_size), -1, 1)
        arriving = self._faults.on_actions(actions, self._step_count)
        scaled = self._low + (np.clip(arriving, -1, 1) + 1) / 2 * (self._high - self._low)
        self._count_step()
        observation, reward = self._observation.copy(), np.zeros(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=bool)
        for row in np.flatnonzero(~self._resting).tolist():
            env = self._envs[row]
            self._history[row].append(actions[row].copy())
            action = scaled[row].reshape(env.action_space.shape).astype(env.action_space.dtype)
            state, reward[row], terminated[row], truncated[row], info = env.step(action)
            observation[row] = np.ravel(state)
            self._progress[row] = _forward(env, info)
        broken = ~(np.isfinite(observation).all(axis=1) & np.isfinite(reward))
        broken |= [broke_down(getattr(env.unwrapped, "data", None)) for env in self._envs]
        step = self._record(observation, reward, terminated, broken)
        return step._replace(truncated=step.truncated | truncated)

    def foot_contacts(self) -> np.ndarray:
        """A Gymnasium environment names no feet: (num_envs, 0)."""
        return np.zeros((self.num_envs, 0), dtype=bool)

    def snapshot(self) -> dict[str, np.ndarray]:
        """The seeds and the actions since every episode began."""
        actions = np.zeros((self.num_envs, int(self._step_count.max(initial=0)), self.action_size))
        for row, history in enumerate(self._history):
            actions[row, : len(history)] = history if history else actions[row, :0]
        return {"actions": actions, **self._records()}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Begin the same episodes and replay their actions."""
        check_snapshot(snapshot, self._records())
        self._restore_records(snapshot)
        # Rows differ in length: each rests until it is late enough for all to end together.
        steps = np.asarray(snapshot["step_count"])
        longest = int(steps.max(initial=0))
        self._replay(self._all_rows)
        self.rest(steps < longest)
        for moment in range(longest):
            if moment and (late := np.flatnonzero(longest - steps == moment)).size:
                self._replay(late)
            index = np.clip(moment - (longest - steps), 0, None)
            self.step(snapshot["actions"][self._all_rows, index])
        self._restore_records(snapshot)

    def _replay(self, rows: np.ndarray) -> None:
        """Begin the rows' current episodes once more: an episode is a function of its seed."""
        self._rewind(rows)
        self._start(rows)

    def _install(self, effects: list[Scheduled[Effect]], rows: np.ndarray) -> None:
        if of_kind(effects, PHYSICS):
            raise UserError(
                f"The physics of {self.name} cannot be changed from outside.",
                "Use sensor(state.0), motor(action_0), strength(action_0)=0.7 or delay=2 here, or write a "
                "Robot file for a MuJoCo model (docs/robots.md).",
            )

    def _start(self, rows: np.ndarray) -> None:
        states = []
        for row in rows.tolist():
            state, info = self._envs[row].reset(seed=self._seed(row))
            states.append(np.ravel(state))
            self._progress[row] = _forward(self._envs[row], info)
            self._history[row] = []
        self._show(rows, np.array(states))

    def _seed(self, row: int) -> int:
        key = [*self._keys[row].tolist(), int(self._episode[row])]
        return int(np.random.SeedSequence(key).generate_state(1)[0])


def _make(name: str, options: dict[str, Any], limit: int | None) -> gymnasium.Env:
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            env = gymnasium.make(name, max_episode_steps=limit, **options)
    except gymnasium.error.DependencyNotInstalled as error:
        raise UserError(f"{name} needs a package that is not installed.", str(error)) from error
    except gymnasium.error.UnregisteredEnv:
        raise unknown_name("Gymnasium environment", name, gymnasium.registry) from None
    except gymnasium.error.Error as error:
        raise UserError(f"Gymnasium cannot make {name!r}.", f"It says: {error}") from error
    except TypeError as error:
        if not options:
            raise
        raise UserError(
            f"{name} cannot be made with {', '.join(f'{key}={value!r}' for key, value in options.items())}.",
            f"It says: {error}",
        ) from error
    for one in said:
        _tell_once(one)
    return env


def _tell_once(said: warnings.WarningMessage) -> None:
    """What Gymnasium says about an environment, once for all its copies and without colours."""
    text = re.sub(r"\x1b\[\d+m", "", str(said.message)).removeprefix("WARN: ")
    if text not in _told:
        _told.add(text)
        warnings.warn(text, said.category, stacklevel=4)


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
            "Wrap it: gymnasium.wrappers.TransformAction(env, lambda action: action, "
            f"gymnasium.spaces.Box(-1, 1, {space.shape})), in a function that GymTask is given or that is "
            "registered with Gymnasium.",
        )
    return low, high


def _layout(given: Any, env: gymnasium.Env, space: gymnasium.Space) -> StateLayout:
    shown = np.ravel(env.reset(seed=0)[0])
    layout = environment_layout(env, space, shown) if given is None else given_layout(given)
    if layout.size != len(shown):
        raise UserError(
            f"The layout names {layout.size} numbers, the observation has {len(shown)}.", "Name each once."
        )
    return layout


def _forward(env: gymnasium.Env, info: Mapping[str, Any]) -> float:
    """How far a robot has come along x, in metres; NaN where an environment does not tell.

    Gymnasium's own say it. Of other models the place of a robot that floats is known; a slide might as well
    carry a cart or a gripper.
    """
    if "x_position" in info:
        return float(info["x_position"])
    model = model_of(env)
    if model is None or not model.njnt or model.jnt_type[0] != _FREE:
        return np.nan
    return float(getattr(env.unwrapped, "data").qpos[0])  # noqa: B009


def _time_step(env: gymnasium.Env) -> float | None:
    """Seconds of a step, as Gymnasium's MuJoCo environments tell."""
    seconds = getattr(env.unwrapped, "dt", None)
    return float(seconds) if isinstance(seconds, float | int) and seconds > 0 else None
