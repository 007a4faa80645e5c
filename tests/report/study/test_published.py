"""The paper's printed tables, from the published per-seed numbers."""

import re
from typing import Any

import polars as pl
import pytest

from polygait.report.study.significance import aggregate_table, best_of_table, comparison_table
from polygait.report.study.sources import best_values, first_policies, published
from polygait.report.study.tables import (
    all_tables,
    damage_table,
    diversity_table,
    nominal_table,
    selected_table,
    sensor_table,
)
from polygait.report.study.typeset import Table

DIVERSITY = """
Multi 71.6 0.4 57.8 2.4 76.4 0.4 81.6 0.2
DvD   71.6 0.5 59.1 2.2 76.2 0.4 81.4 0.2
SMERL 71.5 0.5 63.2 2.4 77.1 0.4 81.7 0.3
DiR   73.0 0.4 66.1 1.7 78.4 0.8 83.2 0.3
"""
"""Ant, Hopper, Walker, Minitaur: mean and standard deviation."""
DAMAGE = """
hopper broken-leg     2972.0 177.0 2798.8 838.6 2193.5 617.5 2587.6 756.7
hopper broken-foot     999.5   0.2  999.5   0.3  999.6   0.2  999.3   0.4
walker broken-leg     2868.1 315.2 2677.8 268.4 2307.8 221.3 3059.7 199.2
walker broken-foot    1005.9   0.5 1015.8  15.7 1009.9   7.0 1341.9 409.6
ant broken-ankle      1118.7 197.7 1094.8 208.0 1177.0 219.8 1364.5 311.8
ant broken-hip        2222.2 460.2 1998.1 421.6 2148.1 642.0 2534.3 275.8
minitaur motor-failure   2.6   1.3    3.0   1.2    2.7   1.7    3.1   1.2
"""
"""Multi, DvD, SMERL, DiR."""
SENSORS = """
ant leg-1-sensor 1882 258 1910 196 1807 249 2210 408
ant leg-2-sensor 1471 233 1675 307 1398 342 1295 237
ant leg-3-sensor 1899 323 1889 183 1854 269 1976 260
ant leg-4-sensor 1916 350 2243 250 2089 436 2502 308
walker left-leg-sensor 2566 469 2346 423 2152 547 2646 586
walker right-leg-sensor 2842 316 2612 237 2502 225 2718 356
"""
SELECTED = """
walker broken-foot 2258.69 1003.17 117.91 27.51 -3.19 1039.94 -3.00 293.91 993.35 1037.74
walker broken-leg 472.49 2822.81 2690.13 984.79 509.47 961.89 801.23 740.60 2911.41 2588.05
hopper broken-foot 998.98 558.02 999.15 993.77 10.23 998.24 998.26 27.21 998.41 995.99
hopper broken-leg 712.34 460.93 1027.29 3130.23 201.54 2108.46 241.32 191.59 268.51 339.16
ant broken-ankle 617.12 596.33 248.10 1116.29 694.70 176.31 821.59 474.9 342.97 666.11
ant broken-hip 625.28 1507.77 732.94 678.78 1280.11 2265.75 1465.87 2179.59 1899.25 1489.05
"""
METHODS = ("multi", "dvd", "smerl", "dir")


@pytest.fixture(scope="module")
def source():
    return published()


def lines(text):
    return [line.split() for line in text.strip().splitlines()]


def printed_cases(text):
    """(task, condition, method, mean, sd) with a printed cell's own digits."""
    for task, condition, *words in lines(text):
        for place, method in enumerate(METHODS):
            yield task, condition, method, words[2 * place], words[2 * place + 1]


def one_unit(printed: str) -> float:
    """Of the last printed digit, and a little for the arithmetic."""
    return 10.0 ** -len(printed.partition(".")[2]) + 1e-9


def assert_printed(value: float, printed: str) -> None:
    assert value == pytest.approx(float(printed), abs=one_unit(printed))


def spreads(table: Table) -> dict[Any, Any]:
    return {(row["task"], row["condition"], row["method"]): (row["mean"], row["sd"]) for row in table.data}


def test_the_data_are_whole(source):
    assert source.returns.height == 44_856 and source.diversity.height == 128
    assert sorted(source.returns["seed"].unique()) == [10, 20, 30, 40, 50, 60, 70, 80]
    assert source.returns["member"].min() == 0 and source.returns["member"].max() == 9
    assert source.returns["scale"].drop_nulls().n_unique() == 20
    assert not source.returns["mean_return"].is_null().any()


def test_component_damage_and_sensor_failures(source):
    found = spreads(damage_table([source]))
    for task in ("ant", "walker"):
        found |= spreads(sensor_table([source], task))
    cases = [*printed_cases(DAMAGE), *printed_cases(SENSORS)]
    for *place, mean, sd in cases:
        assert_printed(found[tuple(place)][0], mean)
        assert_printed(found[tuple(place)][1], sd)
    assert len(cases) == 4 * 13


def test_diversity_and_its_asterisks(source):
    table = diversity_table([source])
    found = spreads(table)
    for method, *words in lines(DIVERSITY):
        for place, task in enumerate(("ant", "hopper", "walker", "minitaur")):
            mean, sd = found[task, "diversity", method.lower()]
            assert_printed(mean, words[2 * place])
            assert_printed(sd, words[2 * place + 1])
    rows = {row[0].text: row[2:] for row in table.rows}
    assert all(cell.best for cell in rows["DiR"])
    assert not any(cell.best for name in ("Multi", "DvD", "SMERL") for cell in rows[name])


@pytest.mark.parametrize("case", lines(SELECTED), ids=lambda case: "-".join(case[:2]))
def test_selected_policies_with_the_true_maximum_marked(case, source):
    task, condition, *words = case
    table = selected_table([source], task)
    assert list(table.columns[2:]) == [f"member {number}" for number in range(len(words))]
    row = next(row for row in table.rows if row[1].text == condition.replace("-", " "))
    for cell, printed in zip(row[2:], words, strict=True):
        assert_printed(float(cell.text), printed)
    numbers = [float(word) for word in words]
    assert [cell.best for cell in row[2:]] == [number == max(numbers) for number in numbers]


def test_only_what_differs_is_marked(source):
    """Under damage no method is above all others; with another's seeds moved down it would be."""
    assert not any(cell.best for row in damage_table([source]).rows for cell in row)
    others = (pl.col("method") != "dir") & (pl.col("condition") == "broken-hip")
    returns = source.returns.with_columns(
        mean_return=pl.when(others).then(pl.col("mean_return") - 1000).otherwise("mean_return")
    )
    marked = {
        row[0].text: [cell.best for cell in row[2:]]
        for row in damage_table([source._replace(returns=returns)]).rows
    }
    assert marked["Ant - broken hip"] == [False] * 4 + [True] and sum(map(sum, marked.values())) == 1


def test_a_population_and_its_first_policy_are_paired_and_never_marked(source):
    table = comparison_table([source])
    assert table.rows[0][0].text == "published: DiR − its own first policy (PG)"
    rows = {(row["against"], row["task"], row["condition"]): row for row in table.data}
    hip = rows["pg", "ant", "broken-hip"]
    assert hip["paired"] and hip["p"] < 0.05 and hip["improvement"] == 1.0 and hip["improvement_low"] < 0.7
    assert not rows["multi", "ant", "broken-hip"]["paired"] and ("pg", "all", "all") not in rows
    assert not any(cell.best for row in table.rows[:7] for cell in row)


def test_our_first_policy_is_known_by_its_returns(source):
    whose = [pl.lit(None, pl.Float64).alias("scale"), pl.lit("walker").alias("task")]
    rows = [
        {"condition": "broken-leg", "method": method, "seed": seed, "member": member, "mean_return": value}
        for method, members in (("dir", (1.0, 5.0)), ("pg", (1.0,)), ("multi", (1.0, 2.0)), ("other", (3.0,)))
        for seed in (0, 1)
        for member, value in enumerate(members)
    ]
    assert first_policies(pl.DataFrame(rows).with_columns(whose)) == ("pg",)


def test_best_mean_and_worst_members(source):
    rows = {(row["task"], row["method"]): row for row in nominal_table([source]).data}
    for task, method, best, mean, worst in (
        ("hopper", "dir", 3393, 2412, 415),
        ("walker", "dir", 3501, 2647, 1079),
        ("ant", "dir", 2764, 2058, 1392),
        ("minitaur", "dir", 18.4, 9.5, 2.9),
        ("hopper", "multi", 3415, 2580, 842),
        ("walker", "multi", 3315, 2070, 767),
        ("ant", "multi", 2454, 1859, 1165),
        ("minitaur", "multi", 23.5, 11.9, 4.8),
    ):
        row = rows[task, method]
        for name, printed in (("best", best), ("mean", mean), ("worst", worst)):
            assert row[name] == pytest.approx(printed, abs=0.1 if task == "minitaur" else 1)


def test_expected_best_of_more_members(source):
    table = best_of_table([source])
    found = {
        (row["method"], row["members"]): row["best"]
        for row in table.data
        if (row["task"], row["condition"]) == ("ant", "broken-hip")
    }
    for method, numbers in (("dir", (1343, 1968, 2230, 2534)), ("multi", (1366, 1849, 2036, 2222))):
        for count, expected in zip((1, 3, 5, 10), numbers, strict=True):
            assert found[method, count] == pytest.approx(expected, abs=1)


def test_all_damages_together(source):
    rows = {row["method"]: row for row in aggregate_table([source]).data}
    assert rows["multi"]["mean"] == pytest.approx(1.0)
    values = best_values(source.returns, "damage").values()
    scores = [one["dir"] / one["multi"].mean() for one in values]
    assert rows["dir"]["mean"] == pytest.approx(sum(score.mean() for score in scores) / 7)
    together = sorted(value for score in scores for value in score)
    assert rows["dir"]["interquartile_mean"] == pytest.approx(sum(together[14:42]) / 28)
    assert rows["dir"]["mean_low"] < rows["dir"]["mean"] < rows["dir"]["mean_high"]


def test_four_seeds_decide_nothing(source):
    """Intervals over them exclude 0 here and there; nothing is marked all the same."""
    few = source._replace(returns=source.returns.filter(pl.col("seed").is_in([10, 20, 30, 40])))
    rows, marked = comparison_table([few]), comparison_table([source])
    assert any(row["p"] < 0.05 for row in rows.data if "p" in row)
    assert not any(cell.best for row in rows.rows for cell in row)
    assert any(cell.best for row in marked.rows for cell in row)


def test_every_table_prints_in_all_forms(source, tmp_path):
    tables = all_tables([source])
    assert {"diversity", "damage", "sensors-ant", "sensors-walker", "selected-walker", "comparison"} <= {
        table.name for table in tables
    }
    for table in tables:
        files = table.save(tmp_path)
        assert [file.suffix for file in files] == [".txt", ".md", ".tex", ".csv"]
        text, markdown, latex, csv = (file.read_text() for file in files)
        assert text.startswith(table.title)
        columns = len(table.columns)
        body = [line for line in markdown.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in body} == {columns + 1}
        rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {columns - 1}
        assert "±" not in latex and "%" not in latex.replace(r"\%", "")
        assert len(csv.splitlines()) == len(table.data) + 1
