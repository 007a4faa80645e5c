"""Choosing a member: the paper's protocol to the bit, a race on a budget, and honest scores."""

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import polygait as pg
from polygait.adaptation import Adaptation, Interval, read_adaptation
from polygait.adaptation.choosing import make_selector
from polygait.adaptation.loop import AskTell
from polygait.adaptation.selector import Choice, Selector
from polygait.adaptation.selectors.exhaustive import Exhaustive, ExhaustiveConfig
from polygait.adaptation.selectors.racing import Racing, RacingConfig, expected_returns
from polygait.config import AdaptConfig
from polygait.episodes import episode_seeds, task_factory
from polygait.errors import UserError
from polygait.tasks.mujoco import MujocoTask
from tests import tiny

DAMAGE = "broken-leg"
TRAINED = Path(__file__).parent / "data" / "hopper-dir"


OLD = {
    "best": 1,
    "config": {"episodes": None, "held_out": 1, "max_falls": None, "on": None, "seed": 0,
               "selector": "racing", "threads": None, "trials": None},
    "diverged": [0, 0], "episodes_used": 3, "falls": [1, 0], "held_out_interval": ["-Infinity", "Infinity"],
    "held_out_return": 5.0, "held_out_returns": [5.0], "returns": [[1.0, None], [2.0, 4.0]],
    "selection_interval": [-9.7, 15.7], "selection_return": 3.0, "stopped": [], "task": "hopper",
    "variation": "broken-leg",
}  # fmt: skip
"""An adaptation as 0.1 kept it."""


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
    ("options", "total"), [({"episodes": 2}, 3 * 2 + 4), ({"selector": "racing", "trials": 7}, 7 + 4)]
)
def test_every_episode_shows_as_progress(population, options, total):
    told = []
    result = pg.adapt(population, DAMAGE, lambda done, of: told.append((done, of)), held_out=4, **options)
    assert {of for _, of in told} == {total} and told[0] == (0, total)
    assert told[-1][0] == result.episodes_used + 4 and len(told) > 4
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_folder_that_cannot_be_made_is_told_before_any_trial(population, monkeypatch):
    place = population.path / "adaptations"
    aside = place.rename(population.path / "aside") if place.exists() else None
    place.write_text("in the way")
    monkeypatch.setattr("polygait.adaptation.simulator.run_members", None)
    with pytest.raises(UserError, match=r"Cannot write .*adaptations"):
        pg.adapt(population, DAMAGE, episodes=2)
    place.unlink()
    if aside is not None:
        aside.rename(place)


def kept(population: pg.Population) -> dict[str, pg.Adaptation]:
    """Every adaptation in a run's folder, by its file's name."""
    return {file.name: read_adaptation(file) for file in (population.path / "adaptations").glob("*.json")}


def test_the_result_is_kept_beside_the_population(population):
    result = pg.adapt(population, DAMAGE, selector="racing", trials=7, held_out=3)
    (file,) = (population.path / "adaptations").glob(f"{result.name}.json")
    assert file.name.startswith("broken-leg.racing-")
    told = json.loads(file.read_text())
    assert told["best"] == result.best and told["episodes_used"] == result.episodes_used <= 7
    assert told["variation"] == DAMAGE and told["config"]["trials"] == 7
    again = read_adaptation(file)
    assert again.to_json()["returns"] == told["returns"] and again.name == result.name
    np.testing.assert_array_equal(again.returns, result.returns)
    np.testing.assert_array_equal(again.held_out_returns, result.held_out_returns)
    assert again.world == "broken(leg_joint)" and len(set(again.weights)) == 3


def test_a_shorter_adaptation_does_not_replace_a_longer_one(population):
    long = pg.adapt(population, "broken-foot", episodes=3, held_out=1)
    short = pg.adapt(population, "broken-foot", episodes=1, held_out=0)
    found = kept(population)
    assert found[f"{long.name}.json"].episodes_used == 9 and found[f"{short.name}.json"].episodes_used == 3


@pytest.mark.parametrize(
    "change",
    [
        {"config": AdaptConfig(seed=1)},
        {"config": AdaptConfig(held_out=2)},
        {"config": AdaptConfig(episodes=21)},
        {"config": AdaptConfig("racing", trials=8)},
        {"config": AdaptConfig("racing", trials=9)},
        {"config": AdaptConfig("racing", trials=9, max_falls=1)},
        {"config": AdaptConfig(on="hopper")},
        {"config": AdaptConfig(by="progress")},
        {"task": "walker"},
        {"variation": "broken-foot"},
        {"world": "broken(leg_joint,foot_joint)"},
        {"weights": ("a", "b")},
    ],
)
def test_every_other_question_is_kept_under_another_name(change):
    usual = Adaptation.from_json(OLD | {"config": {}})
    assert replace(usual, **change).name != usual.name
    assert replace(usual, config=replace(usual.config, threads=1)).name == usual.name


def test_the_same_question_has_one_answer(population):
    first = pg.adapt(population, "broken-thigh", held_out=0)  # 20 episodes are usual
    again = pg.adapt(population, "broken-thigh", held_out=0, episodes=20, threads=1)
    assert again.name == first.name
    assert len(list((population.path / "adaptations").glob("broken-thigh*"))) == 1


def test_other_members_have_answers_of_their_own(population, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(population.path, copy)
    first = pg.adapt(pg.load(copy), DAMAGE, episodes=1, held_out=0)
    grown = pg.adapt(pg.extend(copy, pg.Extension(members=1)), DAMAGE, episodes=1, held_out=0)
    assert grown.weights[:3] == first.weights and grown.name != first.name
    assert (copy / "adaptations" / f"{first.name}.json").exists()


def test_chosen_by_progress_the_farthest_wins(population):
    usual = pg.adapt(population, DAMAGE, episodes=3, held_out=2, seed=5)
    farthest = pg.adapt(population, DAMAGE, episodes=3, held_out=2, seed=5, by="progress")
    assert farthest.returns.tolist() == usual.returns.tolist()
    assert farthest.progress.tolist() == usual.progress.tolist()
    assert usual.best == int(np.argmax(usual.returns.mean(axis=1)))
    assert farthest.best == int(np.argmax(farthest.progress.mean(axis=1)))
    assert farthest.name != usual.name
    assert usual.seconds == 8.0
    np.testing.assert_allclose(farthest.speed_of(1), farthest.progress[1].mean() / 8.0)
    np.testing.assert_allclose(farthest.held_out_speed, farthest.held_out_progress.mean() / 8.0)
    again = read_adaptation(population.path / "adaptations" / f"{farthest.name}.json")
    assert again.to_json() == farthest.to_json() and again.config.by == "progress"


def test_a_race_by_progress_has_nominal_speeds_as_its_prior(population):
    config = AdaptConfig("racing", trials=9, by="progress")
    speeds = [member.summary["nominal_speed"] for member in population.members]
    assert make_selector(config, population).nominal.tolist() == speeds
    old = make_selector(config, pg.load(TRAINED))  # 0.1 did not measure them
    assert old.nominal.tolist() == [0.0] * 5
    result = pg.adapt(population, DAMAGE, selector="racing", trials=9, by="progress", held_out=0)
    assert np.array_equal(np.isfinite(result.progress), np.isfinite(result.returns))


def test_where_nobody_tells_how_far_robots_come_progress_chooses_nobody(population, monkeypatch):
    blind = property(lambda task: np.full(task.num_envs, np.nan))
    monkeypatch.setattr("polygait.tasks.batched.BatchedTask.progress", blind)
    with pytest.raises(UserError, match="hopper does not tell how far its robot comes"):
        pg.adapt(population, DAMAGE, episodes=1, by="progress")
    result = pg.adapt(population, DAMAGE, episodes=1, held_out=1)
    assert np.isnan(result.progress).all() and np.isfinite(result.returns).all()
    again = read_adaptation(population.path / "adaptations" / f"{result.name}.json")
    assert np.isnan(again.progress).all() and math.isnan(again.held_out_speed)


def test_an_adaptation_that_0_1_kept_is_read(tmp_path):
    file = tmp_path / "broken-leg.racing.json"
    file.write_text(json.dumps(OLD))
    found = read_adaptation(file)
    assert found.best == 1 and found.selection_return == 3.0 and found.episodes_used == 3
    assert found.config.trials is None and found.weights == () and found.held_out_returns.tolist() == [5.0]
    assert found.config.by == "return" and found.progress.shape == (2, 2) and np.isnan(found.progress).all()
    assert math.isnan(found.speed_of(1)) and math.isnan(found.held_out_speed)


@pytest.mark.parametrize(
    "change",
    [
        {"returns": [[1.0], [2.0, 4.0]]},
        {"returns": [[1.0, 2.0], [None, None]]},
        {"returns": "many"},
        {"falls": [1]},
        {"progress": [[1.0], [2.0]]},
        {"held_out_progress": [1.0, 2.0]},
        {"config": {"by": "luck"}},
        {"weights": ["a"]},
        {"best": 2},
        {"config": {"selector": "luck"}},
        {"config": {"on": [1]}},
        {"config": None},
    ],
)
def test_what_is_no_adaptation_is_refused(change):
    with pytest.raises(ValueError, match="not an adaptation's answer"):
        Adaptation.from_json({**OLD, **change})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"episodes": 0}, "episodes must be at least 1"),
        ({"by": "metres"}, "by must be 'return' or 'progress', got 'metres'"),
        ({"seed": 2**32}, "seed must lie between 0"),
        ({"selector": "racing", "trials": 2}, "give trials=3 or more"),
        ({"selector": "racing", "trials": 0}, "trials must be at least 1"),
        ({"selector": "racing", "episodes": 5}, "or for racing trials and max_falls"),
        ({"trials": 9}, "trials belongs to informed and racing: give selector='informed' or"),
        ({"max_falls": 2}, "max_falls belongs to informed and racing"),
        ({"selector": "luck"}, "Unknown selector: 'luck'"),
        ({"held_out": -1}, "held_out must not be negative"),
        ({"episode": 3}, "Did you mean 'episodes'"),
        ({"on": "walker"}, "shows other state parts"),
        ({"on": "moon"}, "moon"),
    ],
)
def test_bad_wishes_are_explained(population, options, words):
    with pytest.raises(UserError, match=words):
        pg.adapt(population, DAMAGE, **options)


def test_an_unknown_condition_is_told_before_anything_runs(population, monkeypatch):
    monkeypatch.setattr("polygait.adaptation.simulator.run_members", None)
    with pytest.raises(UserError, match="Did you mean 'broken-leg'"):
        pg.adapt(population, "broken-log")


def test_on_another_task_with_the_same_layout(population):
    here = pg.adapt(population, DAMAGE, episodes=2, held_out=1)
    there = pg.adapt(population, DAMAGE, episodes=2, held_out=1, on="hopper")
    assert there.returns.tolist() == here.returns.tolist() and there.task == "hopper"
    assert there.name.startswith("hopper.broken-leg.exhaustive-") and f"{there.name}.json" in kept(population)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_compilation")
def test_a_population_of_one_simulator_is_adapted_in_another(tmp_path):
    pytest.importorskip("pybullet", exc_type=ImportError)
    population = tiny.train(tmp_path / "run", "task.max_episode_steps=30", task="minitaur", iterations=1)
    result = pg.adapt(population, "motor-failure", episodes=1, held_out=1, on="minitaur-bullet", threads=1)
    assert result.task == "minitaur-bullet" and np.isfinite(result.returns).all()
    there = task_factory(population, "minitaur-bullet", 1)(1)
    assert there.max_episode_steps == 30  # as at home
    here = pg.adapt(population, "motor-failure", episodes=1, held_out=1, threads=1)
    assert not np.array_equal(here.returns, result.returns)


def test_other_actions_are_refused(population, monkeypatch):
    from polygait.tasks.robots.hopper import Hopper

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


class Table:
    """Trials read from a table, with a fall wherever a return is negative."""

    def __init__(self, table: Sequence[Sequence[float]]) -> None:
        self._table = table
        self.num_members = len(table)

    def chosen_by(self, selector: Selector) -> Choice:
        loop = AskTell(selector, len(self._table))
        while wanted := loop.ask_all():
            for member in wanted:
                row = self._table[member]
                value = row[loop.record.counts[member] % len(row)]
                loop.tell(member, float(value), value < 0)
        self.returns, self.falls = loop.record.returns, loop.record.falls
        return loop.choose()


def race(table: Table, nominal: np.ndarray, budget: int, max_falls: int | None = None) -> Choice:
    return table.chosen_by(Racing(RacingConfig(budget, max_falls), nominal))


def exhaust(table: Table, episodes: int) -> Choice:
    return table.chosen_by(Exhaustive(ExhaustiveConfig(episodes), np.ones(table.num_members)))


def test_a_race_halves_and_spends_its_budget_on_the_best():
    table = Table([[1], [4], [2], [3]])
    assert race(table, np.ones(4), budget=16).best == 1
    assert np.isfinite(table.returns).sum(axis=1).tolist() == [2, 6, 2, 6]  # 8, then two racers share 8


def test_two_members_race_with_the_whole_budget():
    table = Table([[9, 9, 0, 0, 0], [5]])  # two trials each would choose the wrong one
    assert race(table, np.ones(2), budget=40).best == 1
    assert np.isfinite(table.returns).sum(axis=1).tolist() == [20, 20]


def test_what_fallen_racers_leave_goes_to_the_finalists():
    table = Table([[-1], [-1], [-1], [-1], [4], [3], [-1], [-1]])
    assert race(table, np.ones(8), budget=40, max_falls=1).best == 4
    assert np.isfinite(table.returns).sum(axis=1).tolist() == [1, 1, 1, 1, 17, 17, 1, 1]


def test_a_choice_that_is_clear_saves_the_rest_of_the_budget():
    table = Table([[-1], [2], [-1]])
    assert race(table, np.ones(3), budget=30, max_falls=2).best == 1
    assert np.isfinite(table.returns).sum(axis=1).tolist() == [2, 2, 2]
    alone = Table([[5.0]])
    assert race(alone, np.ones(1), budget=30).best == 0 and alone.returns.tolist() == [[5.0]]


def test_who_falls_too_often_is_tried_no_more():
    table = Table([[9, -1], [2], [-1, 50], [1]])
    choice = race(table, np.ones(4), budget=40, max_falls=1)
    assert choice.stopped == (0, 2) and choice.best == 1
    assert table.falls.tolist() == [1, 0, 1, 0]


def test_when_all_fall_the_best_of_them_is_still_named():
    choice = race(Table([[-3], [-1], [-2]]), np.ones(3), budget=30, max_falls=2)
    assert choice.stopped == (0, 1, 2) and choice.best == 1


def test_whom_the_last_trial_stopped_is_not_chosen():
    choice = race(Table([[-1], [-1], [-1]]), -np.ones(3), budget=5, max_falls=2)
    assert choice.stopped == (0, 1) and choice.best == 2


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
    if max_falls is None:
        assert len(table) == 1 or budget - tried.sum() < 2
    else:
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
