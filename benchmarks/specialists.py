"""Specialists: what populations of studies/specialists.toml survive, and how 5M steps are best spent.

A row per seed and suite with the survival at a bar that is the same for everybody, then budgets of equal
steps: generalists of 1M and specialists of 200k. A budget between the two that were trained is put together
from them, the mean over every choice of further generalists; its specialists go on from two.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import polars as pl

from polygait.resilience import KEPT_SHARE, resilience
from polygait.study.grid import read_study
from polygait.study.results import Results, read_results
from polygait.study.statistics import compare_paired

MULTI, SPECIALISTS = "multi", "multi:specialists"
SUITES = ("mesh", "unforeseen")
BUDGETS = ((5, 0), (4, 5), (3, 10), (2, 15))
"""How many generalists and how many specialists have 5M steps."""
FIRST = 2
"""Generalists that both populations of a seed share."""


def survival(frame: pl.DataFrame, bar: float | None) -> float:
    """Of the member chosen by progress, on fresh episodes; by the population's own bar if none is given."""
    reference = None if bar is None else bar / KEPT_SHARE
    return float(resilience(frame, "progress", reference).survival[-1])


def spent(multi: pl.DataFrame, specialists: pl.DataFrame, budget: tuple[int, int]) -> list[pl.DataFrame]:
    """The populations that so many generalists and specialists can make."""
    generalists, others = budget
    members = multi["member"].unique().sort().to_list()
    special = specialists.filter(pl.col("member").is_between(FIRST, FIRST + others - 1))
    moved = special.with_columns(pl.col("member") + len(members))
    chosen = itertools.combinations(members[FIRST:], generalists - FIRST)
    return [
        pl.concat([multi.filter(pl.col("member").is_in([*members[:FIRST], *more])), moved]) for more in chosen
    ]


def pairs_of(results: Results, suite: str) -> dict[int, tuple[pl.DataFrame, pl.DataFrame]]:
    """Both populations of every seed that has both."""
    frame: pl.DataFrame = getattr(results, suite)
    both = {
        seed: (frame.filter(seed=seed, method=MULTI), frame.filter(seed=seed, method=SPECIALISTS))
        for seed in sorted(frame["seed"].unique())
    }
    return {seed: pair for seed, pair in both.items() if not any(one.is_empty() for one in pair)}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="./dev bench specialists", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/laptop"), help="where the study's jobs are")
    parser.add_argument("--bar", type=float, default=1.5, help="m/s to keep")
    options = parser.parse_args(arguments)
    results = read_results(read_study("specialists").jobs(), options.out)
    print(f"| worlds | seed | five independent: {options.bar:g} m/s | own bar | specialists | own bar |")
    print("|---|---|---|---|---|---|")
    for suite in SUITES:
        found = pairs_of(results, suite)
        rows = [
            [survival(one, bar) for one in pair for bar in (options.bar, None)] for pair in found.values()
        ]
        for seed, row in zip(found, rows, strict=True):
            print(f"| {suite} | {seed} | {' | '.join(f'{value:.1%}' for value in row)} |")
        theirs, _, ours, _ = np.array(rows).T
        compared = compare_paired(ours, theirs)
        told = [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high in compared[:2]]
        print(f"\n{suite}: difference {told[0]}, P(improvement) {told[1]}, {len(rows)} pairs\n")
    print("| worlds | " + " | ".join(f"{one} and {other}" for one, other in BUDGETS) + " |")
    print("|---|" + "---|" * len(BUDGETS))
    for suite in SUITES:
        cells = [
            np.mean(
                [
                    np.mean([survival(one, options.bar) for one in spent(*pair, budget)])
                    for pair in pairs_of(results, suite).values()
                ]
            )
            for budget in BUDGETS
        ]
        print(f"| {suite} | {' | '.join(f'{value:.1%}' for value in cells)} |")
