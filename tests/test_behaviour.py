"""What members do: scores from the population's own actions, feet against a plain loop, and the command."""

import dataclasses
import json
import math
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygait as pg
from polygait import cli
from polygait.behaviour import contact_shares, mean_actions, measure_behaviour, random_states
from polygait.console import print_behaviour
from polygait.episodes import episode_seeds
from polygait.errors import UserError
from polygait.storage.strict_json import to_plain

WALKER = Path(__file__).parent / "data" / "walker-dir"


def two_walkers(limit: int = 60) -> pg.Population:
    """Two trained members, in short episodes."""
    population = pg.load(WALKER)
    del population.members[2:]
    population.config = dataclasses.replace(population.config, task_options={"max_episode_steps": limit})
    return population


@pytest.fixture(scope="module")
def population():
    return two_walkers()


def plain_pattern(population: pg.Population, member: int, seed: int, variation: str | None) -> np.ndarray:
    """One episode of one member in a task of its own, its feet read after every step."""
    task = population.make_task(1, variation=variation)
    observation = task.reset(seeds=[seed])
    rows = []
    while True:
        step = task.step(population.act(observation, member))
        rows.append(task.foot_contacts()[0])
        observation = step.observation
        if step.terminated[0] or step.truncated[0]:
            return np.array(rows)


def test_the_score_from_members_actions_one_by_one(population):
    states = random_states(population, 30, seed=4)
    actions = [[population.act(state, member)[0] for state in states] for member in range(2)]
    gaps = np.subtract(*np.array(actions, dtype=float)).ravel()
    alike, other = len(gaps) / 2, sum(math.exp(-(gap**2)) for gap in gaps) / 2
    expected = math.log(alike**2 - other**2)
    assert pg.diversity_score(population, states=30, seed=4) == pytest.approx(expected, rel=1e-9)
    other = math.exp(-np.mean(gaps**2))
    rbf = pg.diversity_score(population, states=30, seed=4, form="rbf")
    assert rbf == pytest.approx(math.log(1 - other**2), rel=1e-9)


def test_random_states_are_those_of_whole_episodes_one_after_another(population):
    states = random_states(population, 60, seed=2)
    task = population.make_task(1, seed=2)
    chance = np.random.default_rng(2)
    observation, ends = task.reset(), 0
    for state in states:
        np.testing.assert_array_equal(state, observation[0])
        step = task.step(chance.uniform(-1, 1, (1, task.action_size)))
        observation = step.observation
        if step.terminated[0] or step.truncated[0]:
            observation, ends = task.reset(), ends + 1
    assert ends >= 1
    np.testing.assert_array_equal(random_states(population, 20, seed=2), states[:20])
    assert not np.array_equal(random_states(population, 20, seed=3), states[:20])


def test_a_repeated_member_makes_the_score_minus_infinity():
    twins = two_walkers()
    twins.members.append(pg.load(WALKER).members[0])
    assert pg.diversity_score(twins, states=20) == -math.inf
    assert pg.diversity_score(twins, states=20, form="rbf") == -math.inf


@pytest.mark.parametrize("variation", [None, "broken-foot"])
def test_a_contact_pattern_is_that_of_a_plain_loop(population, variation):
    found = pg.contact_pattern(population, member=1, variation=variation, seed=6)
    seed = episode_seeds(6, 3, 1)[0]
    np.testing.assert_array_equal(found.down, plain_pattern(population, 1, seed, variation))
    assert found.feet == ("right", "left")
    assert found.time_step == pytest.approx(0.008)
    assert found.down.any() and not found.down.all()


def test_shares_are_the_means_of_patterns(population):
    shares = pg.contact_shares(population, episodes=3, seed=6)
    assert shares.down.shape == (2, 3, 2)
    for member in range(2):
        for episode, seed in enumerate(episode_seeds(6, 3, 3)):
            down = plain_pattern(population, member, seed, None)
            np.testing.assert_allclose(shares.down[member, episode], down.mean(axis=0))
            np.testing.assert_allclose(shares.none_down[member, episode], np.mean(down.sum(axis=1) == 0))
            np.testing.assert_allclose(shares.all_down[member, episode], np.mean(down.sum(axis=1) == 2))
    told = shares.to_json()
    np.testing.assert_allclose(told["feet"]["left"]["mean"], shares.down[:, :, 1].mean(axis=1))
    np.testing.assert_allclose(told["all_down"]["std"], shares.all_down.std(axis=1))


def test_a_trained_walker_stands_on_different_feet():
    """docs/results.md: member 0 stands more on its right foot, member 1 on its left, in every episode."""
    shares = contact_shares(two_walkers(limit=500), episodes=2)
    right, left = shares.down[0].T
    assert (right > left + 0.1).all()
    right, left = shares.down[1].T
    assert (left > right + 0.1).all()


def test_trained_members_act_differently():
    population = pg.load(WALKER)
    ceiling = 5 * math.log(1000 * 6)
    assert 0.85 * ceiling < pg.diversity_score(population) < ceiling
    actions = mean_actions(population, random_states(population, 100))
    assert actions.shape == (5, 100, 6) and np.abs(actions).max() <= 1


def test_a_step_in_which_physics_breaks_down_shows_no_feet(population, monkeypatch):
    from polygait.tasks.mujoco import MujocoTask

    step, taken = MujocoTask.step, []

    def break_at_third(self: Any, actions: np.ndarray) -> Any:
        taken.append(1)
        if len(taken) == 3:
            self.physics.qvel[:] = np.nan
        return step(self, actions)

    monkeypatch.setattr(MujocoTask, "step", break_at_third)
    assert len(pg.contact_pattern(population).down) == 2


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda one: pg.diversity_score(one, states=0), "states must be at least 1"),
        (lambda one: pg.diversity_score(one, form="papers"), "Did you mean 'paper'"),
        (lambda one: pg.contact_pattern(one, member=2), "members 0 to 1"),
        (lambda one: pg.contact_pattern(one, variation="broken-fot"), "broken-foot"),
        (lambda one: pg.contact_shares(one, episodes=0), "episodes must be at least 1"),
        (lambda one: measure_behaviour(one, states=0, episodes=-1), "states .*\n?episodes"),
        (lambda one: measure_behaviour(one, state=5), "Did you mean 'states'"),
    ],
)
def test_bad_wishes_are_explained(population, ask, words):
    with pytest.raises(UserError, match=words):
        ask(population)


def test_without_feet_or_company_the_rest_is_still_told(tmp_path, monkeypatch):
    footless = two_walkers()
    footless.path = tmp_path
    del footless.members[1]
    monkeypatch.setattr("polygait.tasks.robots.walker.Walker.feet", {})
    for ask in (pg.contact_pattern, pg.contact_shares):
        with pytest.raises(UserError, match="names no feet"):
            ask(footless)
    result = measure_behaviour(footless, states=40)
    assert result.contacts is None and not result.information and not result.variance
    assert result.score["paper"] == pytest.approx(math.log(20 * 6)) == result.ceiling["paper"]
    assert result.score["rbf"] == 0


def test_the_command_line_tells_and_keeps_everything(tmp_path, monkeypatch, capsys):
    run = tmp_path / "walker"
    shutil.copytree(WALKER, run)
    monkeypatch.setattr("polygait.tasks.robots.walker.Walker.max_episode_steps", 12)
    monkeypatch.setattr("polygait.information.LEAST_EPISODES", 12)
    monkeypatch.setattr("polygait.diversity.information.EPOCHS", 2)
    monkeypatch.setattr("polygait.diversity.information.HIDDEN", (8,))
    options = {"states": 25, "episodes": 2, "transitions": 100, "seed": 5, "threads": 1}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    monkeypatch.setattr("sys.argv", ["polygait", "behaviour", str(run), *words, "--json"])
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)  # put back after the test
    cli.main()
    answer = json.loads(capsys.readouterr().out)
    (kept,) = (run / "behaviour").glob("seed=5-*.json")
    assert answer == json.loads(kept.read_text())
    removed = answer["removed_by_filter"]
    assert removed["right_leg"] == 1 and removed["left_leg"] == 0 == removed["torso.velocity.x"]

    told: list[str] = []

    def report(noun: str) -> Any:
        told.append(noun)
        return lambda done, total: None

    population = pg.load(run)
    result = measure_behaviour(population, report, **options)
    assert told == ["episodes on foot", "transitions", "classifiers"]
    assert to_plain(result.to_json()) == answer
    assert set(result.information) == {"identity", "own", "nothing"}
    assert set(result.variance) == set(population.layout.parts)
    print_behaviour(result, population)
    shown = capsys.readouterr().out
    for word in ("Diversity score (paper)", "right", "left", "removed", "the run's filter", "±"):
        assert word in shown
