"""Every member in every condition: kept on disk, continued, and summed up."""

import itertools
import json

import numpy as np
import polars as pl
import pytest

import polygait as pg
from polygait import evaluation
from polygait.adaptation import adapt
from polygait.errors import UserError
from polygait.evaluation import SCHEMA, Plan, percentile_performance, read_rows
from polygait.tasks.robots.hopper import Hopper
from tests import tiny


@pytest.fixture
def population(tmp_path):
    return tiny.train(tmp_path / "hopper", method="multi", members=2, iterations=1)


def count_jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many episodes each later call runs."""
    run, counts = evaluation.run_members, []

    def counted(population, jobs, make, watch):
        counts.append(len(jobs))
        return run(population, jobs, make, watch)

    monkeypatch.setattr(evaluation, "run_members", counted)
    return counts


def test_one_row_per_member_and_condition_as_adaptation_sees_it(population):
    frame = pg.evaluate(population, suite="damage", episodes=3, seed=4)
    assert frame.height == 2 * 4
    adapted = adapt(population, "broken-foot", episodes=3, seed=4, held_out=0)
    rows = frame.filter(pl.col("condition") == "broken-foot").sort("member")
    assert rows["returns"].to_list() == adapted.returns.tolist()
    assert rows["mean_return"].to_list() == adapted.returns.mean(axis=1).tolist()
    np.testing.assert_allclose(rows["falls"], adapted.falls / 3)
    kept = pl.read_parquet(population.path / "evaluations" / "damage.parquet")
    assert kept.sort("member", "variation").equals(frame.sort("member", "variation"))
    table = pl.read_csv(population.path / "evaluations" / "damage.csv")
    np.testing.assert_allclose(table["mean_return"], kept["mean_return"])


def test_an_interrupted_evaluation_goes_on(population, monkeypatch):
    expected = pg.evaluate(population, suite="damage", episodes=2, seed=9)
    for file in (population.path / "evaluations").glob("damage.*"):
        file.unlink()
    counts = count_jobs(monkeypatch)
    monkeypatch.setattr(evaluation, "CHUNK_EPISODES", 6)
    told = itertools.count()

    def stop(done: int, total: int) -> None:
        if done >= 8 and next(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pg.evaluate(population, stop, suite="damage", episodes=2, seed=9)
    assert counts == [6, 6]  # the second was not finished
    counts.clear()
    frame = pg.evaluate(population, suite="damage", episodes=2, seed=9)
    assert counts == [6, 4]
    assert frame.equals(expected)
    counts.clear()
    assert pg.evaluate(population, suite="damage", episodes=2, seed=9).equals(expected) and not counts


def test_other_wishes_and_new_members_are_run_and_the_rest_is_read(population, monkeypatch):
    counts = count_jobs(monkeypatch)
    pg.evaluate(population, suite="nominal", episodes=2)
    pg.evaluate(population, suite="nominal", episodes=2, seed=1)
    pg.evaluate(population, suite="nominal", episodes=3)
    grown = pg.extend(population.path, pg.Extension(members=1))
    frame = pg.evaluate(grown, suite="nominal", episodes=2)
    assert counts == [4, 4, 6, 2] and frame["member"].to_list() == [0, 1, 2]


def settings(file):
    """The episodes and seeds that a file of results holds, each with as many rows."""
    return sorted(pl.read_parquet(file).group_by("episodes", "seed").len().rows())


def test_results_of_other_settings_that_come_meanwhile_stay(population, monkeypatch):
    run, others = evaluation.run_members, [(2, 7), (3, 0)]

    def overtaken(*arguments):
        if others:
            episodes, seed = others.pop()
            pg.evaluate(population, suite="nominal", episodes=episodes, seed=seed)
        return run(*arguments)

    monkeypatch.setattr(evaluation, "run_members", overtaken)
    frame = pg.evaluate(population, suite="nominal", episodes=2)
    assert frame["seed"].to_list() == [0, 0]
    folder = population.path / "evaluations"
    assert settings(folder / "nominal.parquet") == [(2, 0, 2), (2, 7, 2), (3, 0, 2)]
    assert pl.read_csv(folder / "nominal.csv").height == 6


@pytest.mark.slow
def test_five_processes_measure_one_suite_at_once(population):
    terminal = tiny.Terminal()
    words = ("evaluate", population.path, "--suite", "nominal", "--episodes", 2, "--seed")
    try:
        children = [terminal.start(*words, seed) for seed in range(5)]
        for child in children:
            assert "nominal" in child.communicate(timeout=300)[0] and child.returncode == 0
    finally:
        terminal.close()
    kept = population.path / "evaluations" / "nominal.parquet"
    assert settings(kept) == [(2, seed, 2) for seed in range(5)]


def test_a_folder_that_cannot_be_made_is_told_before_any_episode(population, monkeypatch):
    counts = count_jobs(monkeypatch)
    (population.path / "evaluations").write_text("in the way")
    with pytest.raises(UserError, match=r"Cannot write .*evaluations"):
        pg.evaluate(population, suite="nominal", episodes=2)
    assert not counts


def test_a_damaged_file_of_results_is_made_anew(population):
    expected = pg.evaluate(population, suite="nominal", episodes=2)
    (population.path / "evaluations" / "nominal.parquet").write_bytes(b"PAR1 but not really")
    assert pg.evaluate(population, suite="nominal", episodes=2).equals(expected)


def test_how_far_members_came_is_kept_beside_what_they_earned(population):
    frame = pg.evaluate(population, suite="nominal", episodes=2)
    adapted = adapt(population, episodes=2, held_out=0)
    assert frame["progress"].to_list() == adapted.progress.tolist()
    assert frame["seconds"].to_list() == [8.0, 8.0]  # 1000 steps of 8 ms
    np.testing.assert_allclose(frame["mean_progress"], adapted.progress.mean(axis=1))
    np.testing.assert_allclose(frame["mean_speed"], frame["mean_progress"] / 8.0)
    assert (frame["mean_progress"].abs() > 0).all()
    table = pl.read_csv(population.path / "evaluations" / "nominal.csv")
    np.testing.assert_allclose(table["mean_speed"], frame["mean_speed"])


def test_results_of_0_1_are_read_and_measured_once_more_for_progress(population, monkeypatch):
    expected = pg.evaluate(population, suite="nominal", episodes=2)
    file = population.path / "evaluations" / "nominal.parquet"
    old = expected.drop("mean_progress", "mean_speed", "seconds", "progress", "on", "robot")
    assert len(old.columns) == len(SCHEMA) - 6
    old.write_parquet(file)
    read = read_rows(file.read_bytes())
    assert read["progress"].null_count() == 2
    assert read.select(old.columns).equals(old)
    counts = count_jobs(monkeypatch)
    assert pg.evaluate(population, suite="nominal", episodes=2).equals(expected) and counts == [4]
    old.drop("world").write_parquet(file)
    with pytest.raises(UserError, match="not those of an evaluation"):
        read_rows(file.read_bytes())


def test_a_condition_that_now_means_something_else_is_measured_anew(population, monkeypatch):
    counts = count_jobs(monkeypatch)
    before = pg.evaluate(population, suite="damage", episodes=2)
    monkeypatch.setitem(Hopper.conditions, "broken-foot", "broken(foot_joint,leg_joint)")
    after = pg.evaluate(population, suite="damage", episodes=2)
    assert counts == [16, 4]
    changed = after.filter(condition="broken-foot")
    assert changed["variation"].unique().to_list() == ["broken-foot"]
    assert changed["world"].unique().to_list() == ["broken(foot_joint,leg_joint)"]
    assert not changed.equals(before.filter(condition="broken-foot"))


def test_a_plan_is_announced_first(population, monkeypatch):
    plans: list[Plan] = []
    pg.evaluate(population, announce=plans.append, suite="damage", episodes=2)
    pg.evaluate(population, announce=plans.append, suite="damage", episodes=2)
    assert [plan.conditions for plan in plans] == [4, 4]
    assert [plan.episodes for plan in plans] == [16, 0]
    assert plans[0].most_steps == 16_000 and plans[0].seconds > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"episodes": 0}, "episodes must be at least 1"),
        ({"seed": -1}, "seed must lie between 0"),
        ({"suite": "damages"}, "Did you mean 'damage'"),
        ({"on": "walker"}, "other state parts"),
        ({"sweet": "paper"}, "sweet"),
    ],
)
def test_bad_wishes_are_explained(population, options, words):
    with pytest.raises(UserError, match=words):
        pg.evaluate(population, **options)


def test_an_unknown_condition_in_a_file_is_told_before_anything_runs(population, tmp_path, monkeypatch):
    counts = count_jobs(monkeypatch)
    file = tmp_path / "mine.toml"
    file.write_text('variations = ["broken-foot", "broken-log"]')
    with pytest.raises(UserError, match="broken-log"):
        pg.evaluate(population, suite=str(file))
    assert not counts


@pytest.mark.slow
def test_the_command_line_adapts_and_evaluates(population, tmp_path):
    terminal = tiny.Terminal()
    try:
        adapted = terminal.run(
            "adapt", population.path, "--variation", "broken-leg", "--episodes", 2, "--held-out", 2, "--json"
        )
        answer = json.loads(adapted.stdout)
        expected = adapt(population, "broken-leg", episodes=2, held_out=2)
        assert answer["best"] == expected.best and answer["held_out_return"] == expected.held_out_return
        shown = terminal.run("adapt", population.path, "--variation", "broken-leg", "--selector", "racing")
        assert "chosen" in shown.stdout and "fresh episodes" in shown.stdout
        table = terminal.run("evaluate", population.path, "--suite", "damage", "--episodes", 1)
        assert "broken-foot" in table.stdout and "8 episodes to run" in table.stderr
        wrong = terminal.run("evaluate", population.path, "--suite", "damages")
        assert wrong.returncode == 2 and "Did you mean" in wrong.stderr and "Traceback" not in wrong.stderr
    finally:
        terminal.close()


def test_percentiles_go_from_the_worst_to_the_best():
    found = percentile_performance(np.array([30.0, 10.0, 20.0]), [0.0, 25.0, 50.0, 100.0])
    np.testing.assert_allclose(found, [10, 15, 20, 30])
