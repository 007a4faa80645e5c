"""Which state parts reveal the action, asked of a trained population."""

import copy
from pathlib import Path

import numpy as np
import pytest

import polygait as pg
from polygait.experiments import filters
from polygait.experiments.filters import NOTHING, WHOLE, candidate_filters, diagnose

TRAINED = Path(__file__).parent.parent / "data" / "walker-dir"


@pytest.fixture(scope="module")
def population():
    return pg.load(TRAINED)


def test_the_usual_candidates_are_the_parts(population):
    found = candidate_filters(population, ())
    assert list(found) == [
        WHOLE,
        NOTHING,
        "without torso",
        "without right_leg (this run's)",
        "without left_leg",
    ]
    assert [one.size for one in found.values()] == [17, 0, 12, 11, 11]


def test_a_users_candidates_replace_the_parts(population):
    found = candidate_filters(population, ("*_leg.velocity, torso.velocity", "*", "right_leg.*"))
    assert [(name, one.size) for name, one in found.items()] == [
        (WHOLE, 17),
        (NOTHING, 0),
        ("without *_leg.velocity, torso.velocity", 8),
        ("without right_leg.* (this run's)", 11),
    ]
    with pytest.raises(pg.UserError, match="tail"):
        candidate_filters(population, ("tail",))


def test_a_filter_of_its_own_is_among_the_candidates(population):
    other = copy.copy(population)
    other.filter = pg.StateFilter.keep(population.layout, ["torso.position"])
    assert "keeping 2 of 17 numbers (this run's)" in candidate_filters(other, ())


@pytest.fixture(scope="module")
def diagnosis(population):
    return diagnose(population, member=1, episodes=4, epochs=40, seed=3, threads=1, remove=("right_leg.*",))


def test_more_state_reveals_more(diagnosis):
    names = [one.name for one in diagnosis.verdicts]
    assert names == [WHOLE, "without right_leg.* (this run's)", NOTHING]
    variance = [one.inference.variance.mean() for one in diagnosis.verdicts]
    assert variance == sorted(variance)
    assert diagnosis.verdicts[-1].revealed == 0
    assert diagnosis.held_in > 100 and diagnosis.held_out > 100


def test_held_out_episodes_are_others(population):
    seen, checked, fresh = filters._experience(
        population, filters.FiltersConfig(member=0, episodes=5, threads=1)
    )
    rows = [{tuple(row) for row in one.state} for one in (seen, checked, fresh)]
    assert not rows[0] & rows[1] and not rows[0] & rows[2] and not rows[1] & rows[2]
    assert np.abs(seen.action).max() == 1.0  # as the robot received them
    # Within an episode states follow each other.
    follows = (seen.next_state[:-1] == seen.state[1:]).all(axis=1)
    assert (~follows).sum() == 2  # between three episodes
    again = filters._experience(population, filters.FiltersConfig(member=0, episodes=5, threads=2))
    np.testing.assert_array_equal(seen.state, again[0].state)


def test_json_names_every_number(diagnosis):
    plain = diagnosis.to_json()
    first = plain["filters"][0]
    assert set(first["variance_by_action"]) >= {"thigh_joint", "foot_left_joint"}
    assert first["variance"] == pytest.approx(np.mean(list(first["variance_by_action"].values())))
    assert plain["held_out"] == diagnosis.held_out


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ({"member": 9}, "member 9"),
        ({"episodes": 2}, "episodes"),
        ({"epochs": 0}, "epochs"),
        ({"episods": 4}, "episodes"),
    ],
)
def test_impossible_wishes_are_named(population, wish, word):
    with pytest.raises(pg.UserError, match=word):
        diagnose(population, **wish)
