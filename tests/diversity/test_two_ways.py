"""Where a task can be done in two ways, DiR finds both; where a model reads all actions, it pulls nowhere."""

from typing import NamedTuple

import numpy as np
import pytest
from benchmarks import ways as contest
from tests.diversity.two_ways import (
    EVERYTHING,
    FREE_PLACE,
    PEAK,
    all_knowing,
    regulation,
    walk,
)

from polygait.config.settings import NoSettings
from polygait.diversity.methods.multi import Multi

pytestmark = pytest.mark.usefixtures("quick_compilation")

SEEDS = 12


class Ways(NamedTuple):
    """Actions by seed: the first member, and second members by what they know of the first."""

    first: np.ndarray
    regulated: np.ndarray
    independent: np.ndarray
    given_away: np.ndarray


@pytest.fixture(scope="module")
def ways(quick_compilation):
    free, all_seen = regulation(FREE_PLACE), regulation(EVERYTHING)
    multi, knowing = Multi(NoSettings(), EVERYTHING), all_knowing(all_seen)
    found = []
    for seed in range(SEEDS):
        first = walk(free, 0, seed, [])
        seconds = (
            walk(free, 1, seed, first.tensors),
            walk(multi, 1, seed, []),
            walk(all_seen, 1, seed, knowing),
        )
        found.append([first.action, *(one.action for one in seconds)])
    return Ways(*np.array(found).T)


@pytest.mark.slow
def test_second_members_go_the_other_way_or_follow_chance(ways):
    for actions in ways:
        assert (np.abs(np.abs(actions) - PEAK) < 0.25).all(), ways  # all of them do the task
    other = {name: int((np.sign(one) != np.sign(ways.first)).sum()) for name, one in ways._asdict().items()}
    assert other["regulated"] >= SEEDS - 1, ways
    assert 3 <= other["independent"] <= SEEDS - 3, ways
    # s′ gives the action away, so every action is as likely as any other: no pull, and chance decides alike.
    alike = np.sign(ways.given_away) == np.sign(ways.independent)
    assert alike.sum() >= SEEDS - 1, ways


@pytest.mark.slow
def test_with_a_wind_chance_takes_one_way_and_dir_keeps_both():
    """The toy of `./dev bench ways`, which compares all methods over more seeds."""
    seeds = range(8)
    multi, dir_ = contest.contenders([1.0])[:2]
    chance, regulated = (
        contest.Result(one, contest.WIND + np.array([contest.population(one, seed) for seed in seeds]))
        for one in (multi, dir_)
    )
    assert chance.able.all() and (chance.actions > 0).mean() >= 0.9, chance
    assert regulated.kept >= 7 and regulated.able.mean() > 0.9, regulated
