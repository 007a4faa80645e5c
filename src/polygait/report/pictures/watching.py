"""A member on the screen, in the speed of life."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import NamedTuple

from polygait.config import WatchConfig
from polygait.episodes import Frame, Job, run_members, task_factory
from polygait.errors import UserError
from polygait.population.population import Population
from polygait.report.pictures.scene import changed_geoms, require_drawable
from polygait.report.pictures.window import Window
from polygait.variations import parse_variation


class Watched(NamedTuple):
    """An episode that was seen to its end."""

    seed: int
    total_reward: float
    seconds: float
    fell: bool


class _ClosedError(Exception):
    """The window was closed in the middle of an episode."""


def watch(
    population: Population,
    member: int,
    config: WatchConfig | None = None,
    report: Callable[[Watched], None] | None = None,
) -> int:
    """Show one episode after another in MuJoCo's viewer until it is closed; how many were seen to the end."""
    config = config or WatchConfig()
    if problems := config.problems():
        raise UserError("\n".join(problems))
    population.require_member(member)
    make = task_factory(population, config.on, None)
    task = require_drawable(make(1))
    task.set_variation(config.variation)
    variation = parse_variation(config.variation, task.conditions)
    step_seconds = float(task.time_step or 1.0)
    shown = f"Make a film: polygait render {population.path} --member {member} --out gait.mp4"
    window = Window(task.body, shown)
    due = time.monotonic()

    def show(frame: Frame) -> None:
        nonlocal due
        if not window.open:
            raise _ClosedError
        acting = require_drawable(frame.task)
        window.show(acting.poses[0], changed_geoms(task, variation, int(acting.step_count[0])))
        due = max(
            due + step_seconds / config.speed, time.monotonic() - 1.0
        )  # what is late is not made up for
        time.sleep(max(0.0, due - time.monotonic()))

    seen = 0
    try:
        for seed in itertools.count(config.seed):
            if seen == config.episodes or not window.open:
                break
            outcome = run_members(population, [Job(member, config.variation, seed)], make, show)
            seen += 1
            if report is not None:
                length = float(outcome.length[0]) * step_seconds
                report(Watched(seed, float(outcome.total_reward[0]), length, bool(outcome.fell[0])))
    except _ClosedError:
        pass
    finally:
        window.close()
    return seen
