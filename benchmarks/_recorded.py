"""Many episodes of every member under every damage, recorded once: trials are then drawn, not simulated."""

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import polygait as pg
from polygait.episodes import IDLE, Frame, Job, episode_seeds, run_members
from polygait.mesh import family_of

_SCALED = {
    "gravity": (0.6, 1.4),
    "delay": (2,),
    "strength(*)": (0.6,),
    "foot-friction": (0.4,),
    "ankle-friction": (0.4,),
    "foot-mass": (2.5,),
    "leg-mass": (2.5,),
}
_EVERYWHERE = ("gravity", "delay", "strength(*)")


class Plan(NamedTuple):
    """How much to record of every member under every damage."""

    matrix: int = 5
    """Episodes that a selector may know beforehand."""
    pool: int = 8
    """Episodes that trials are drawn from."""
    held_out: int = 8
    """Episodes that say what a member is worth."""
    steps: int = 400
    """Of an episode, at most: a trial on a robot is short."""


class Recorded(NamedTuple):
    """What members did; (condition, member, episode) unless said otherwise."""

    conditions: tuple[str, ...]
    families: tuple[str, ...]
    """What each condition concerns, such as a joint; conditions of one family say much of each other."""
    nominal: np.ndarray
    """(member, episode) In the unchanged world."""
    matrix: np.ndarray
    pool: np.ndarray
    held_out: np.ndarray


def damages(population: pg.Population) -> dict[str, str]:
    """Conditions of a robot with the family of each: every driven joint locked, limp, weak, and more."""
    task = population.make_task()
    joints = task.anatomy.motors or task.anatomy.actions
    found = {f"broken({joint}){how}": joint for joint in joints for how in ("", ":limp", ":weak=0.3")}
    for name, values in _SCALED.items():
        if name in _EVERYWHERE or name in task.conditions:
            found |= {f"{name}={value}": name for value in values}
    return found | {name: name for name in task.conditions if name.endswith("-sensor")}


def recorded(path: str, plan: Plan, cache: Path, by: str) -> Recorded:
    """What the members of a run do under damage, by "returns" or "progress"; simulated once and kept."""
    population = pg.load(path)
    families = damages(population)
    weights = [population.weights(place) for place in range(len(population))]
    question = repr((sorted(families.items()), plan, weights))
    file = cache / f"{Path(path).name}-{hashlib.sha256(question.encode()).hexdigest()[:8]}.npz"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        told = _simulated(population, ["nominal", *families], plan)
        np.savez_compressed(file, returns=told["returns"], progress=told["progress"])
    with np.load(file) as kept:
        values = kept[by]
    parts = np.split(values, [plan.matrix, plan.matrix + plan.pool], axis=2)
    return Recorded(tuple(families), tuple(families.values()), values[0], *(part[1:] for part in parts))


def evaluated(path: str, by: str) -> Recorded:
    """The same of what `polygait evaluate RUN --suite mesh` left behind, without any simulation.

    All episodes of a world are what a selector may know of it beforehand; of the damage in question, which is
    hidden from it, one half is drawn from and the other is held out.
    """
    frame = pl.read_parquet(Path(path) / "evaluations" / "mesh.parquet").sort("episodes")
    found = {(row["world"] or "nominal", row["member"]): row[by] for row in frame.iter_rows(named=True)}
    members = sorted({member for _, member in found})
    worlds = [world for world in dict.fromkeys(world for world, _ in found) if world != "nominal"]
    count = min(map(len, found.values()))
    values = np.array([[found[world, one][:count] for one in members] for world in ("nominal", *worlds)])
    pool, held_out = values[1:, :, : count // 2], values[1:, :, count // 2 :]
    return Recorded(tuple(worlds), tuple(map(family_of, worlds)), values[0], values[1:], pool, held_out)


def _simulated(population: pg.Population, worlds: list[str], plan: Plan) -> dict[str, np.ndarray]:
    """(world, member, episode) Returns and metres."""
    seeds = episode_seeds(0, 0, plan.matrix + plan.pool + plan.held_out)
    found: dict[str, list[np.ndarray]] = {"returns": [], "progress": []}
    for place, world in enumerate(worlds):
        jobs = [Job(member, world, seed) for member in range(len(population)) for seed in seeds]
        begun, now = np.zeros(len(jobs)), np.zeros(len(jobs))

        def watch(frame: Frame, begun: np.ndarray = begun, now: np.ndarray = now) -> None:
            rows = np.flatnonzero((frame.job != IDLE) & ~frame.task.diverged)
            metres, first = frame.task.progress[rows], frame.time[rows] == 0
            begun[frame.job[rows[first]]] = metres[first]
            now[frame.job[rows]] = metres

        outcome = run_members(
            population, jobs, lambda count: population.make_task(count, max_episode_steps=plan.steps), watch
        )
        found["returns"].append(outcome.total_reward.reshape(len(population), -1))
        found["progress"].append((now - begun).reshape(len(population), -1))
        print(f"{population.path.name}: {place + 1} of {len(worlds)} worlds, {world}", file=sys.stderr)
    return {name: np.stack(values) for name, values in found.items()}
