"""Where members differ: by hand, and beside independent members of the same seeds."""

import polars as pl
import pytest
from tests.report.study.made_up import made_up

from polygait.report.study.page import StudyReport
from polygait.report.study.variance import finest_groups, variance_table
from polygait.study.grid import Measures, Study
from polygait.study.results import Results

PARTS = {
    "torso": 0.0,
    "torso.position": 0.0,
    "torso.position.height": 0.0,
    "leg": 0.5,
    "leg.position": 1.0,
    "leg.position.foot": 1.0,
    "leg.velocity": 0.0,
    "leg.velocity.foot": 0.0,
}


def shares(method, seed, leg, torso):
    """Of one population; velocities never vary."""
    return [
        {
            "task": "walker",
            "method": method,
            "seed": seed,
            "part": part,
            "share": None if "velocity" in part else torso if part.startswith("torso") else leg,
            "freed": freed,
        }
        for part, freed in PARTS.items()
    ]


def frame(*rows):
    flat = [row for some in rows for row in some]
    return pl.DataFrame(flat, schema=Results._field_defaults["variance"].schema)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_only_groups_of_single_numbers_are_shown():
    assert finest_groups(list(PARTS)) == ["torso.position", "leg.position", "leg.velocity"]
    assert finest_groups(["state", "state.0", "state.1"]) == ["state"]


def test_dir_is_compared_with_independent_members_seed_by_seed():
    table = variance_table(
        frame(
            shares("multi", 0, 0.20, 0.30),
            shares("dir", 0, 0.50, 0.10),
            shares("multi", 1, 0.30, 0.20),
            shares("dir", 1, 0.50, 0.20),
        )
    )
    assert table.columns[3:] == ("Multi", "DiR", "DiR − Multi")
    (robot, torso, keeps, *first), (_, leg, frees, *second) = texts(table)
    assert (robot, torso, keeps) == ("Walker", "torso.position", "keeps it")
    assert (leg, frees) == ("leg.position", "frees it")
    assert first[0].startswith("25 [") and first[2].startswith("-10 [")
    assert second[1].startswith("50 [") and second[2].startswith("+25 [")
    found = {(row["part"], row["method"]): row["share"] for row in table.data}
    assert found["leg.position", "multi"] == pytest.approx(0.25)
    assert not any(cell.best for row in table.rows for cell in row)  # two seeds decide nothing


def test_other_seeds_are_not_compared():
    table = variance_table(frame(shares("dir", 0, 0.5, 0.1), shares("multi", 1, 0.2, 0.3)))
    assert texts(table)[1][3:] == ["20", "50", "–"]


def test_one_method_alone_has_no_difference():
    table = variance_table(frame(shares("dir", 0, 0.5, 0.1)))
    assert table.columns[3:] == ("DiR",)
    assert texts(table)[1][3:] == ["50"]


def test_a_report_shows_it_where_it_was_measured():
    study = Study("some", "some.toml", ("dir",), ("walker",), (0,), {}, {}, {}, Measures())
    with_it = made_up()._replace(variance=frame(shares("dir", 0, 0.5, 0.1)))
    titles = [table.title for table in StudyReport.of(study, with_it, charts=False).tables]
    assert "Where members differ" in titles
    titles = [table.title for table in StudyReport.of(study, made_up(), charts=False).tables]
    assert "Where members differ" not in titles and "What was trained" in titles
