"""Act until so many episodes are over, each from its start to its end.

The rollout that this gives has as many steps as these episodes took. They stand in it one after the other, as
if a single environment had lived through all of them: whoever reads a rollout meets no gap and needs no mask.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, Float64

from polygait.learning.rollout import Actor, Environments, Position, Rollout, joined_episodes


@runtime_checkable
class EpisodicEnvironments(Environments, Protocol):
    """The part of a Task that collecting whole episodes needs."""

    max_episode_steps: int

    def rest(self, env_ids: np.ndarray) -> None:
        """Leave environments out until their next reset: they stay as they are and earn nothing."""
        ...


class _Record(NamedTuple):
    """What happened in every episode; rows after its end mean nothing."""

    observation: Float32[np.ndarray, "episode time state"]
    action: Float32[np.ndarray, "episode time action"]
    reward: Float64[np.ndarray, "episode time"]
    terminated: Bool[np.ndarray, "episode time"]
    truncated: Bool[np.ndarray, "episode time"]
    next_observation: Float32[np.ndarray, "episode time state"]


def collect_episodes(
    task: EpisodicEnvironments,
    policy: Actor,
    noise: Float32[np.ndarray, "time 1 episode action"],
    position: Position,
) -> Rollout:
    """One member's episodes, as many as there is noise for, begun at `position`.

    Whoever has ended one begins the next while any is left, and rests then. How long an episode lasts has no
    part in whether it is counted: short ones are no more frequent here than they are.
    """
    limit, _, num_episodes, _ = noise.shape
    record = _blank(task, num_episodes, limit)
    length = np.zeros(num_episodes, np.int64)
    episode, moment = np.arange(task.num_envs), np.zeros(task.num_envs, np.int64)
    awake, begun = np.ones(task.num_envs, bool), task.num_envs
    action = np.empty((1, task.num_envs, task.action_size), np.float32)
    finished: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    observation: np.ndarray = position.observation[0]
    while awake.any():
        at = episode[awake], moment[awake]
        record.observation[at] = observation[awake]
        policy.act(observation[None], noise[moment, 0, episode][None], out=action)
        record.action[at] = action[0, awake]
        step = task.step(np.clip(action[0], -1.0, 1.0))
        observation = step.observation.astype(np.float32)
        record.next_observation[at] = observation[awake]
        for name in ("reward", "terminated", "truncated"):
            getattr(record, name)[at] = getattr(step, name)[awake]
        ended = (step.terminated | step.truncated) & awake
        moment[awake & ~ended] += 1
        if ended.any():
            rows = np.flatnonzero(ended)
            over = episode[rows]
            length[over] = moment[rows] + 1
            totals = [record.reward[one, : length[one]].sum() for one in over]
            finished.append((np.zeros(len(rows), np.int64), np.array(totals), length[over]))
            next_episode = begun + np.arange(len(rows))
            going_on, done = rows[next_episode < num_episodes], rows[next_episode >= num_episodes]
            episode[going_on], moment[going_on] = next_episode[: len(going_on)], 0
            begun += len(going_on)
            awake[done] = False
            task.rest(done)
            if going_on.size:
                observation = task.reset(going_on).astype(np.float32)
    start = task.reset().astype(np.float32)[None]
    nothing = np.zeros(start.shape[:2])
    whole = np.arange(limit) < length[:, None]
    return Rollout(
        **{name: array[whole][:, None, None] for name, array in record._asdict().items()},
        episodes=joined_episodes(finished),
        position=Position(
            start, nothing, nothing.astype(np.int64), np.asarray(position.num_steps + length.sum())
        ),
        policy=policy,
        varies=True,
    )


def _blank(task: EpisodicEnvironments, num_episodes: int, limit: int) -> _Record:
    """Room for episodes of the longest kind."""
    rows = (num_episodes, limit)
    return _Record(
        observation=np.empty((*rows, task.observation_size), np.float32),
        action=np.empty((*rows, task.action_size), np.float32),
        reward=np.empty(rows),
        terminated=np.empty(rows, bool),
        truncated=np.empty(rows, bool),
        next_observation=np.empty((*rows, task.observation_size), np.float32),
    )
