"""What training, adaptation and rendering may ask of a robot."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64

from polygait.config import is_whole
from polygait.errors import UserError
from polygait.tasks.defaults import TaskDefaults
from polygait.tasks.state import StateFilter, StateLayout
from polygait.variations import Anatomy, Edit, Variation

EnvIds = Sequence[int] | np.ndarray | None
Variations = str | Variation | Edit | None | Sequence[str | Variation | Edit | None]


class Step(NamedTuple):
    """What one step of every environment gave.

    `observation` is the true next state, also where the episode ended: nothing resets by itself.
    """

    observation: Float64[np.ndarray, "env state"]
    reward: Float64[np.ndarray, " env"]
    terminated: Bool[np.ndarray, " env"]
    truncated: Bool[np.ndarray, " env"]


@runtime_checkable
class Task(Protocol):
    """Many copies of one robot, stepped together.

    Rows are independent: a row's trajectory depends on its own seed, variation and actions only.
    """

    name: str
    num_envs: int
    layout: StateLayout
    action_size: int
    observation_size: int
    max_episode_steps: int
    feet: tuple[str, ...]
    default_filter: StateFilter
    conditions: Mapping[str, str]
    """Named conditions, each in the language of variations."""
    anatomy: Anatomy
    """The names of joints, bodies, geoms, actions and state parts that variations may use."""
    defaults: TaskDefaults
    """Numbers for methods, learners and suites that belong to this robot."""
    diverged: np.ndarray
    """Which environments' physics broke down in the last step: their episode ended there."""
    num_diverged: int
    """How many times that has happened since the task was made."""

    @property
    def time_step(self) -> float | None:
        """Seconds of one step, where the simulator tells."""
        ...

    @property
    def progress(self) -> np.ndarray:
        """How far every robot has come, in metres; NaN where the simulator does not tell."""
        ...

    def reset(self, env_ids: EnvIds = None, seeds: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Begin new episodes (everywhere, or in env_ids); the observations of every environment.

        A seed per environment makes its episodes, from this one on, those of that seed. A new task stands
        at the start of its first episode, and the first reset begins that same one.
        """
        ...

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment, (num_envs, action_size) in [−1, 1]; what lies beyond is cut off."""
        ...

    def rest(self, env_ids: EnvIds) -> None:
        """Leave environments out until their next reset: they stay as they are and earn nothing."""
        ...

    def set_variation(self, variation: Variations, env_ids: EnvIds = None) -> None:
        """Change the world from the next step on, everywhere or in env_ids; None is the nominal world."""
        ...

    def foot_contacts(self) -> np.ndarray:
        """Which feet touch the ground now, (num_envs, number of feet)."""
        ...

    def snapshot(self) -> Mapping[str, np.ndarray]:
        """Everything a later restore() needs to go on bit for bit."""
        ...

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of a task made with the same arguments."""
        ...


def checked_actions(actions: np.ndarray, num_envs: int, action_size: int) -> np.ndarray:
    """Float64 actions of the right shape, cut to [−1, 1]; one that is not finite names its environment."""
    actions = checked_numbers("actions", actions)
    if actions.shape != (num_envs, action_size):
        raise UserError(
            f"Expected actions of shape ({num_envs}, {action_size}), (environments, actions), "
            f"got {actions.shape}.",
            "Give every environment its own row of actions.",
        )
    largest = np.abs(actions).max(initial=0.0)
    if not largest < np.inf:  # NaN is not smaller either
        env, action = np.argwhere(~np.isfinite(actions))[0]
        raise UserError(
            f"Action {action} of environment {env} is {actions[env, action]}: every action must be finite.",
            "Check the policy for NaN; an action is usually in [−1, 1].",
        )
    return actions if largest <= 1.0 else np.clip(actions, -1.0, 1.0)


def checked_numbers(name: str, values: Any, dtype: Any = np.float64) -> np.ndarray:
    """An array of numbers from whatever holds some; text and rows of different length do not."""
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError):
        raise UserError(
            f"Expected {name} that are numbers, in rows of equal length, got {reprlib.repr(values)}.",
            "Give a NumPy array or nested lists of numbers.",
        ) from None


def check_count(name: str, count: int) -> None:
    """A number of things must be whole and at least 1."""
    check_whole(name, count)
    if count < 1:
        raise UserError(f"{name} must be at least 1, got {count}.", f"Leave {name} out for its default.")


def check_whole(name: str, number: int) -> None:
    """A whole number, also one of NumPy's; True is none."""
    if not is_whole(number):
        raise UserError(
            f"{name} must be a whole number, got {number!r}.", f"Leave {name} out for its default."
        )


def check_limit(limit: Any) -> None:
    """An episode must have at least one step."""
    if not is_whole(limit) or limit < 1:
        raise UserError(f"max_episode_steps must be a whole number above 0, got {limit!r}.")


def checked_seeds(seeds: Sequence[int] | np.ndarray, count: int) -> list[int]:
    """One whole number per environment, within 64 bits."""
    listed = list(seeds) if isinstance(seeds, Sequence | np.ndarray) else None
    if (
        listed is None
        or len(listed) != count
        or not all(isinstance(one, numbers.Real) and float(one).is_integer() for one in listed)
    ):
        counted = "" if listed is None else f"{len(listed)}: "
        raise UserError(
            f"Expected {count} whole numbers as seeds, one per environment, got {counted}{seeds}.",
            f"Give for example seeds={list(range(count))[:8]}, or leave seeds out.",
        )
    return [int(one) % 2**64 for one in listed]


def check_snapshot(snapshot: Mapping[str, np.ndarray], like: Mapping[str, np.ndarray]) -> None:
    """A snapshot must come from a task made with the same arguments."""
    for name, array in like.items():
        found = np.shape(snapshot[name]) if name in snapshot else "nothing"
        if found != array.shape:
            raise UserError(
                f"The snapshot does not fit this task: {name} has {found}, expected {array.shape}.",
                "Restore into a task made with the same arguments.",
            )
