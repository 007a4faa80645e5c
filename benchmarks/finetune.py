"""How soon a gait gets better in a damaged body: the chosen member, an ordinary policy, or from scratch.

    ./dev bench finetune --variations broken-foot "broken(thigh_joint):limp" --seeds 3 --steps 200000

Who goes on learning in each damage: `chosen`, the member of a population that adapt picks there; `ordinary`,
one policy with as many steps that was trained for itself alone (multi, one member); `scratch`, nobody. Each
is tested on the way, with mean actions: return, metres, falls. A setting is a name, or a name and what --set
takes; it is tried on `chosen`, or under the name member-3 on that member. Finished learners are kept in
--out: a benchmark that was stopped goes on.
"""

import argparse
import dataclasses
import math
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import numpy as np

import polygait as pg
from benchmarks._curves import Curve, Curves, Key, Point
from benchmarks.learn import Setting
from benchmarks.train import ROOT
from polygait import training
from polygait.charts import save_chart
from polygait.cohort import Cohort, make_cohort
from polygait.config import FinetuneConfig
from polygait.episodes import Frame, Job, run_episodes
from polygait.finetuning import begin_finetuning
from polygait.learning.acting import ALONE
from polygait.learning.learner import PolicyState
from polygait.learning.stacking import member_of
from polygait.population.store import RunFolder
from polygait.resolving import resolve
from polygait.run_config import RunConfig
from polygait.runs import begin_resolved
from polygait.versions import versions

POPULATION = ROOT / "tests" / "data" / "walker-dir"
DAMAGES = ("broken-foot", "broken(thigh_joint):limp", "broken(foot_left_joint):limp")
"""Of Walker: in each of them every member of the population stands still or falls."""
EPISODES = 10
FIRST_START = 10_000
"""Test episodes begin elsewhere than those of training."""
LEAST_GOAL = 1.0
"""Metres; twice the progress of a robot that stands still would be no goal."""


class Plan(NamedTuple):
    """What all learners of a benchmark share."""

    population: pg.Population
    ordinary: pg.Population | None
    steps: int
    every: int
    threads: int | None


def begin_learner(plan: Plan, who: Setting, variation: str, seed: int, out: Path) -> RunFolder:
    """The run folder of one learner, as `polygait finetune` would begin it; from scratch without a start."""
    config = FinetuneConfig("auto", plan.steps, seed, plan.threads, who.overrides)
    if who.name == "scratch":
        return begin_resolved(scratch(plan, variation, seed), out)
    if who.name == "ordinary" and plan.ordinary is not None:
        return begin_finetuning(plan.ordinary, variation, out, dataclasses.replace(config, member=0))
    named, _, member = who.name.partition("-")
    if named == "member":
        config = dataclasses.replace(config, member=int(member))
    return begin_finetuning(plan.population, variation, out, config)


def scratch(plan: Plan, variation: str, seed: int) -> RunConfig:
    """A training from nothing in the damaged body."""
    wanted = pg.TrainConfig(plan.population.config.task, "multi", 1, plan.steps, seed)
    return dataclasses.replace(resolve(wanted), variation=variation)


def learn(plan: Plan, who: Setting, variation: str, seed: int) -> Curve:
    """One learner's curve; its first point is what it could do before it learned anything here."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=1) as pool:
        run = begin_learner(plan, who, variation, seed, Path(folder) / "run")
        with run.writing():
            cohort = make_cohort(run, None, plan.threads)
            state, seconds, tested = training._initial_state(cohort), 0.0, 0
            curve = [tested_now(cohort, state.kept.policies, 0, 0.0)]
            steps, last = 0, cohort.config.steps_per_member
            while steps < last:
                start = time.perf_counter()
                state, record = training._iterate(cohort, state, pool)
                seconds += time.perf_counter() - start
                steps = record["steps"]
                if steps - tested >= plan.every or steps >= last:
                    tested = steps
                    curve.append(tested_now(cohort, state.kept.policies, tested, seconds))
    return curve


def tested_now(cohort: Cohort, policies: PolicyState, steps: int, seconds: float) -> Point:
    """How able a learner is in the world of its training."""
    starts = range(FIRST_START, FIRST_START + EPISODES)
    jobs = [Job(0, cohort.config.variation, start) for start in starts]
    progress = np.full(EPISODES, math.nan)

    def watch(frame: Frame) -> None:
        ended = np.flatnonzero(frame.ended)
        progress[frame.job[ended]] = frame.task.progress[ended]

    def actor(members: Sequence[int], num_envs: int) -> Any:
        return cohort.learner.actor(member_of(policies, np.array(members)), num_envs, ALONE)

    config = cohort.config
    outcome = run_episodes(
        actor,
        lambda count: pg.make_task(config.task, count, num_threads=cohort.threads, **config.task_options),
        jobs,
        watch,
    )
    return Point(
        steps,
        seconds,
        float(outcome.total_reward.mean()),
        float(outcome.fell.mean()),
        float(progress.mean()),
    )


def steps_to(curve: Curve, metres: float) -> float:
    """When a learner first came so far; infinite where it did not."""
    return next((float(point.steps) for point in curve if point.progress >= metres), math.inf)


def print_table(variation: str, learners: Mapping[str, Sequence[Curve]]) -> None:
    """One row per learner: before and after, means over seeds, and how soon each seed reached the goal."""
    chosen = next(iter(learners.values()))
    before = float(np.mean([curve[0].progress for curve in chosen]))
    goal = max(2 * before, LEAST_GOAL)
    print(
        f"\n| {variation} | steps | return | metres | falls | steps to {goal:.1f} m, median (reached) |"
        "\n|---|---|---|---|---|---|"
    )
    for name, curves in learners.items():
        needed = [steps_to(curve, goal) for curve in curves]
        reached = sum(map(math.isfinite, needed))
        median = float(np.median(needed))
        told = f"{median / 1000:,.0f}k" if math.isfinite(median) else "–"
        for place, told_here in ((0, ""), (-1, f"{told} ({reached} of {len(curves)})")):
            points = [curve[place] for curve in curves]
            means = np.mean(points, axis=0)
            spread = " ".join(f"{point.progress:.1f}" for point in points)
            print(
                f"| {name} | {points[0].steps / 1000:,.0f}k | {means[2]:,.0f} | {means[4]:.1f} ({spread}) | "
                f"{means[3]:.0%} | {told_here} |",
                flush=True,
            )


def chart(results: Mapping[str, Mapping[str, Sequence[Curve]]], quantity: str, title: str) -> Any:
    """Every seed's curve faintly, their mean strongly; a panel per damage."""
    rows = [
        {"damage": damage, "learner": name, "seed": seed, "steps": point.steps, "value": value}
        for damage, learners in results.items()
        for name, curves in learners.items()
        for seed, curve in enumerate(curves)
        for point in curve
        if math.isfinite(value := getattr(point, quantity))
    ]
    names = list(dict.fromkeys(row["learner"] for row in rows))
    base = alt.Chart(width=300, height=240).encode(
        x=alt.X("steps:Q", title="environment steps in the damaged body", axis=alt.Axis(format="~s")),
        color=alt.Color("learner:N", title=None, sort=names),
    )
    value = alt.Y("value:Q", title=title)
    faint = base.mark_line(opacity=0.3, strokeWidth=1).encode(y=value, detail="seed:N")
    strong = base.mark_line(strokeWidth=2.5).encode(y=alt.Y("mean(value):Q", title=title))
    layers = alt.layer(faint, strong, data=alt.Data(values=rows))
    return layers.facet(column=alt.Column("damage:N", title=None, sort=list(results)))


def opened(options: argparse.Namespace) -> Plan:
    """A copy of the population, since adapt leaves its answers there, and any ordinary policy."""
    copy = options.out / "population"
    if not copy.exists():
        shutil.copytree(options.run, copy)
    population = pg.load(copy)
    ordinary = ordinary_policy(population, options) if "ordinary" in options.rivals else None
    return Plan(population, ordinary, options.steps, options.every, options.threads)


def ordinary_policy(population: pg.Population, options: argparse.Namespace) -> pg.Population:
    """One policy with as many steps as a member of the population, trained now unless it is there."""
    path = options.ordinary or options.out / "ordinary"
    if (path / "manifest.json").exists():
        return pg.resume(path, options.threads)
    print(f"An ordinary policy learns for {population.config.steps:,} steps …", flush=True)
    task, steps = population.config.task, population.config.steps
    return pg.train(pg.TrainConfig(task, "multi", 1, steps, 1, threads=options.threads), path)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench finetune", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, default=POPULATION, help="the population")
    parser.add_argument("--ordinary", type=Path, help="a run whose member 0 is the ordinary policy")
    parser.add_argument("--variations", nargs="+", default=list(DAMAGES))
    parser.add_argument(
        "--settings", nargs="+", default=["chosen"], help="'NAME: ppo.X=Y …', chosen, member-3"
    )
    parser.add_argument("--rivals", nargs="*", default=["ordinary", "scratch"], help="ordinary, scratch")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--every", type=int, default=20_000, help="steps between two tests")
    parser.add_argument("--threads", type=int, help="physics threads; all cores when left out")
    parser.add_argument("--out", type=Path, default=Path("bench-finetune"), help="where results are kept")
    options = parser.parse_args(arguments)
    curves, plan = Curves(options.out / "curves"), opened(options)
    learners = [*map(Setting.parse, options.settings), *map(Setting.parse, options.rivals)]
    told = ", ".join(f"{one} {version}" for one, version in versions().items())
    print(f"{options.seeds} seeds, {options.steps:,} steps, tests of {EPISODES} episodes; {told}", flush=True)
    results: dict[str, dict[str, list[Curve]]] = {}
    for variation in options.variations:
        results[variation] = {one.name: [] for one in learners}
        for who in learners:
            for seed in range(options.seeds):
                key = Key(who.name, variation, options.steps, seed, 0)
                curve = curves.load(key, who.overrides)
                if curve is None:
                    print(f"{variation}, {who.name}: seed {seed} …", flush=True)
                    curve = learn(plan, who, variation, seed)
                    curves.save(key, who.overrides, curve)
                results[variation][who.name].append(curve)
        print_table(variation, results[variation])
    for quantity, title in (("mean_return", "return, mean actions"), ("progress", "metres in an episode")):
        drawn = chart(results, quantity, title)
        save_chart(drawn, options.out / f"{quantity}.svg")
        print(save_chart(drawn, options.out / f"{quantity}.html"))
