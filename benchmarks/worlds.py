"""Training worlds: what they cost beside training without them, and what studies of them came to.

`cost` trains the same policy with and without worlds in one process, iteration by iteration in turn.
`compare` puts the methods of studies/worlds.toml side by side, per task: the return
of the member chosen in each condition, on fresh episodes, and the share of conditions in which it walks on (a
return above --walks; about 1000 is standing still on Hopper and Walker), with 95 % intervals over seeds.
"""

import argparse
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

import polygait as pg
from polygait.cohort import make_cohort
from polygait.report.names import method_title
from polygait.runs import begin
from polygait.study.grid import read_study
from polygait.study.results import read_results
from polygait.study.statistics import bootstrap
from polygait.suites import listed_conditions
from polygait.training import _initial_state, _iterate

WORLDS = "nominal*4, broken(any(*)), broken(any(*)):weak=0.2..0.8, foot-friction=0.5..2, delay=0..2"
FAMILIES = {"seen": "faults-seen.toml", "held out": "faults-held-out.toml"}


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
    """A row per task, method and kind of fault."""
    print(
        "| task | training | faults | return of the chosen | walks on in | seeds |\n|---|---|---|---|---|---|"
    )
    study = read_study(options.study)
    returns = read_results(study.jobs(), options.out or Path("runs") / study.name).held_out
    for (task, method), rows in returns.group_by(["task", "method"], maintain_order=True):
        for family, file in FAMILIES.items():
            text = (Path(study.file).parent / file).read_text(encoding="utf-8")
            names = [one.name for one in listed_conditions(file, text)]
            own = rows.filter(pl.col("condition").is_in(names)).group_by("seed", maintain_order=True)
            kept = own.agg(
                pl.col("mean_return").mean().alias("mean"),
                (pl.col("mean_return") > options.walks).mean().alias("walks"),
            )
            mean, walks = (
                bootstrap([kept[column].to_numpy()], lambda strata: strata[0].mean(axis=-1))
                for column in ("mean", "walks")
            )
            print(
                f"| {task} | {method_title(str(method))} | {family} | "
                f"{mean.value:.0f} ({mean.low:.0f} to {mean.high:.0f}) | "
                f"{walks.value:.0%} ({walks.low:.0%} to {walks.high:.0%}) | {len(kept)} |"
            )


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
    compared.add_argument("--walks", type=float, default=1500.0)
    compared.set_defaults(run=compare)
    options = parser.parse_args(arguments)
    options.run(options)
