"""Training worlds: what they cost beside training without them, and what a study of them came to.

`cost` trains the same policy with and without worlds in one process, iteration by iteration in turn.
`compare` puts the methods of studies/worlds.toml side by side, per task, for the mesh's damages of families
that the worlds had and for others: survival with the common bar, the return of the member chosen in each
condition on fresh episodes, and that of the best, with 95 % intervals over seeds.
"""

import argparse
import re
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path

import numpy as np
import polars as pl

import polygait as pg
from polygait.cohort import make_cohort
from polygait.report.names import method_title
from polygait.report.study.mesh import populations
from polygait.runs import begin
from polygait.study.grid import read_study
from polygait.study.results import read_results
from polygait.study.statistics import bootstrap
from polygait.training import _initial_state, _iterate

WORLDS = "nominal*4, broken(any(*)), broken(any(*)):weak=0.2..0.8, foot-friction=0.5..2, delay=0..2"
SEEN = ("broken", "broken:weak", "friction", "delay")
"""The kinds of damage that they hold."""
FIGURES = (
    (attrgetter("survival"), "{:.0%}"),
    (attrgetter("chosen_return"), "{:.0f}"),
    (attrgetter("best_return"), "{:.0f}"),
)
"""Curves over the number of members, of which the last value counts, and how it is written."""


def cost(options: argparse.Namespace) -> None:
    """Seconds of processor and of the clock, of an iteration with worlds and one without."""
    seconds: dict[str, list[tuple[float, float]]] = {"plain": [], "worlds": []}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=1) as pool:
        cohorts, states = {}, {}
        for name, worlds in (("plain", None), ("worlds", options.worlds)):
            config = pg.TrainConfig(options.task, "multi", members=1, steps=10_000_000, worlds=worlds)
            cohorts[name] = make_cohort(begin(config, Path(folder) / name), None, options.threads)
            states[name] = _initial_state(cohorts[name])
        for turn in range(options.iterations + 2):
            for name in ("plain", "worlds") if turn % 2 else ("worlds", "plain"):
                begun = time.process_time(), time.perf_counter()
                states[name] = _iterate(cohorts[name], states[name], pool).state
                taken = time.process_time() - begun[0], time.perf_counter() - begun[1]
                if turn >= 2:  # the first compile
                    seconds[name].append(taken)
    for place, clock in enumerate(("processor", "clock")):
        plain, worlds = ([one[place] for one in seconds[name]] for name in ("plain", "worlds"))
        ratio = statistics.median(
            with_them / without for with_them, without in zip(worlds, plain, strict=True)
        )
        print(
            f"{options.task}, {clock}: {1e3 * statistics.median(plain):.0f} ms an iteration without worlds, "
            f"{1e3 * statistics.median(worlds):.0f} ms with; median ratio {ratio:.3f}, "
            f"ratio of sums {sum(worlds) / sum(plain):.3f}"
        )


def compare(options: argparse.Namespace) -> None:
    """A row per task, kind of fault and method."""
    print("| task | faults | training | survival | chosen | best | seeds |\n|---|---|---|---|---|---|---|")
    study = read_study(options.study)
    mesh = read_results(study.jobs(), options.out or Path("runs") / study.name).mesh
    kind = pl.col("variation").map_elements(kind_of, return_dtype=pl.String)
    for family, own in (("seen", kind.is_in(SEEN)), ("never seen", ~kind.is_in(SEEN))):
        found = populations(mesh.filter((pl.col("variation") == "nominal") | own))
        for task, methods in found.items():
            for method, seeds in methods.items():
                common = [both[1] for both in seeds.values()]
                cells = [with_interval([curve(one)[-1] for one in common], form) for curve, form in FIGURES]
                print(f"| {task} | {family} | {method_title(method)} | {' | '.join(cells)} | {len(seeds)} |")


def kind_of(variation: str) -> str:
    """What a variation breaks and how, without where and how much: "broken:weak" of "broken(x):weak=0.3"."""
    return re.sub(r"\(.*?\)|=.*", "", variation)


def with_interval(values: list[float], form: str) -> str:
    """The mean over seeds and its interval; one seed has none."""
    if len(values) == 1:
        return form.format(values[0])
    interval = bootstrap([np.array(values)], lambda strata: strata[0].mean(axis=-1))
    return f"{form} ({form} to {form})".format(interval.value, interval.low, interval.high)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench worlds", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    measured = commands.add_parser("cost")
    measured.add_argument("--task", default="walker")
    measured.add_argument("--worlds", default=WORLDS)
    measured.add_argument("--iterations", type=int, default=30)
    measured.add_argument("--threads", type=int, default=None)
    measured.set_defaults(run=cost)
    compared = commands.add_parser("compare")
    compared.add_argument("--study", default="worlds")
    compared.add_argument("--out", type=Path, default=None, help="where its jobs are, if not in runs/")
    compared.set_defaults(run=compare)
    options = parser.parse_args(arguments)
    options.run(options)
