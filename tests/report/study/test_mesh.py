"""The mesh of a study: numbers by hand, pairs by seed, and figures that are drawn."""

import math

import numpy as np
import polars as pl
import pytest
from tests.report.study.made_up import made_up

from polygait.report.study.contents import study_figures, study_sources
from polygait.report.study.mesh import compare_seeds, mesh_tables, pairs_of, populations
from polygait.report.study.tables import all_tables
from polygait.study.results import Results

WORLDS = ("nominal", "broken(leg_joint)", "gravity=1.4", "sensor(torso.velocity)")


def mesh_rows(method, seed, speeds):
    """Members × worlds of one population, its speeds in m/s; returns are a hundred times as much."""
    rows = []
    for member, row in enumerate(speeds):
        for world, speed in zip(WORLDS, row, strict=True):
            rows.append(
                {
                    "task": "walker",
                    "method": method,
                    "seed": seed,
                    "condition": world,
                    "variation": world,
                    "world": world,
                    "member": member,
                    "mean_return": 100.0 * speed,
                    "falls": 0.0,
                    "mean_speed": speed,
                    "seconds": 8.0,
                    "returns": [100.0 * speed] * 2,
                    "progress": [8.0 * speed] * 2,
                }
            )
    return rows


def measured(*populations_of) -> Results:
    rows = [row for one in populations_of for row in mesh_rows(*one)]
    return made_up()._replace(mesh=pl.DataFrame(rows, schema=Results._field_defaults["mesh"].schema))


SLOW = [[2.0, 0.5, 1.2, 0.0], [1.0, 0.3, 0.2, 1.1]]
"""Best nominal speed 2: the chosen ones keep 0.5, 1.2 and 1.1, of which two are at least 1."""
FAST = [[4.0, 1.0, 2.4, 0.0], [3.0, 0.3, 0.2, 1.1]]
"""Best nominal speed 4: of 1.0, 2.4 and 1.1 one is at least 2."""
LAME = [[4.0, 1.0, 1.4, 0.0], [3.0, 0.3, 0.2, 1.1]]


def test_every_population_has_its_own_bar_and_the_common_one():
    found = populations(measured(("dir", 0, SLOW), ("multi", 0, FAST)).mesh)["walker"]
    (slow, slow_common), (fast, fast_common) = found["dir"][0], found["multi"][0]
    assert slow.survival[-1] == pytest.approx(2 / 3) and fast.survival[-1] == pytest.approx(1 / 3)
    assert slow_common.survival[-1] == 0.0 and fast_common.survival[-1] == pytest.approx(1 / 3)


def test_tables_say_what_populations_keep_and_pair_them_by_seed():
    results = measured(
        ("dir", 0, SLOW), ("dir", 1, FAST), ("multi", 0, FAST), ("multi", 1, LAME), ("multi", 2, FAST)
    )
    tables = {table.name: table for table in all_tables(study_sources(results))}
    survival = {row["method"]: row["value"] for row in tables["mesh"].data if row["figure"] == "survival"}
    assert survival == pytest.approx({"dir": (2 / 3 + 1 / 3) / 2, "multi": (1 / 3 + 0 + 1 / 3) / 3})
    (paired,) = (row for row in tables["mesh-comparison"].data if row["figure"] == "survival")
    assert paired["seeds"] == 2 and paired["paired"]
    assert paired["difference"] == pytest.approx(1 / 3) and paired["improvement"] == 1.0
    added = [
        row["value"]
        for row in tables["mesh-members"].data
        if (row["figure"], row["method"]) == ("best_return", "multi")
    ]
    # FAST: one member 77.. on average, two 150; LAME the same but for 140 in gravity.
    one, two = np.mean([1.0, 2.4, 0.0, 0.3, 0.2, 1.1]), np.mean([1.0, 2.4, 1.1])
    lame_one, lame_two = np.mean([1.0, 1.4, 0.0, 0.3, 0.2, 1.1]), np.mean([1.0, 1.4, 1.1])
    np.testing.assert_allclose(added, [100 * (2 * one + lame_one) / 3, 100 * (2 * two + lame_two) / 3])
    assert "0.50 [0.33, 0.67]" in tables["mesh"].to_text()


def test_variants_are_compared_with_what_they_are_variants_of():
    assert pairs_of(["multi:many", "multi", "pg:worlds"]) == [("multi:many", "multi")]
    assert pairs_of(["dir", "dir:wide", "multi", "multi:many"]) == [
        ("dir", "multi"),
        ("dir", "multi:many"),
        ("dir", "dir:wide"),
        ("multi:many", "multi"),
    ]
    results = measured(
        ("multi", 0, FAST), ("multi", 1, FAST), ("multi:many", 0, SLOW), ("multi:many", 1, SLOW)
    )
    (table,) = (one for one in all_tables(study_sources(results)) if one.name == "mesh-comparison")
    (row,) = (row for row in table.data if row["figure"] == "survival")
    assert (row["method"], row["against"], row["seeds"]) == ("multi:many", "multi", 2)
    assert row["difference"] == pytest.approx(1 / 3)
    assert "Walker: Multi, many − Multi" in table.to_text()


def test_who_stands_for_a_higher_return_is_not_chosen():
    results = measured(("multi", 0, FAST))
    still = pl.col("world").is_in(["gravity=1.4"]) & (pl.col("member") == 1)
    paid = pl.when(still).then([900.0, 900.0]).otherwise(pl.col("returns"))
    own, _ = populations(results.mesh.with_columns(returns=paid))["walker"]["multi"][0]
    assert own.survival[-1] == pytest.approx(1 / 3)


def test_seeds_that_methods_do_not_share_are_compared_as_groups():
    paired = compare_seeds({0: 1.0, 1: 3.0, 2: 2.0}, {0: 0.0, 1: 2.0, 5: 9.0})
    assert paired is not None and paired.paired and paired.seeds == 2
    assert tuple(map(float, paired.difference)) == (1.0, 1.0, 1.0)
    apart = compare_seeds({0: 1.0, 1: 3.0}, {2: 0.0, 3: 2.0})
    assert apart is not None and not apart.paired
    assert float(apart.difference.value) == 1.0 and float(apart.improvement.value) == 0.75
    assert compare_seeds({}, {0: 1.0}) is None


def test_one_pair_has_no_interval():
    found = compare_seeds({3: 1.0}, {3: 0.5, 4: 9.0})
    assert found is not None and float(found.difference.value) == 0.5
    assert found.paired and math.isnan(found.difference.low)


def test_where_the_best_member_stands_still_is_told():
    results = made_up()
    speeds = {"nominal": 3.0, "broken-leg": 1.0, "broken-foot": 0.02}
    still = results.returns.with_columns(
        falls=pl.lit(0.0), mean_speed=pl.col("condition").replace_strict(speeds, return_dtype=pl.Float64)
    )
    (table,) = (
        one for one in mesh_tables(study_sources(results._replace(returns=still))) if one.name == "standing"
    )
    assert [row["condition"] for row in table.data] == ["broken-foot"]
    assert table.rows[0][-1].text == "1 of 1"


def test_damages_unlike_the_mesh_have_tables_of_their_own():
    results = measured(("dir", 0, SLOW), ("multi", 0, FAST))
    both = results._replace(unforeseen=measured(("dir", 0, LAME), ("multi", 0, FAST)).mesh)
    tables = {table.name: table for table in all_tables(study_sources(both))}
    survival = {
        name: {row["method"]: row["value"] for row in tables[name].data if row["figure"] == "survival"}
        for name in ("mesh", "unforeseen")
    }
    assert survival["mesh"] == pytest.approx({"dir": 2 / 3, "multi": 1 / 3})
    assert survival["unforeseen"] == pytest.approx({"dir": 0.0, "multi": 1 / 3})
    (paired,) = (row for row in tables["unforeseen-comparison"].data if row["figure"] == "survival")
    assert paired["difference"] == pytest.approx(-1 / 3)
    assert "unforeseen" not in {table.name for table in all_tables(study_sources(results))}


def test_a_study_without_a_mesh_has_no_table_of_it():
    assert not any(table.rows for table in mesh_tables(study_sources(made_up())))


def test_figures_of_the_mesh_are_drawn():
    results = measured(("dir", 0, SLOW), ("multi", 0, FAST))
    figures = study_figures(results, study_sources(results))
    curve = figures["mesh-survival-walker"].to_dict()
    values = next(iter(curve["datasets"].values()))
    assert {(row["method"], row["members"]) for row in values} == {
        (method, size) for method in ("DiR", "Multi") for size in (1, 2)
    }
    assert curve["title"]["subtitle"] == "1 seed: fewer than 5 decide nothing"
    enough = measured(
        *(("dir", seed, SLOW) for seed in range(6)), *(("multi", seed, FAST) for seed in range(5))
    )
    title = study_figures(enough, study_sources(enough))["mesh-worlds-walker"].to_dict()["title"]
    assert title["subtitle"] == "5 to 6 seeds"
    worlds = next(iter(figures["mesh-worlds-walker"].to_dict()["datasets"].values()))
    shown = {(row["method"], row["label"]): row["survives"] for row in worlds}
    assert shown["DiR", "leg locked"] == 0.0 and shown["DiR", "gravity × 1.4"] == 1.0
    assert len(shown) == 6
