"""Steps/s of exhaustive adaptation, 10 members × 20 episodes on Walker, against the physics alone.

The physics replays the very commands of the adaptation: the same motion of the same robots, with the same
resets and the same rests, in `task.step` (with observation and reward) and in bare `Batch.step`.
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import polygait as pg
from benchmarks._timing import rates, ratio
from polygait.episodes import IDLE, Frame, Job, episode_seeds, run_episodes
from polygait.learning.rollout import Actor
from polygait.tasks.mujoco import MujocoTask

POPULATION = Path(__file__).resolve().parent.parent / "tests" / "data" / "walker-dir"
MEMBERS, EPISODES = 10, 20


class Adaptation:
    """Every member for as many episodes."""

    def __init__(self, population: pg.Population, variation: str) -> None:
        self.population = population
        self.make = population.make_task
        seeds = episode_seeds(0, 0, EPISODES)
        self.jobs = [Job(member, variation, seed) for member in range(MEMBERS) for seed in seeds]

    def __call__(self) -> int:
        outcome = run_episodes(self.actor, self.make, self.jobs)
        return int(outcome.length.sum())

    def actor(self, members: Sequence[int], num_envs: int) -> Actor:
        """As many members as are wanted, though there are fewer."""
        return self.population.actor([one % len(self.population) for one in members], num_envs)

    def record(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Every step's commands and which rows were awake."""
        frames: list[tuple[np.ndarray, np.ndarray]] = []

        def watch(frame: Frame) -> None:
            awake = np.flatnonzero(frame.job != IDLE)
            frames.append((np.clip(frame.action, -1.0, 1.0).astype(np.float64), awake))

        run_episodes(self.actor, self.make, self.jobs, watch)
        return frames


class Physics:
    """The recorded commands in a task, or in its engine alone."""

    def __init__(
        self, adaptation: Adaptation, frames: list[tuple[np.ndarray, np.ndarray]], bare: bool
    ) -> None:
        task = adaptation.make(len(adaptation.jobs))
        assert isinstance(task, MujocoTask)
        self.task, self.frames, self.bare = task, frames, bare
        self.seeds = [job.seed for job in adaptation.jobs]
        task.set_variation([job.variation for job in adaptation.jobs])

    def __call__(self) -> int:
        self.task.reset(seeds=self.seeds)
        rows = np.arange(len(self.seeds))
        batch, ctrl = self.task.physics.batch, self.task.physics.ctrl
        steps = 0
        for commands, awake in self.frames:
            steps += len(awake)
            if self.bare:
                ctrl[:] = commands
                batch.step(awake, nstep=self.task.robot.frame_skip)
            else:
                if len(awake) < len(rows):
                    self.task.rest(np.setdiff1d(rows, awake))
                self.task.step(commands)
        return steps


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench adapt", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take medians of")
    options = parser.parse_args(arguments)
    population = pg.load(POPULATION)
    print(f"Walker, {MEMBERS} members × {EPISODES} episodes, medians of {options.rounds} rounds, steps/s")
    print(
        f"{'world':<14}{'adaptation':>12}{'task.step':>12}{'Batch.step':>12}{'of task':>10}{'of Batch':>10}"
    )
    for variation in ("nominal", "broken-leg"):
        ours = Adaptation(population, variation)
        frames = ours.record()
        loops: dict[str, Callable[[], int]] = {
            "ours": ours,
            "task": Physics(ours, frames, bare=False),
            "bare": Physics(ours, frames, bare=True),
        }
        measured = rates(loops, options.rounds)
        medians = "".join(f"{statistics.median(measured[name]):>12,.0f}" for name in loops)
        shares = "".join(f"{ratio(measured, 'ours', name):>10.3f}" for name in ("task", "bare"))
        print(f"{variation:<14}{medians}{shares}", flush=True)
