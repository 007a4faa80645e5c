"""An informed choice: whom to try after a bad trial, what it needs to know, and worlds nobody foresaw."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polygait as pg
from polygait.adaptation.knowledge import Matrix, read_matrix
from polygait.adaptation.loop import AskTell
from polygait.adaptation.selectors.informed import Informed, InformedConfig
from polygait.errors import UserError

TRAINED = Path(__file__).parent.parent / "data" / "hopper-dir"
LEGS = np.array(
    [
        [9.0, 9.0, 8.0, 8.0],
        [1.0, 1.0, 8.0, 7.5],
        [9.0, 8.5, 1.0, 1.0],
        [1.5, 0.5, 7.0, 8.0],
        [8.0, 9.0, 1.5, 0.5],
        [8.5, 9.0, 8.0, 7.5],
    ]
)
"""Two kinds of gaits, (world, member): the first two need the left leg, the others the right one."""


def informed(values: np.ndarray, trials: int = 10, max_falls: int | None = None) -> Informed:
    selector = Informed(InformedConfig(trials, max_falls), np.ones(values.shape[1]))
    selector.learn(Matrix(tuple(map(str, range(len(values)))), values, np.full(values.shape, 0.04)))
    return selector


def play(selector: Informed, robot: list[float]) -> tuple[list[int], int]:
    """Trials on a robot that never varies: who was tried, and who is chosen."""
    loop = AskTell(selector, len(robot))
    tried = []
    while (member := loop.ask()) is not None:
        loop.tell(member, robot[member], fell=robot[member] < 1)
        tried.append(member)
    return tried, loop.choose().best


def test_after_a_bad_trial_comes_one_that_does_well_where_this_one_fails():
    tried, best = play(informed(LEGS, trials=2), [1.0, 1.0, 7.5, 7.8])
    assert {one // 2 for one in tried} == {0, 1} or tried[0] in (2, 3)
    assert best in (2, 3)


def test_one_trial_tells_which_leg_is_broken():
    for robot, good in (([0.8, 1.2, 7.0, 7.4], (2, 3)), ([8.8, 8.5, 0.9, 1.1], (0, 1))):
        assert play(informed(LEGS, trials=1), robot)[1] in good


def test_a_world_like_none_that_is_known_is_found_out_by_trying():
    """Known worlds say that the last member is useless; here it alone works."""
    values = np.column_stack([LEGS, np.full(len(LEGS), 0.5) + 0.1 * np.arange(len(LEGS))])
    tried, best = play(informed(values, trials=10), [0.3, 0.2, 0.4, 0.3, 9.0])
    assert best == 4 and set(tried) == {0, 1, 2, 3, 4}


def test_without_a_likeness_the_best_nominal_member_comes_first():
    """Worlds that say nothing of each other leave what members do when nothing is wrong."""
    chance = np.random.default_rng(0)
    values = np.vstack([[1.0, 2.0, 9.0, 3.0], chance.normal(4, 2, (8, 4)) - [0, 0, 2, 0]])
    selector = Informed(InformedConfig(1), np.ones(4))
    selector.learn(Matrix(("nominal", *map(str, range(8))), values, np.full(values.shape, 0.04)))
    believed = selector.belief(AskTell(selector, 4).record)
    assert believed.mean.argmax() == 2 != values[1:].mean(axis=0).argmax()


def test_nobody_is_tried_twice_before_all_were_tried_once():
    tried, best = play(informed(LEGS, trials=6), [6.0, 8.0, 7.5, 7.8])
    assert sorted(tried[:4]) == [0, 1, 2, 3] and best == 1
    for budget in range(1, 5):
        assert len(set(play(informed(LEGS, trials=budget), [6.0, 8.0, 7.5, 7.8])[0])) == budget


def test_trials_outweigh_what_was_known_as_they_repeat():
    selector = informed(LEGS)
    loop = AskTell(selector, 4)
    believed = []
    for _ in range(6):
        loop.record.add(0, 5.0)
        believed.append(selector.belief(loop.record))
    assert abs(believed[-1].mean[0] - 5.0) < 0.2 < abs(believed[0].mean[2] - 5.0)
    assert believed[-1].std[0] < believed[0].std[0] and (believed[-1].std > 0).all()


def test_who_falls_too_often_is_tried_no_more():
    tried, best = play(informed(LEGS, max_falls=1), [0.5, 0.5, 0.5, 3.0])
    assert all(tried.count(member) <= 1 for member in (0, 1, 2)) and best == 3
    tried, best = play(informed(LEGS, max_falls=2), [0.1, 0.4, 0.2, 0.3])
    assert len(tried) == 8 and best == 1


def test_values_may_be_of_any_size():
    robot = [1.0, 1.0, 7.5, 7.8]
    usual = play(informed(LEGS, trials=4), robot)
    selector = Informed(InformedConfig(4), np.ones(4))
    selector.learn(Matrix(tuple("abcdef"), 1000 * LEGS - 50, np.full(LEGS.shape, 0.04e6)))
    assert play(selector, [1000 * one - 50 for one in robot]) == usual


def test_one_member_or_equal_worlds_are_no_harm():
    assert play(informed(LEGS[:, :1], trials=2), [3.0]) == ([0, 0], 0)
    assert play(informed(np.ones((4, 3)), trials=6), [1.0, 2.0, 1.0])[1] == 1


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(TRAINED, tmp_path / "hopper")


def measured(population: pg.Population, by: str = "returns", worlds: int = 4) -> Path:
    """An evaluation as the suite mesh leaves it, with what the selector reads of it."""
    rows = [
        {
            "member": member,
            "world": "" if world == 0 else f"gravity={world}",
            "weights": population.weights(member),
            by: [float(10 * world + member), float(10 * world + member + 2)],
        }
        for world in range(worlds)
        for member in range(len(population))
    ]
    path = population.path / "evaluations" / "mesh.parquet"
    path.parent.mkdir(exist_ok=True)
    pl.DataFrame(rows).write_parquet(path)
    return path


def test_a_matrix_is_read_from_the_evaluation(run):
    population = pg.load(run)
    path = measured(population)
    found = read_matrix(population, "mesh", "returns")
    assert found.worlds == ("nominal", "gravity=1", "gravity=2", "gravity=3")
    np.testing.assert_array_equal(found.mean[2], 21 + np.arange(5.0))
    np.testing.assert_array_equal(found.variance, np.full((4, 5), 2.0))
    frame = pl.read_parquet(path)  # of another member of that number, and of a world that lacks one
    other = frame.with_columns(weights=pl.lit("other"), returns=pl.lit([99.0]))
    lacking = frame.filter(pl.col("member") < 3).with_columns(world=pl.lit("delay=2"))
    pl.concat([frame, other, lacking], how="vertical_relaxed").write_parquet(path)
    assert read_matrix(population, "mesh", "returns").mean.tolist() == found.mean.tolist()


def test_without_a_matrix_it_says_how_to_make_one(run):
    population = pg.load(run)
    with pytest.raises(UserError, match=r"polygait evaluate .*hopper --suite mesh"):
        pg.adapt(population, "broken-leg", selector="informed")
    measured(population, worlds=2)
    with pytest.raises(UserError, match="holds 2 worlds"):
        pg.adapt(population, "broken-leg", selector="informed")
    measured(population)
    with pytest.raises(UserError, match="no column 'progress'"):
        pg.Trials(population, settings=("by=progress",))
    (population.path / "evaluations" / "mesh.parquet").write_bytes(b"rubbish")
    with pytest.raises(UserError, match="cannot be read"):
        pg.adapt(population, "broken-leg", selector="informed")


def test_adapt_and_trials_take_it_by_name(run):
    population = pg.load(run)
    measured(population)
    result = pg.adapt(population, "broken-leg", selector="informed", trials=4, held_out=0)
    assert result.episodes_used == 4 and result.config.trials == 4
    measured(population, "progress")
    trials = pg.Trials(population, settings=("by=progress",), budget=3)
    member = trials.ask()
    assert member is not None and trials.report()["expected"].is_finite().all()
    trials.tell(member, 12.0)
    assert len(pg.Trials(population).told) == 1
