"""A study at a glance, by hand."""

import math

import pytest
from tests.report.study.made_up import made_up
from tests.report.study.test_mesh import FAST, SLOW, measured
from tests.report.study.test_variance import frame, shares

from polygait.report.study.overview import overview_table


def test_numbers_by_hand():
    results = measured(("dir", 0, SLOW), ("multi", 0, FAST), ("multi", 1, SLOW))._replace(
        variance=frame(
            shares("multi", 0, 0.20, 0.30), shares("multi", 1, 0.40, 0.10), shares("dir", 0, 0.5, 0.1)
        )
    )
    multi, dir_ = overview_table(results).data
    assert (dir_["method"], dir_["seeds"], multi["seeds"]) == ("dir", 1, 2)
    assert dir_["nominal_mean"] == pytest.approx(150) and multi["nominal_mean"] == pytest.approx(250)
    assert dir_["of_independent"] == pytest.approx(150 / 350)  # of the seed that both have
    assert multi["of_independent"] == 1
    assert dir_["worst_of_best"] == 0.5 and multi["worst_of_best"] == pytest.approx((0.75 + 0.5) / 2)
    assert dir_["survival"] == pytest.approx(2 / 3) and dir_["survival_common"] == 0.0  # half of 3 m/s
    assert dir_["best_return"] == pytest.approx(100 * (0.5 + 1.2 + 1.1) / 3)
    assert (dir_["freed"], dir_["kept"]) == pytest.approx((50, 10))
    assert (multi["freed"], multi["kept"]) == pytest.approx((30, 20))


def test_what_is_not_known_is_left_open():
    table = overview_table(measured(("dir", 0, SLOW)))
    assert math.isnan(table.data[0]["of_independent"]) and math.isnan(table.data[0]["freed"])
    assert [cell.text for cell in table.rows[0]].count("–") == 3
    assert not overview_table(made_up()).rows  # no mesh was measured
