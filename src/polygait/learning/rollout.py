"""Act in every environment of every member for a while, and write down what happened."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Float64, Int, Int64, Integer, Key

from polygait.errors import UserError
from polygait.learning.keys import named_key
from polygait.tasks.task import Step


@runtime_checkable
class Environments(Protocol):
    """The part of a Task that collecting experience needs; rows are member-major."""

    @property
    def num_envs(self) -> int: ...
    @property
    def observation_size(self) -> int: ...
    @property
    def action_size(self) -> int: ...
    def reset(self, env_ids: Any = None, seeds: Any = None) -> np.ndarray:
        """Begin new episodes (everywhere, or in env_ids); the observations of every environment."""
        ...

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment; nothing resets by itself."""
        ...


@runtime_checkable
class Actor(Protocol):
    """Whoever chooses actions, for every member and environment."""

    def act(self, observation: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None:
        """Write what to do into `out`, given what is seen and standard normal noise."""
        ...

    def mean(self, observation: np.ndarray) -> np.ndarray:
        """What is done without noise."""
        ...


class Position(NamedTuple):
    """Where a cohort stands between two rollouts; with the task's snapshot, all a resume needs."""

    observation: Float32[np.ndarray, "member env state"]
    episode_return: Float64[np.ndarray, "member env"]
    """Reward of the episode under way so far."""
    episode_length: Int64[np.ndarray, "member env"]
    """Steps of the episode under way so far."""
    num_steps: Int64[np.ndarray, ""]
    """Steps of every member since its training began."""


class FinishedEpisodes(NamedTuple):
    """Episodes that ended during a rollout, in order of their end."""

    member: Int[np.ndarray, " episode"]
    total_reward: Float64[np.ndarray, " episode"]
    length: Int[np.ndarray, " episode"]


class Rollout(NamedTuple):
    """What every member did and met. Observations are raw, actions unclipped."""

    observation: Float32[np.ndarray, "time member env state"]
    action: Float32[np.ndarray, "time member env action"]
    reward: Float64[np.ndarray, "time member env"]
    terminated: Bool[np.ndarray, "time member env"]
    truncated: Bool[np.ndarray, "time member env"]
    next_observation: Float32[np.ndarray, "time member env state"]
    """The true next state, also where an episode ended and `observation` goes on with a new one."""
    episodes: FinishedEpisodes
    position: Position
    """Where to go on."""
    policy: Actor
    """Who acted: it can tell what every member would do on average in any state."""
    varies: bool = False
    """Whether the next rollout may have another number of steps (learning/padding.py)."""


def start_position(task: Environments, num_members: int, seeds: list[int] | None = None) -> Position:
    """Begin new episodes everywhere, each environment with its own seed where seeds are given."""
    if task.num_envs % num_members:
        raise UserError(
            f"{task.num_envs} environments cannot be shared evenly by {num_members} members.",
            f"Make the task with a multiple of {num_members} environments.",
        )
    envs_per_member = task.num_envs // num_members
    observation = np.asarray(task.reset(seeds=seeds))
    return Position(
        observation=observation.reshape(num_members, envs_per_member, -1).astype(np.float32),
        episode_return=np.zeros((num_members, envs_per_member)),
        episode_length=np.zeros((num_members, envs_per_member), np.int64),
        num_steps=np.array(0),
    )


def rollout_noise(
    member_keys: Key[Array, " member"], iteration: int, shape: tuple[int, int, int]
) -> Float32[np.ndarray, "time member env action"]:
    """Standard normal noise of a whole rollout; `shape` = (rollout length, envs per member, action size).

    Drawn up front from each member's key and the iteration number: no other random state exists, and
    a member's noise does not depend on its cohort.
    """
    draws = [_draw(key, jnp.uint32(iteration), shape) for key in member_keys]
    return np.stack(draws, axis=1)


@partial(jax.jit, static_argnames="shape")
def _draw(
    member_key: Key[Array, ""], iteration: Integer[Array, ""], shape: tuple[int, int, int]
) -> Float[Array, "time env action"]:
    """One member's noise; one program for each, so that it cannot depend on their number."""
    return jax.random.normal(named_key(member_key, "rollout", iteration), shape)


def collect(
    task: Environments,
    policy: Actor,
    noise: Float32[np.ndarray, "time member env action"],
    position: Position,
) -> Rollout:
    """Go on from `position` for as many steps as there is noise.

    The environment receives a cut to [−1, 1]; the record keeps a itself, which is what π(a|s) is about.
    """
    rollout = _blank(noise.shape, position, policy)
    rows = noise.shape[1:3]
    action = rollout.action
    clipped = np.empty_like(action[0])
    commands = clipped.reshape(task.num_envs, task.action_size)
    episode_return, episode_length = position.episode_return.copy(), position.episode_length.copy()
    finished: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    observation: np.ndarray = position.observation
    for time in range(len(noise)):
        rollout.observation[time] = observation
        policy.act(rollout.observation[time], noise[time], out=action[time])
        np.minimum(action[time], 1.0, out=clipped)
        np.maximum(clipped, -1.0, out=clipped)
        step = task.step(commands)
        observation = step.observation.reshape(*rows, -1)
        rollout.next_observation[time] = observation
        rollout.reward[time] = step.reward.reshape(rows)
        rollout.terminated[time] = step.terminated.reshape(rows)
        rollout.truncated[time] = step.truncated.reshape(rows)
        episode_return += rollout.reward[time]
        episode_length += 1
        ended = rollout.terminated[time] | rollout.truncated[time]
        if ended.any():
            observation = task.reset(np.flatnonzero(ended)).reshape(*rows, -1)
            finished.append((ended.nonzero()[0], episode_return[ended], episode_length[ended]))
            episode_return[ended] = 0.0
            episode_length[ended] = 0
    num_steps = position.num_steps + len(noise) * rows[1]
    end = Position(observation.astype(np.float32), episode_return, episode_length, np.asarray(num_steps))
    return rollout._replace(episodes=joined_episodes(finished), position=end)


def first_episodes(rollout: Rollout) -> Bool[np.ndarray, "time member env"]:
    """Which steps belong to each environment's first episode."""
    ended = rollout.terminated | rollout.truncated
    return np.cumsum(ended, axis=0) - ended == 0


def with_newest(
    recent: Float64[np.ndarray, "member episode"], episodes: FinishedEpisodes
) -> Float64[np.ndarray, "member episode"]:
    """Every member's newest returns, newest last and NaN before the first; as many old ones are dropped."""
    rows = [
        np.concatenate([old, episodes.total_reward[episodes.member == row]]) for row, old in enumerate(recent)
    ]
    return np.stack([row[-recent.shape[1] :] for row in rows])


def recent_mean(recent: Float64[np.ndarray, "member episode"]) -> Float64[np.ndarray, " member"]:
    """The mean return of every member's newest episodes; NaN where there is none yet."""
    seen = ~np.isnan(recent)
    return np.where(
        seen.any(axis=1), np.where(seen, recent, 0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1), np.nan
    )


def _blank(shape: tuple[int, ...], position: Position, policy: Actor) -> Rollout:
    """A rollout with room for everything; its noise has the given shape."""
    time, *rows, _ = shape
    states = (time, *position.observation.shape)
    return Rollout(
        observation=np.empty(states, np.float32),
        action=np.empty(shape, np.float32),
        reward=np.empty((time, *rows)),
        terminated=np.empty((time, *rows), bool),
        truncated=np.empty((time, *rows), bool),
        next_observation=np.empty(states, np.float32),
        episodes=joined_episodes([]),
        position=position,
        policy=policy,
    )


def joined_episodes(finished: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> FinishedEpisodes:
    """One record of all finished episodes."""
    if not finished:
        return FinishedEpisodes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
    member, total_reward, length = (np.concatenate(column) for column in zip(*finished, strict=True))
    return FinishedEpisodes(member, total_reward, length)
