"""Minitaur in PyBullet: the original physics behind the same Task (needs the extra `bullet`).

A population that learned in MuJoCo can be tried here: same state, same actions, another simulator.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygait.errors import UserError, unknown_name
from polygait.tasks import minitaur_rules as rules
from polygait.tasks.actions import law_of_motors
from polygait.tasks.batched import BatchedTask
from polygait.tasks.bullet_models import BulletModels, bullet_anatomy, check_fields
from polygait.tasks.bullet_physics import Readings
from polygait.tasks.bullet_worker import BulletRobots
from polygait.tasks.minitaur_motor import GAINS, MEANING, SUBSTEP, SUBSTEPS, motor_targets
from polygait.tasks.schedule import Scheduled, of_kind
from polygait.tasks.state import StateFilter
from polygait.tasks.task import Step, Variations, check_count, check_limit, check_snapshot, checked_actions
from polygait.tasks.world import World
from polygait.variations import PHYSICS, Effect


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


make_bullet_minitaur.defaults = rules.DEFAULTS  # type: ignore[attr-defined]


class BulletMinitaurTask(BatchedTask):
    """The Task of Minitaur in PyBullet."""

    name = "minitaur-bullet"
    layout = rules.LAYOUT
    feet = tuple(rules.FEET)
    time_step = SUBSTEPS * SUBSTEP
    default_filter = StateFilter.remove(rules.LAYOUT, rules.REMOVED)
    conditions = rules.CONDITIONS
    defaults = rules.DEFAULTS

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
        self.options = options
        self.max_episode_steps = options.max_episode_steps
        self._robots = BulletRobots(num_envs, processes, options.stock_order)
        links, nominal = self._robots.names_and_figures()
        super().__init__(num_envs, seed, rules.LAYOUT.size, bullet_anatomy(links))
        self.action_law = law_of_motors(self.anatomy.actions, 1 / (SUBSTEPS * SUBSTEP), MEANING, GAINS)
        self._models = BulletModels(nominal, num_envs)
        self._world = World(self._models)
        self._progress = np.zeros(num_envs)
        self._open(variation)

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment; nothing resets by itself."""
        actions = checked_actions(actions, self.num_envs, self.action_size)
        if self._world.changes_during_episodes:
            self._world.refresh(self._step_count)
            self._send_models()
        arriving = self._faults.on_actions(actions, self._step_count)
        awake = np.flatnonzero(~self._resting)
        readings = self._robots.step(awake, motor_targets(arriving)[awake])
        self._count_step()

        observation = _observe(readings)
        x, height = readings.position[:, 0], readings.position[:, 2]
        broken = ~np.isfinite(np.concatenate([observation, readings.position], axis=1).sum(axis=1))
        reward = rules.reward(x - self._progress, observation)
        upright = rules.upright(height, readings.orientation[:, 0], readings.orientation[:, 1])
        step = self._record(observation, reward, ~upright, broken)
        self._progress = np.where(self.diverged, 0.0, x)
        return step

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
            "sizes": np.array([len(state) for state in saved]),
            "memory": memory,
            **self._memory(),
        }

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of a task made with the same arguments."""
        check_snapshot(snapshot, {"sizes": self._episode, **self._memory()})
        self._restore_records(snapshot)
        self._progress = np.array(snapshot["progress"])
        self._observation = np.array(snapshot["observation"])
        self._faults.restore(snapshot)
        self._draw_models(self._all_rows)
        ends = np.cumsum(snapshot["sizes"])
        saved = np.split(np.asarray(snapshot["physics"], dtype=np.uint8), ends[:-1])
        self._robots.restore([state.tobytes() for state in saved], np.asarray(snapshot["memory"]))

    def _memory(self) -> dict[str, np.ndarray]:
        """All that a snapshot holds beside the physics."""
        return {
            "progress": self._progress.copy(),
            "observation": self._observation.copy(),
            **self._records(),
            **self._faults.snapshot(),
        }

    def _install(self, effects: list[Scheduled[Effect]], rows: np.ndarray) -> None:
        check_fields([scheduled.effect for scheduled in of_kind(effects, PHYSICS)])
        self._world.install(effects, self._step_count, rows)
        self._send_models()

    def _start(self, rows: np.ndarray) -> None:
        self._draw_models(rows)
        readings = self._robots.reset(rows)
        self._progress[rows] = 0.0  # the original counts from where the robot was put down
        self._show(rows, _observe(readings)[rows])

    def _draw_models(self, rows: np.ndarray) -> None:
        """The robots of the rows' episodes: a function of their seeds, so no snapshot holds them."""
        if self.options.randomize:
            for row in rows.tolist():
                build = rules.draw_build(self._model_generator(row))
                self._world.draw(row, self._models.built(build, self.anatomy))
        self._world.refresh(self._step_count, drawn=rows)
        self._send_models()

    def _send_models(self) -> None:
        changed = self._models.changed()
        if changed.size:
            self._robots.apply(changed, self._models.figures(changed))


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
