"""Choosing a member: the paper's protocol to the bit, a race on a budget, and honest scores."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import polygait as pg
from polygait.adaptation import Interval, Trials, exhaust, expected_returns, race
from polygait.episodes import episode_seeds, world_of
from polygait.errors import UserError
from polygait.tasks.mujoco import MujocoTask
from tests import tiny

DAMAGE = "broken-leg"


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    out = tmp_path_factory.mktemp("adapt") / "hopper"
    return tiny.train(out, method="multi", members=3, iterations=2)


def plain_loop(population: pg.Population, member: int, seed: int) -> float:
    """One episode of one member in a task of its own, written out."""
    actor = population.actor([member], 1)
    task = population.make_task(1, variation=DAMAGE)
    observation = task.reset(seeds=[seed])
    total = 0.0
    while True:
        action = np.clip(actor.mean(observation[None].astype(np.float32))[0], -1, 1)
        step = task.step(action)
        total += float(step.reward[0])
        observation = step.observation
        if step.terminated[0] or step.truncated[0]:
            return total


def test_exhaustive_is_algorithm_2_to_the_bit(population):
    result = pg.adapt(population, DAMAGE, episodes=4, held_out=3, seed=5)
    expected = [
        [plain_loop(population, member, seed) for seed in episode_seeds(5, 0, 4)] for member in range(3)
    ]
    assert result.returns.tolist() == expected
    assert result.best == int(np.argmax(np.mean(expected, axis=1)))
    assert result.episodes_used == 12
    assert result.selection_return == np.mean(expected[result.best])
    fresh = [plain_loop(population, result.best, seed) for seed in episode_seeds(5, 1, 3)]
    assert result.held_out_returns.tolist() == fresh
    assert result.held_out_return == np.mean(fresh)
    assert not set(episode_seeds(5, 0, 100)) & set(episode_seeds(5, 1, 100))  # fresh starts


def test_packing_does_not_change_a_return(population, monkeypatch):
    expected = pg.adapt(population, DAMAGE, episodes=5, held_out=0).returns
    for rows in (1, 4, 7):
        monkeypatch.setattr("polygait.episodes.MAX_ROWS", rows)
        assert pg.adapt(population, DAMAGE, episodes=5, held_out=0, threads=1).returns.tolist() == (
            expected.tolist()
        )


def test_the_same_seed_repeats_and_another_does_not(population):
    first = pg.adapt(population, DAMAGE, episodes=2, seed=1)
    assert pg.adapt(population, DAMAGE, episodes=2, seed=1).to_json() == first.to_json()
    assert not np.array_equal(pg.adapt(population, DAMAGE, episodes=2, seed=2).returns, first.returns)


@pytest.mark.parametrize(
    ("wishes", "total"), [({"episodes": 2}, 3 * 2 + 4), ({"selector": "racing", "trials": 7}, 7 + 4)]
)
def test_every_episode_shows_as_progress(population, wishes, total):
    told = []
    result = pg.adapt(population, DAMAGE, lambda done, of: told.append((done, of)), held_out=4, **wishes)
    assert {of for _, of in told} == {total} and told[0] == (0, total)
    assert told[-1][0] == result.episodes_used + 4 and len(told) > 4
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_folder_that_cannot_be_made_is_told_before_any_trial(population, monkeypatch):
    place = population.path / "adaptations"
    aside = place.rename(population.path / "aside") if place.exists() else None
    place.write_text("in the way")
    monkeypatch.setattr("polygait.adaptation.run_members", None)
    with pytest.raises(UserError, match=r"Cannot write .*adaptations"):
        pg.adapt(population, DAMAGE, episodes=2)
    place.unlink()
    if aside is not None:
        aside.rename(place)


def test_the_result_is_kept_beside_the_population(population):
    result = pg.adapt(population, DAMAGE, selector="racing", trials=7)
    kept = json.loads((population.path / "adaptations" / "broken-leg.racing.json").read_text())
    assert kept["best"] == result.best and kept["episodes_used"] == result.episodes_used <= 7
    assert kept["variation"] == DAMAGE and kept["config"]["trials"] == 7
    assert [[one for one in row if one is not None] for row in kept["returns"]] == [
        [one for one in row if not math.isnan(one)] for row in result.returns.tolist()
    ]


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"episodes": 0}, "episodes must be at least 1"),
        ({"seed": 2**32}, "seed must lie between 0"),
        ({"selector": "racing", "trials": 2}, "give at least 3"),
        ({"selector": "racing", "trials": 0}, "trials must be at least 1"),
        ({"selector": "racing", "episodes": 5}, "give trials instead"),
        ({"trials": 9}, "belong to racing"),
        ({"max_falls": 2}, "belong to racing"),
        ({"selector": "luck"}, "'exhaustive' or 'racing'"),
        ({"held_out": -1}, "held_out must not be negative"),
        ({"episode": 3}, "Did you mean 'episodes'"),
        ({"on": "walker"}, "shows other state parts"),
        ({"on": "moon"}, "moon"),
    ],
)
def test_bad_wishes_are_explained(population, wishes, words):
    with pytest.raises(UserError, match=words):
        pg.adapt(population, DAMAGE, **wishes)


def test_an_unknown_condition_is_told_before_anything_runs(population, monkeypatch):
    monkeypatch.setattr("polygait.adaptation.run_members", None)
    with pytest.raises(UserError, match="Did you mean 'broken-leg'"):
        pg.adapt(population, "broken-log")


def test_on_another_task_with_the_same_layout(population):
    here = pg.adapt(population, DAMAGE, episodes=2, held_out=1)
    there = pg.adapt(population, DAMAGE, episodes=2, held_out=1, on="hopper")
    assert there.returns.tolist() == here.returns.tolist() and there.task == "hopper"
    assert (population.path / "adaptations" / "hopper.broken-leg.exhaustive.json").exists()


@pytest.mark.usefixtures("quick_compilation")
def test_a_population_of_one_simulator_is_adapted_in_another(tmp_path):
    pytest.importorskip("pybullet", exc_type=ImportError)
    population = tiny.train(tmp_path / "run", "task.max_episode_steps=30", task="minitaur", iterations=1)
    result = pg.adapt(population, "motor-failure", episodes=1, held_out=1, on="minitaur-bullet", threads=1)
    assert result.task == "minitaur-bullet" and np.isfinite(result.returns).all()
    there = world_of(population, "minitaur-bullet", 1)(1)
    assert there.max_episode_steps == 30  # as at home
    here = pg.adapt(population, "motor-failure", episodes=1, held_out=1, threads=1)
    assert not np.array_equal(here.returns, result.returns)


def test_other_actions_are_refused(population, monkeypatch):
    from polygait.tasks.hopper import Hopper

    class Backwards(Hopper):
        def spec(self) -> Any:
            spec = super().spec()
            for actuator, joint in zip(
                spec.actuators, ("foot_joint", "leg_joint", "thigh_joint"), strict=True
            ):
                actuator.target = joint
            return spec

    other = MujocoTask(Backwards())
    monkeypatch.setattr("polygait.episodes.make_task", lambda *_, **__: other)
    with pytest.raises(UserError, match="foot_joint, leg_joint, thigh_joint"):
        pg.adapt(population, DAMAGE, on="backwards")


def test_a_diverging_member_is_flagged_and_never_wins_by_nan(population, monkeypatch):
    step = MujocoTask.step

    def break_first_member(self: Any, actions: np.ndarray) -> Any:
        if self.num_envs % 3 == 0:  # the trials, not the held-out episodes: their first third is member 0
            self.physics.qvel[: self.num_envs // 3] = np.nan
        return step(self, actions)

    monkeypatch.setattr(MujocoTask, "step", break_first_member)
    result = pg.adapt(population, DAMAGE, episodes=2, held_out=2)
    assert result.diverged.tolist() == [2, 0, 0]
    assert np.isfinite(result.returns).all() and result.returns[0].tolist() == [0, 0]
    assert result.best != 0


class Table(Trials):
    """Trials read from a table, with a fall wherever a return is negative."""

    def __init__(self, table: Sequence[Sequence[float]]) -> None:
        super().__init__(len(table))
        self._table = table

    def try_out(self, members: Sequence[int], count: int) -> None:
        for member in members:
            for _ in range(count):
                value = self._table[member][len(self._tried[member]) % len(self._table[member])]
                self._tried[member].append(value)
                self.falls[member] += value < 0


def test_a_race_halves_and_spends_its_budget_on_the_best():
    table = Table([[1], [4], [2], [3]])
    assert race(table, np.ones(4), budget=16).best == 1
    assert np.isfinite(table.returns).sum(axis=1).tolist() == [2, 6, 2, 6]  # 8, then two racers share 8


def test_one_member_wins_at_once():
    table = Table([[5.0]])
    assert race(table, np.ones(1), budget=3).best == 0


def test_who_falls_too_often_is_tried_no_more():
    table = Table([[9, -1], [2], [-1, 50], [1]])
    choice = race(table, np.ones(4), budget=40, max_falls=1)
    assert choice.stopped == (0, 2) and choice.best == 1
    assert table.falls.tolist() == [1, 0, 1, 0]


def test_when_all_fall_the_best_of_them_is_still_named():
    choice = race(Table([[-3], [-1], [-2]]), np.ones(3), budget=30, max_falls=2)
    assert choice.stopped == (0, 1, 2) and choice.best == 1


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=4), min_size=1, max_size=12),
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(1, 3)),
)
def test_a_race_keeps_its_promises(table, extra, max_falls):
    trials = Table(table)
    budget = len(table) + extra
    choice = race(trials, np.array([row[0] for row in table]), budget, max_falls)
    tried = np.isfinite(trials.returns).sum(axis=1)
    assert 0 <= choice.best < len(table)
    assert tried.min() >= 1 and tried.sum() <= budget
    if max_falls is not None:
        assert trials.falls.max() <= max_falls
        if len(choice.stopped) < len(table):
            assert choice.best not in choice.stopped


def test_the_prior_counts_as_much_as_trials_scatter_and_as_little_as_it_errs():
    """Nominal 100 and 300; trials 40, 60 and 50, 50: the change costs 75 %, so the prior says 25 and 75.

    Scatter (10² + 10²)/2 = 100, error (25² + 25²)/2 = 625: the prior counts 0.16 trials.
    """
    found = expected_returns(np.array([[40.0, 60.0], [50.0, 50.0]]), np.array([100.0, 300.0]))
    np.testing.assert_allclose(found, [(100 + 0.16 * 25) / 2.16, (100 + 0.16 * 75) / 2.16])


def test_the_prior_never_counts_more_than_half_a_trial():
    found = expected_returns(np.array([[0.0, 100.0], [0.0, 100.0]]), np.array([90.0, 110.0]))
    np.testing.assert_allclose(found, [(100 + 0.5 * 45) / 2.5, (100 + 0.5 * 55) / 2.5])


def test_without_a_sensible_prior_the_trials_decide():
    returns = np.array([[-1.0, -3.0], [4.0, math.nan]])
    np.testing.assert_array_equal(expected_returns(returns, np.array([-5.0, 1.0])), [-2, 4])
    np.testing.assert_array_equal(expected_returns(returns, np.zeros(2)), [-2, 4])
    single = np.array([[3.0], [2.0]])  # nothing tells how much chance there is
    np.testing.assert_array_equal(expected_returns(single, np.array([1.0, 9.0])), [3, 2])


def test_exhaustive_takes_the_first_of_equals():
    assert exhaust(Table([[1], [3], [3]]), episodes=2).best == 1


def test_intervals_are_students():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    expected = stats.t.interval(0.95, 3, loc=4.0, scale=stats.sem(values))
    np.testing.assert_allclose(Interval.of(values), expected)
    assert Interval.of(values[:1]) == (-math.inf, math.inf)
