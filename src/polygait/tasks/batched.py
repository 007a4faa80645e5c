"""What is alike in every simulator's Task: seeds, episodes, resting rows, faults, how a step is recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from polygait.config import is_whole
from polygait.errors import UserError
from polygait.memory import environment_bytes, require_memory
from polygait.tasks.defaults import TaskDefaults
from polygait.tasks.faults import Faults
from polygait.tasks.randomness import CounterRandom, Draws
from polygait.tasks.schedule import Schedule, Scheduled, lower, row_ids, variations_per_row
from polygait.tasks.task import EnvIds, Step, Task, Variations, checked_seeds
from polygait.variations import Anatomy, Effect, TrainingWorlds, Whose, deals_parts


class BatchedTask(ABC):
    """The bookkeeping of a Task's rows; a subclass brings the physics.

    A subclass calls `_open` when its physics is ready, and `_record` at the end of each step.
    """

    conditions: Mapping[str, str] = {}
    defaults: TaskDefaults = TaskDefaults()
    time_step: float | None = None
    max_episode_steps: int

    def __init__(self, num_envs: int, seed: int, observation_size: int, anatomy: Anatomy) -> None:
        if not is_whole(seed):
            raise UserError(f"seed must be a whole number, got {seed!r}.")
        each = environment_bytes(observation_size, len(anatomy.actions))
        require_memory(f"{num_envs:,} environments", num_envs * each, "Ask for fewer environments.")
        self.num_envs = num_envs
        self.observation_size = observation_size
        self.action_size = len(anatomy.actions)
        self.diverged = np.zeros(num_envs, dtype=bool)
        self.num_diverged = 0
        self.variations = variations_per_row(None, {}, num_envs)
        self.anatomy = anatomy
        self._progress = np.full(num_envs, np.nan)
        self._faults = Faults(num_envs, self.action_size, observation_size, self._generator)
        self._schedule = Schedule(num_envs, anatomy)
        self._worlds: list[TrainingWorlds] = []
        """One for every environment, or none."""
        self._world_share = np.ones(num_envs)
        self.faulty_share = 1.0
        self._random = CounterRandom()
        self._keys = np.zeros((num_envs, 2), dtype=np.uint64)
        self._keys[:, 0], self._keys[:, 1] = int(seed) % 2**64, np.arange(num_envs)
        self._episode = np.zeros(num_envs, dtype=np.int64)
        self._untouched = np.ones(num_envs, dtype=bool)
        self._step_count = np.zeros(num_envs, dtype=np.int64)
        self._observation = np.zeros((num_envs, observation_size))
        self._all_rows = np.arange(num_envs)
        self._resting = np.zeros(num_envs, dtype=bool)

    @property
    def step_count(self) -> np.ndarray:
        """(num_envs,) Steps since every environment's episode began."""
        return self._step_count.copy()

    @abstractmethod
    def _install(self, effects: list[Scheduled[Effect]], rows: np.ndarray) -> None:
        """Change the physics of some rows, or refuse before anything has changed."""

    @abstractmethod
    def _start(self, rows: np.ndarray) -> None:
        """Bring some rows to the beginning of their current episodes; ends with `_show`."""

    def set_variation(self, variation: Variations, env_ids: EnvIds = None) -> None:
        """Change the world from the next step on, everywhere or in env_ids; None is the nominal world."""
        rows = row_ids(env_ids, self.num_envs)
        variations = list(self.variations)
        for row, text in zip(rows, variations_per_row(variation, self.conditions, len(rows)), strict=True):
            variations[row] = text
        # Every name is checked before anything changes.
        changed = self._schedule.with_variations(rows.tolist(), [variations[row] for row in rows])
        changed.draw_onsets(rows, self._onset_generator, self.max_episode_steps)
        self._install(changed.effects, rows)
        self._faults.install(changed.effects, rows)
        self._schedule, self.variations = changed, variations

    def set_worlds(self, worlds: str, owners: Sequence[Whose] | None = None) -> None:
        """Let every episode from the next reset on draw its world, such as from `nominal*4, delay=0..2`.

        An episode's world follows from its seed. `faulty_share` of the faulty worlds take place, 1 if nothing
        else is said; the nominal one stands for the others. `owners` tells whose environment each is, where
        parts are dealt out to members by `each`.
        """
        owners = [Whose(0, 1)] * self.num_envs if owners is None or not deals_parts(worlds) else owners
        mixtures = {
            whose: TrainingWorlds(worlds, self.conditions, self.anatomy, whose)
            for whose in dict.fromkeys(owners)
        }
        possible = list(dict.fromkeys(world for one in mixtures.values() for world in one.extremes()))
        nobody = np.zeros(0, dtype=np.intp)
        try:  # what cannot be done here is refused now, and room is made for the rest
            for start in range(0, len(possible), self.num_envs):
                some = possible[start : start + self.num_envs]
                trial = Schedule(self.num_envs, self.anatomy).with_variations(range(len(some)), some)
                self._install(trial.effects, nobody)
        finally:
            self._install(self._schedule.effects, self._all_rows)
        every = Schedule(len(possible), self.anatomy).with_variations(range(len(possible)), possible)
        self._faults.reserve(every.effects)
        self._faults.install(self._schedule.effects, nobody)
        self._worlds = [mixtures[whose] for whose in owners]

    def reset(self, env_ids: EnvIds = None, seeds: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Begin new episodes (everywhere, or in env_ids); the observations of every environment."""
        rows = row_ids(env_ids, self.num_envs)
        if seeds is not None:
            self._keys[rows, 0], self._keys[rows, 1] = checked_seeds(seeds, len(rows)), 0
            self._episode[rows], self._untouched[rows] = 0, True
        if rows.size:
            self._episode[rows] += ~self._untouched[rows]
            self._untouched[rows] = False
            self._rewind(rows)
            self._world_share[rows] = self.faulty_share
            self._draw_worlds(rows)
            self._start(rows)
        return self._observation.copy()

    @property
    def progress(self) -> np.ndarray:
        """How far every robot has come, in metres; NaN where the simulator does not tell."""
        return self._progress.copy()

    def rest(self, env_ids: EnvIds) -> None:
        """Leave environments out until their next reset: they stay as they are and earn nothing."""
        self._resting[row_ids(env_ids, self.num_envs)] = True

    def _open(self, variation: Variations) -> None:
        """Stand at the start of the first episodes; the first reset begins the same ones."""
        self.set_variation(variation)
        self.reset()
        self._untouched[:] = True

    def _draw_worlds(self, rows: np.ndarray) -> None:
        """The worlds of some rows' episodes: a function of their seeds, so no snapshot holds them."""
        changed: set[int] = set()
        if self._worlds:
            for row in rows.tolist():
                chance = self._episode_generator(row, Draws.WORLDS)
                variation = self._worlds[row].draw(chance, float(self._world_share[row]))
                if variation != self.variations[row]:
                    self.variations[row] = variation
                    changed.add(row)
            lowered = [lower(self.variations[row], self.anatomy) for row in changed]
            self._schedule.assign(changed, lowered)
        changed |= self._schedule.draw_onsets(rows, self._onset_generator, self.max_episode_steps)
        if changed:
            new = np.array(sorted(changed))
            self._install(self._schedule.effects, new)
            self._faults.install(self._schedule.effects, new)

    def _rewind(self, rows: np.ndarray) -> None:
        """Count some rows' episodes from their first step."""
        self._step_count[rows] = 0
        self._resting[rows] = False
        self.diverged[rows] = False

    def _show(self, rows: np.ndarray, observation: np.ndarray) -> None:
        """The first observation of some rows' episodes."""
        self._faults.forget(rows)
        self._observation[rows] = observation
        self._spoil(self._observation, rows)

    def _count_step(self) -> None:
        self._step_count += ~self._resting
        self._untouched &= self._resting

    def _record(
        self, observation: np.ndarray, reward: np.ndarray, terminated: np.ndarray, broken: np.ndarray
    ) -> Step:
        """What a step gave. A row whose physics broke down ends with its last good observation."""
        before, self._observation = self._observation, observation
        self._spoil(observation, self._all_rows)
        self.diverged = broken & ~self._resting
        self.num_diverged += int(self.diverged.sum())
        unmoved = self._resting | self.diverged
        if unmoved.any():
            observation[unmoved], reward[unmoved] = before[unmoved], 0.0
            terminated[unmoved] = self.diverged[unmoved]
        truncated = (self._step_count >= self.max_episode_steps) & ~self._resting
        return Step(observation.copy(), reward, terminated, truncated)

    def _records(self) -> dict[str, np.ndarray]:
        """What a snapshot holds of the rows' episodes."""
        return {
            "keys": self._keys.copy(),
            "episode": self._episode.copy(),
            "untouched": self._untouched.copy(),
            "step_count": self._step_count.copy(),
            "resting": self._resting.copy(),
            "num_diverged": np.array(self.num_diverged),
            **({} if not self._worlds else {"world_share": self._world_share.copy()}),
        }

    def _restore_records(self, snapshot: Mapping[str, np.ndarray]) -> None:
        self.diverged = np.zeros(self.num_envs, dtype=bool)
        self._keys[:] = snapshot["keys"]
        self._episode[:] = snapshot["episode"]
        self._untouched[:] = snapshot["untouched"]
        self._step_count[:] = snapshot["step_count"]
        self._resting[:] = snapshot["resting"]
        self.num_diverged = int(snapshot["num_diverged"])
        if self._worlds:
            self._world_share[:] = snapshot["world_share"]
        self._draw_worlds(self._all_rows)

    def _generator(self, row: int, purpose: int) -> np.random.Generator:
        """A row's own random numbers for one purpose, at this step of this episode."""
        return self._random.at(self._keys[row], int(self._episode[row]), purpose, int(self._step_count[row]))

    def _model_generator(self, row: int) -> np.random.Generator:
        """A row's own random numbers for its model, the same in the whole episode."""
        return self._episode_generator(row, Draws.MODEL)

    def _onset_generator(self, row: int, edit: int) -> np.random.Generator:
        """A row's own random numbers for when an edit of its variation begins."""
        return self._episode_generator(row, Draws.ONSETS + edit)

    def _episode_generator(self, row: int, purpose: int) -> np.random.Generator:
        return self._random.at(self._keys[row], int(self._episode[row]), purpose, 0)

    def _spoil(self, observation: np.ndarray, rows: np.ndarray) -> None:
        self._faults.on_observation(observation, self._step_count, rows)


def set_worlds(task: Task, worlds: str, owners: Sequence[Whose] | None = None) -> None:
    """Let every episode of a task draw its world from a mixture, where its simulator knows how to."""
    if not isinstance(task, BatchedTask):
        raise UserError(
            f"{task.name} cannot draw training worlds: it is no BatchedTask of polygait.",
            "Leave worlds out, or write a Robot file for the robot (docs/robots.md).",
        )
    task.set_worlds(worlds, owners)


def set_faulty_share(task: Task, share: float) -> None:
    """How many of the faulty worlds of a task's mixture take place from the next reset on."""
    if isinstance(task, BatchedTask):
        task.faulty_share = share
