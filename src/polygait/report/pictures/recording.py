"""Episodes written down step by step: poses to draw, feet on the ground, and what a gait is like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from polygait.episodes import IDLE, Frame, Job, run_members
from polygait.population.population import Population
from polygait.report.pictures.scene import is_drawable
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.task import Task


@dataclass(frozen=True)
class Recording:
    """One episode."""

    job: Job
    feet: tuple[str, ...]
    seconds_per_step: float
    """1 where a task does not say how long a step takes."""
    down: np.ndarray
    """(time, foot) Whether the foot touches the ground."""
    qpos: np.ndarray
    """(time, position) Poses, for robots that can be drawn; otherwise without columns."""
    mean_state: np.ndarray
    """The observation's mean over time."""
    speed: float
    """Forward, in metres per second; NaN where a task has no such thing."""
    total_reward: float
    fell: bool

    def __len__(self) -> int:
        return len(self.down)

    @property
    def seconds(self) -> float:
        """How long the episode was."""
        return len(self.down) * self.seconds_per_step


def record(
    population: Population, jobs: Sequence[Job], make: Callable[[int], Task] | None = None
) -> list[Recording]:
    """Run episodes and write them down, in the order of the jobs."""
    notes = [_Notes() for _ in jobs]
    tasks: list[Task] = []

    def watch(frame: Frame) -> None:
        task = frame.task
        tasks[:] = [task]
        down = task.foot_contacts()
        qpos = task.poses if is_drawable(task) else None
        progress = task.robot.progress(task.physics) if isinstance(task, MujocoTask) else None
        for row in np.flatnonzero(frame.job != IDLE).tolist():
            note = notes[frame.job[row]]
            note.down.append(down[row].copy())
            note.state.append(frame.step.observation[row])
            if qpos is not None:
                note.qpos.append(qpos[row].copy())
            if progress is not None:
                note.progress.append(float(progress[row]))

    outcome = run_members(population, jobs, make, watch)
    step = float(tasks[0].time_step or 1.0) if tasks else 1.0
    return [
        Recording(
            job=job,
            feet=tasks[0].feet,
            seconds_per_step=step,
            down=np.array(note.down, dtype=bool).reshape(len(note.down), -1),
            qpos=np.array(note.qpos).reshape(len(note.down), -1),
            mean_state=np.mean(note.state, axis=0),
            speed=_speed(note.progress, step),
            total_reward=float(outcome.total_reward[index]),
            fell=bool(outcome.fell[index]),
        )
        for index, (job, note) in enumerate(zip(jobs, notes, strict=True))
    ]


class _Notes:
    """An episode while it goes on."""

    def __init__(self) -> None:
        self.down: list[np.ndarray] = []
        self.qpos: list[np.ndarray] = []
        self.state: list[np.ndarray] = []
        self.progress: list[float] = []


def _speed(progress: list[float], step: float) -> float:
    if len(progress) < 2:
        return float("nan")
    return (progress[-1] - progress[0]) / ((len(progress) - 1) * step)
