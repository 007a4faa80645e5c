"""How well and how soon PPO learns: several settings and several seeds, beside tuned rivals.

    ./dev bench learn walker --settings robust "small: ppo.minibatch_size=64 ppo.epochs=5" --seeds 10

A setting is a name, or a name and what --set takes. Learners are members of a few cohorts, the same seeds
for every setting. Each is tested on the way, with mean actions and the weights it has, while its clock
stands still. A cohort learns side by side, so a member's time is the cohort's divided by its members; rivals
learn one seed after another. Finished learners are kept in --out: a benchmark that was stopped goes on.

    ./dev bench learn --rivals --patience 6 --seeds 5 --rival-seeds 2

With --patience learners stop at the return whose minutes are counted, and rivals also when they have taken so
many times the median minutes of the first setting: enough to say "at least so many times".
"""

import argparse
import json
import math
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

import polygait as pg
from benchmarks._curves import GOALS, Curve, Curves, Key, Point, chart, minutes_to, print_table
from benchmarks.tasks import GYMNASIUM
from benchmarks.train import RIVALS, ROOT, begun, install_rivals, rivals_python
from polygait import training
from polygait.charts import save_chart
from polygait.cohort import Cohort as TrainedCohort
from polygait.keeping import judged
from polygait.versions import versions

EVERY = 50_000
"""Steps between two tests."""
EPISODES = 10
COHORT = 5
"""Learners side by side; they are lost together when the benchmark is stopped."""
FIRST_START = 10_000
"""Test episodes begin elsewhere than those of training."""


class Setting(NamedTuple):
    """Settings under a name."""

    name: str
    overrides: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Setting":
        """`name` or `name: section.field=value …`."""
        name, _, overrides = text.partition(":")
        return cls(name.strip(), tuple(overrides.split()))


class Cohort(NamedTuple):
    """Learners side by side: the first members of a seed."""

    seed: int
    size: int


class Course(NamedTuple):
    """What is learned, and how often it is tested."""

    task: str
    steps: int
    every: int
    goal: float = math.inf
    """Learning stops at this return."""

    @property
    def name(self) -> str:
        """What is kept under it never mixes with courses of other lengths."""
        return self.task if self.goal == math.inf else f"{self.task}-to-{self.goal:.0f}"


def learn(setting: Setting, course: Course, cohort: Cohort, threads: int | None) -> list[Curve]:
    """The curves of a cohort."""
    wanted = pg.TrainConfig(
        course.task,
        "multi",
        cohort.size,
        course.steps,
        cohort.seed,
        threads=threads,
        overrides=setting.overrides,
    )
    with begun(wanted) as learning, ThreadPoolExecutor(max_workers=1) as pool:
        state, seconds = training._initial_state(learning), 0.0
        curves: list[Curve] = [[] for _ in range(cohort.size)]
        steps = tested = 0
        while steps < learning.config.steps_per_member and not _reached(curves, course.goal):
            start = time.perf_counter()
            state, record = training._iterate(learning, state, pool)
            seconds += time.perf_counter() - start
            steps = record["steps"]
            if steps - tested >= course.every or steps >= learning.config.steps_per_member:
                tested = steps - steps % course.every
                for curve, point in zip(curves, _tested(learning, state, steps, seconds), strict=True):
                    curve.append(point)
        return curves


def _reached(curves: list[Curve], goal: float) -> bool:
    """Whether every learner has once been as able as that."""
    return all(any(point.mean_return >= goal for point in curve) for curve in curves)


def _tested(cohort: TrainedCohort, state: training.LoopState, steps: int, seconds: float) -> Iterator[Point]:
    """How able every member is now."""
    starts = range(FIRST_START, FIRST_START + EPISODES)
    outcome = judged(cohort, state.kept.policies, None, starts)
    returns = outcome.total_reward.reshape(cohort.size, EPISODES).mean(axis=1)
    falls = outcome.fell.reshape(cohort.size, EPISODES).mean(axis=1)
    for one, fell in zip(returns.tolist(), falls.tolist(), strict=True):
        yield Point(steps, seconds / cohort.size, one, fell)


def measure_setting(
    setting: Setting, course: Course, curves: Curves, options: argparse.Namespace
) -> list[Curve]:
    """Every seed's curve, learned now or kept from before."""
    found: list[Curve] = []
    for cohort in cohorts(options.seed, options.seeds):
        keys = [
            Key(setting.name, course.name, course.steps, cohort.seed, member) for member in range(cohort.size)
        ]
        kept = [curves.load(key, setting.overrides) for key in keys]
        if None in kept:
            print(f"{course.task}, {setting.name}: {cohort.size} members of seed {cohort.seed} …", flush=True)
            kept = learn(setting, course, cohort, options.threads)
            for key, curve in zip(keys, kept, strict=True):
                curves.save(key, setting.overrides, curve)
        found += [curve for curve in kept if curve is not None]
    return found


def cohorts(seed: int, count: int) -> list[Cohort]:
    """So many learners in cohorts of COHORT, each with a seed of its own."""
    begins = range(0, count, COHORT)
    return [Cohort(seed + place, min(COHORT, count - begin)) for place, begin in enumerate(begins)]


def measure_rival(
    label: str, course: Course, curves: Curves, seeds: range, limit: float = math.inf
) -> list[Curve]:
    """The curves of another library's PPO with the settings that were tuned for it; `limit` in seconds."""
    found = []
    for seed in seeds:
        key = Key(label, course.name, course.steps, seed, 0)
        curve = curves.load(key, ())
        if curve is None:
            print(f"{course.task}, {label}: seed {seed} …", flush=True)
            numbers = (seed, course.steps, course.every, EPISODES)
            command = [rivals_python(), "-P", str(ROOT / "benchmarks" / "_tuned.py"), RIVALS[label]]
            command += [GYMNASIUM[course.task], *map(str, numbers), str(course.goal), str(limit)]
            lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            curve = [Point(*json.loads(line)) for line in lines.splitlines()]
            curves.save(key, (), curve)
        found.append(curve)
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench learn", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"any of {', '.join(GOALS)}")
    parser.add_argument("--settings", nargs="+", default=["robust"], help="'NAME: ppo.X=Y …', or robust")
    parser.add_argument("--seeds", type=int, default=10, help="learners of every setting and rival")
    parser.add_argument("--seed", type=int, default=0, help="of the first cohort; others follow")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of every seed")
    parser.add_argument("--every", type=int, default=EVERY, help="steps between two tests")
    parser.add_argument("--threads", type=int, help="physics threads; all cores when left out")
    parser.add_argument("--out", type=Path, default=Path("bench-learn"), help="where results are kept")
    parser.add_argument("--rivals", action="store_true", help="also Stable-Baselines3 and SBX, tuned")
    parser.add_argument("--rival-seeds", type=int, help="learners of every rival, if not as many as ours")
    parser.add_argument(
        "--patience", type=float, help="stop at the goal, rivals after so many times our time"
    )
    options = parser.parse_args(arguments)
    names = options.tasks or list(GOALS)
    if unknown := sorted(set(names) - GOALS.keys()):
        parser.error(f"unknown task: {', '.join(unknown)}; choose from {', '.join(GOALS)}")
    if options.rivals:
        install_rivals()
    settings = [Setting.parse(text) for text in options.settings]
    curves = Curves(options.out)
    told = ", ".join(f"{one} {version}" for one, version in versions().items())
    print(f"{options.seeds} seeds, {options.steps:,} steps, tests of {EPISODES} episodes; {told}", flush=True)
    results: dict[str, dict[str, list[Curve]]] = {}
    for name in names:
        goal = GOALS[name] if options.patience else math.inf
        course = Course(name, options.steps, options.every, goal)
        results[name] = {one.name: measure_setting(one, course, curves, options) for one in settings}
        ours = 60 * float(np.median(minutes_to(results[name][settings[0].name], GOALS[name])))
        limit = options.patience * ours if options.patience else math.inf
        for label in RIVALS if options.rivals else ():
            seeds = range(options.rival_seeds or options.seeds)
            results[name][label] = measure_rival(label, course, curves, seeds, limit)
        print_table(name, results[name])
    print(f"\n{save_chart(chart(results), options.out / 'curves.html')}")
    save_chart(chart(results), options.out / "curves.svg")
