"""What the benchmark of learning makes of its curves, by hand."""

import math

import pytest
from benchmarks._curves import Curves, Key, Point, Summary, gain, minutes_to
from benchmarks.learn import Cohort, Setting, cohorts

SLOW = [Point(100, 60.0, 500.0, 1.0), Point(200, 120.0, 900.0, 0.5)]
QUICK = [Point(100, 30.0, 1000.0, 0.0), Point(210, 90.0, 1500.0, 0.1)]


def test_learners_are_compared_at_the_first_test_that_comes_no_sooner():
    early, late = (Summary.at([SLOW, QUICK], steps) for steps in (100, 150))
    assert early.returns.tolist() == [500, 1000]
    assert early.falls == 0.5
    assert late.returns.tolist() == [900, 1500]
    assert late.middle.value == 1200
    assert (late.middle.low, late.middle.high) == (900, 1500)
    assert Summary.at([SLOW], 1000).returns.tolist() == [900]


def test_minutes_are_counted_to_the_first_test_that_reaches_the_goal():
    assert minutes_to([SLOW, QUICK], 900) == [2.0, 0.5]
    assert minutes_to([SLOW], 901) == [math.inf]


def test_gains_are_taken_seed_by_seed():
    same = gain([QUICK, SLOW], [SLOW, SLOW], 100)
    assert same.value == 250
    assert (same.low, same.high) == (0, 500)


def test_kept_curves_come_back_and_other_settings_do_not_take_their_name(tmp_path):
    curves, key = Curves(tmp_path), Key("small steps", "walker", 200, 0, 1)
    assert curves.load(key, ["ppo.epochs=5"]) is None
    curves.save(key, ["ppo.epochs=5"], SLOW)
    assert Curves(tmp_path).load(key, ["ppo.epochs=5"]) == SLOW
    assert curves.load(key._replace(member=2), ["ppo.epochs=5"]) is None
    with pytest.raises(SystemExit, match="another name"):
        curves.load(key, ["ppo.epochs=6"])


def test_learners_are_shared_out_to_cohorts():
    assert cohorts(100, 7) == [Cohort(100, 5), Cohort(101, 2)]
    assert Setting.parse("small: ppo.epochs=5 ppo.minibatch_size=64") == Setting(
        "small", ("ppo.epochs=5", "ppo.minibatch_size=64")
    )
    assert Setting.parse("robust") == Setting("robust", ())
