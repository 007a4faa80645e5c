"""Minitaur in PyBullet: the original physics behind the same Task (needs the extra `bullet`).

A population that learned in MuJoCo can be tried here: same state, same actions, another simulator.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygait.errors import UserError, unknown_name
from polygait.tasks import minitaur_rules as rules
from polygait.tasks.bullet_models import BulletModels, bullet_anatomy, check_fields
from polygait.tasks.bullet_physics import Readings
from polygait.tasks.bullet_worker import BulletRobots
from polygait.tasks.faults import Faults
from polygait.tasks.minitaur_motor import SUBSTEP, SUBSTEPS, motor_targets
from polygait.tasks.randomness import CounterRandom
from polygait.tasks.schedule import of_kind, row_ids, schedule, variations_per_row
from polygait.tasks.state import StateFilter
from polygait.tasks.task import (
    EnvIds,
    Step,
    Variations,
    check_count,
    check_limit,
    check_snapshot,
    checked_actions,
    checked_seeds,
)
from polygait.tasks.world import World
from polygait.variations import ModelChange

_SENSORS, _MODEL = 1, 2**32  # what random numbers are for, as in MujocoTask


@dataclass(frozen=True)
class BulletOptions:
    """The task's own options."""

    randomize: bool = True
    """Another robot in every episode."""
    stock_order: bool = False
    """Solve contacts in the order of PyBullet's own environment, to compare with it bit for bit. That order
    depends on what happened before, so such a task cannot be saved and restored."""
    max_episode_steps: int = 1000


def make_bullet_minitaur(
    num_envs: int = 1,
    seed: int = 0,
    variation: Variations = None,
    num_threads: int | None = None,
    **options: Any,
) -> BulletMinitaurTask:
    """The task `minitaur-bullet`; `num_threads` are processes here."""
    known = [field.name for field in dataclasses.fields(BulletOptions)]
    for option in options:
        if option not in known:
            raise unknown_name("option of minitaur-bullet", option, known)
    return BulletMinitaurTask(num_envs, seed, variation, num_threads, BulletOptions(**options))


class BulletMinitaurTask:
    """The Task of Minitaur in PyBullet."""

    name = "minitaur-bullet"
    layout = rules.LAYOUT
    observation_size = rules.LAYOUT.size
    action_size = len(rules.ACTIONS)
    feet = tuple(rules.FEET)
    time_step = SUBSTEPS * SUBSTEP
    default_filter = StateFilter.remove(rules.LAYOUT, rules.REMOVED)

    def __init__(
        self,
        num_envs: int = 1,
        seed: int = 0,
        variation: Variations = None,
        num_threads: int | None = None,
        options: BulletOptions | None = None,
    ) -> None:
        options = options or BulletOptions()
        check_count("num_envs", num_envs)
        processes = min(os.cpu_count() or 1, num_envs) if num_threads is None else num_threads
        check_count("num_threads", processes)
        check_limit(options.max_episode_steps)
        _check_pybullet()
        self.num_envs = num_envs
        self.options = options
        self.max_episode_steps = options.max_episode_steps
        self._robots = BulletRobots(num_envs, processes, options.stock_order)
        links, nominal = self._robots.names_and_figures()
        self.anatomy = bullet_anatomy(links)
        self._models = BulletModels(nominal, num_envs)
        self._world = World(self._models)

        self._random = CounterRandom()
        self._keys = np.zeros((num_envs, 2), dtype=np.uint64)
        self._keys[:, 0], self._keys[:, 1] = seed % 2**64, np.arange(num_envs)
        self._episode = np.zeros(num_envs, dtype=np.int64)
        self._untouched = np.ones(num_envs, dtype=bool)
        self._step_count = np.zeros(num_envs, dtype=np.int64)
        self._progress = np.zeros(num_envs)
        self._observation = np.zeros((num_envs, self.observation_size))
        self._awake = np.ones(num_envs, dtype=bool)
        self.diverged = np.zeros(num_envs, dtype=bool)
        self.num_diverged = 0
        self._faults = Faults(num_envs, self.action_size, self.observation_size)
        self.variations = variations_per_row(None, self.conditions, num_envs)
        self.set_variation(variation)
        self.reset()
        self._untouched[:] = True

    @property
    def conditions(self) -> dict[str, str]:
        """The named conditions of this robot."""
        return dict(rules.CONDITIONS)

    def set_variation(self, variation: Variations, env_ids: EnvIds = None) -> None:
        """Change the world from the next step on, everywhere or in env_ids; None is the nominal world."""
        rows = row_ids(env_ids, self.num_envs)
        variations = list(self.variations)
        for row, one in zip(rows, variations_per_row(variation, self.conditions, len(rows)), strict=True):
            variations[row] = one
        effects = schedule(variations, self.anatomy)
        check_fields([one.effect for one in of_kind(effects, ModelChange)])
        self._world.install(effects, self._step_count, rows)
        self._faults.install(effects, rows)
        self.variations = variations
        self._send_models()

    def reset(self, env_ids: EnvIds = None, seeds: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Begin new episodes (everywhere, or in env_ids); the observations of every environment."""
        rows = row_ids(env_ids, self.num_envs)
        if seeds is not None:
            self._keys[rows, 0], self._keys[rows, 1] = checked_seeds(seeds, len(rows), bits=64), 0
            self._episode[rows], self._untouched[rows] = 0, True
        if rows.size:
            self._episode[rows] += ~self._untouched[rows]
            self._untouched[rows] = False
            self._step_count[rows] = 0
            self._awake[rows] = True
            self._draw_models(rows)
            readings = self._robots.reset(rows)
            self._faults.forget(rows)
            self._observation[rows] = _observe(readings)[rows]
            self._spoil_observation(self._observation, rows)
            self._progress[rows] = 0.0  # the original counts from where the robot was put down
            self.diverged[rows] = False
        return self._observation.copy()

    def rest(self, env_ids: EnvIds) -> None:
        """Leave environments out until their next reset: they stay as they are and earn nothing."""
        self._awake[row_ids(env_ids, self.num_envs)] = False

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment; nothing resets by itself."""
        actions = checked_actions(actions, self.num_envs, self.action_size)
        if self._world.changes_during_episodes:
            self._world.refresh(self._step_count)
            self._send_models()
        arriving = self._faults.on_actions(actions, self._step_count)
        awake = np.flatnonzero(self._awake)
        readings = self._robots.step(awake, motor_targets(arriving)[awake])
        self._step_count += 1
        self._untouched[:] = False

        before, self._observation = self._observation, _observe(readings)
        x, height = readings.position[:, 0], readings.position[:, 2]
        good = np.isfinite(self._observation).all(axis=1) & np.isfinite(readings.position).all(axis=1)
        failed = self._awake & ~good
        reward = rules.reward(x - self._progress, self._observation)
        terminated = ~rules.upright(height, readings.orientation[:, 0], readings.orientation[:, 1])
        self._progress = np.where(failed, 0.0, x)
        self._spoil_observation(self._observation, np.arange(self.num_envs))
        resting = ~self._awake
        self._observation[resting] = before[resting]
        reward[resting], terminated[resting] = 0.0, False
        self.diverged = failed
        if failed.any():
            self.num_diverged += int(failed.sum())
            reward[failed], terminated[failed] = 0.0, True
            self._observation[failed] = before[failed]
        truncated = self._step_count >= self.max_episode_steps
        return Step(self._observation.copy(), reward, terminated, truncated)

    def foot_contacts(self) -> np.ndarray:
        """Which feet touch the ground now, (num_envs, number of feet)."""
        return self._robots.foot_contacts()

    def snapshot(self) -> dict[str, np.ndarray]:
        """Everything a later restore() needs to go on bit for bit."""
        if self.options.stock_order:
            raise UserError(
                "A task with stock_order cannot be saved: the order depends on what happened before.",
                "Leave stock_order out.",
            )
        saved, memory = self._robots.save()
        return {
            "physics": np.frombuffer(b"".join(saved), dtype=np.uint8).copy(),
            "sizes": np.array([len(one) for one in saved]),
            "memory": memory,
            **self._memory(),
        }

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of a task made with the same arguments."""
        check_snapshot(snapshot, {"sizes": self._episode, **self._memory()})
        self._awake[:] = True
        self._keys[:] = snapshot["keys"]
        self._episode[:] = snapshot["episode"]
        self._untouched[:] = snapshot["untouched"]
        self._step_count[:] = snapshot["step_count"]
        self._progress = np.array(snapshot["progress"])
        self._observation = np.array(snapshot["observation"])
        self.num_diverged = int(snapshot["num_diverged"])
        self._faults.restore(snapshot)
        self._draw_models(np.arange(self.num_envs))
        ends = np.cumsum(snapshot["sizes"])
        saved = np.split(np.asarray(snapshot["physics"], dtype=np.uint8), ends[:-1])
        self._robots.restore([one.tobytes() for one in saved], np.asarray(snapshot["memory"]))

    def _memory(self) -> dict[str, np.ndarray]:
        """All that a snapshot holds beside the physics."""
        return {
            "keys": self._keys.copy(),
            "episode": self._episode.copy(),
            "untouched": self._untouched.copy(),
            "step_count": self._step_count.copy(),
            "progress": self._progress.copy(),
            "observation": self._observation.copy(),
            "num_diverged": np.array(self.num_diverged),
            **self._faults.snapshot(),
        }

    def _draw_models(self, rows: np.ndarray) -> None:
        """The robots of the rows' episodes: a function of their seeds, so no snapshot holds them."""
        if self.options.randomize:
            for row in rows.tolist():
                build = rules.draw_build(self._random.at(self._keys[row], int(self._episode[row]), _MODEL, 0))
                self._world.draw(row, self._models.built(build, self.anatomy))
        self._world.refresh(self._step_count, drawn=rows)
        self._send_models()

    def _send_models(self) -> None:
        changed = self._models.changed()
        if changed.size:
            self._robots.apply(changed, self._models.figures(changed))

    def _spoil_observation(self, observation: np.ndarray, rows: np.ndarray) -> None:
        self._faults.on_observation(
            observation,
            self._step_count,
            rows,
            lambda row, place: self._random.at(
                self._keys[row], int(self._episode[row]), _SENSORS + place, int(self._step_count[row])
            ),
        )


def _observe(readings: Readings) -> np.ndarray:
    return np.concatenate([readings.motors, readings.orientation], axis=1)


def _check_pybullet() -> None:
    if importlib.util.find_spec("pybullet") is not None:
        return
    if sys.version_info >= (3, 12):
        raise UserError(
            "minitaur-bullet needs PyBullet, which is not built for Python 3.12 and later.",
            'Use Python 3.11 with pip install "polygait[bullet]", or the task minitaur.',
        )
    raise UserError(
        "minitaur-bullet needs PyBullet, which is not installed.",
        'Install it with: pip install "polygait[bullet]".',
    )
