"""Information and variance over a population's own experience."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

import polygait as pg
from polygait import information
from polygait.diversity.information import PARTS
from polygait.errors import UserError
from polygait.information import LEAST_EPISODES, gather_experience, information_in, shares_in

WALKER = Path(__file__).parent / "data" / "walker-dir"
FEW = 600


def two_walkers() -> pg.Population:
    """Two trained members, in short episodes."""
    population = pg.load(WALKER)
    del population.members[2:]
    population.config = dataclasses.replace(population.config, task_options={"max_episode_steps": 15})
    return population


@pytest.fixture(autouse=True)
def small_classifiers(monkeypatch):
    """What they find is looked at elsewhere."""
    monkeypatch.setattr("polygait.diversity.information.HIDDEN", (16,))
    monkeypatch.setattr("polygait.diversity.information.EPOCHS", 4)


@pytest.fixture(scope="module")
def population():
    return two_walkers()


@pytest.fixture(scope="module")
def experience(population):
    return gather_experience(population, FEW, seed=3)


def test_experience_is_that_of_a_plain_loop_with_noise(population, experience):
    """The second episode of the second member, written out."""
    member, episode = 1, 1
    seed = int(np.random.SeedSequence([3, 2, 1]).generate_state(2, np.uint64)[episode])
    actor = population.actor([member], 1)
    task = population.make_task(1)
    key, counter = np.array([seed, member], np.uint64), np.array([0, 0, 2**33, 0], np.uint64)
    noise = np.random.Generator(np.random.Philox(key=key, counter=counter)).standard_normal(
        (task.max_episode_steps, task.action_size), dtype=np.float32
    )
    observation = task.reset(seeds=[seed])
    rows = np.flatnonzero((experience.member == member) & (experience.episode == episode))
    for time, row in enumerate(rows):
        mean = actor.mean(observation[None].astype(np.float32))[0]
        action = np.clip(mean + population.config.learner.action_std * noise[time], -1, 1)
        step = task.step(action)
        np.testing.assert_array_equal(experience.state[row], observation[0].astype(np.float32))
        np.testing.assert_array_equal(experience.next_state[row], step.observation[0].astype(np.float32))
        np.testing.assert_array_equal(experience.action[row], action[0])
        observation = step.observation
        assert (step.terminated[0] or step.truncated[0]) == (time == len(rows) - 1)
    assert np.abs(experience.action).max() == 1  # the noise leaves the box, and is cut


def test_every_member_makes_enough_transitions_in_enough_episodes(population, experience):
    for member in range(2):
        own = experience.member == member
        assert own.sum() >= FEW
        assert len(np.unique(experience.episode[own])) >= LEAST_EPISODES
    short = gather_experience(population, 1, seed=3)
    assert np.unique(short.episode).tolist() == list(range(LEAST_EPISODES))
    begin = np.flatnonzero((experience.member == 0) & (experience.episode < LEAST_EPISODES))
    np.testing.assert_array_equal(  # more experience begins with the same episodes
        np.sort(experience.state[begin, 0]), np.sort(short.state[short.member == 0, 0])
    )


def test_progress_ends_where_it_should(population):
    told: list[tuple[int, int]] = []
    gather_experience(population, FEW, report=lambda *counts: told.append(counts))
    assert told == sorted(told) and told[-1] == (2 * FEW, 2 * FEW)


def test_information_under_the_standard_filters(population, experience):
    found = pg.conditional_information(population, transitions=FEW, seed=3)
    assert list(found) == ["identity", "own", "nothing"]
    assert found["nothing"].entropy_without == pytest.approx(math.log(2))
    for one in found.values():
        assert one.value <= min(one.entropy_without, math.log(2)) and one.standard_error > 0
    assert found == information_in(experience, information.standard_filters(population), seed=3)
    only = {"height": pg.StateFilter.keep(population.layout, ["torso.position"])}
    assert list(pg.conditional_information(population, only, FEW)) == ["height"]


def test_copies_of_one_member_share_everything():
    """The same brain twice: nothing to tell, and no variance between the two beyond chance."""
    twins = two_walkers()
    twins.members[1] = twins.members[0]
    together = gather_experience(twins, FEW)
    for share in shares_in(together, twins).values():
        assert share < 0.05
    for name, one in information_in(together, information.standard_filters(twins)).items():
        assert one.value < 0.05 + 3 * one.standard_error, name


def test_shares_of_parts_are_means_over_their_numbers(population, experience):
    shares = pg.variance_shares(population, FEW, seed=3)
    layout = population.layout
    assert list(shares) == list(layout.parts)
    for part, places in layout.parts.items():
        mean = np.mean([shares[layout.names[place]] for place in places])
        assert shares[part] == pytest.approx(mean) and 0 <= shares[part] <= 1
    number = layout.names.index("left_leg.position.foot")
    means = [experience.state[experience.member == one, number].mean(dtype=float) for one in (0, 1)]
    spreads = [experience.state[experience.member == one, number].var(dtype=float) for one in (0, 1)]
    expected = np.var(means) / (np.var(means) + np.mean(spreads))
    assert shares["left_leg.position.foot"] == pytest.approx(expected)


def test_a_number_that_never_varies_is_left_out(population, experience):
    dull = experience._replace(state=experience.state.copy())
    leg = population.layout.parts["left_leg.position"]
    dull.state[:, leg[0]] = 4.0
    shares = shares_in(dull, population)
    assert math.isnan(shares[population.layout.names[leg[0]]])
    rest = [shares[population.layout.names[place]] for place in leg[1:]]
    assert shares["left_leg.position"] == pytest.approx(np.mean(rest))


def test_one_member_has_nobody_to_differ_from():
    alone = two_walkers()
    del alone.members[1]
    for measure in (pg.conditional_information, pg.variance_shares):
        with pytest.raises(UserError, match="one member"):
            measure(alone)


def test_bad_counts_are_explained(population):
    with pytest.raises(UserError, match="transitions must be at least 1"):
        pg.variance_shares(population, transitions=0)


def test_held_out_episodes_are_many_enough():
    assert LEAST_EPISODES % len(PARTS) == 0


@pytest.mark.slow
def test_less_is_left_to_tell_the_more_the_filter_keeps(monkeypatch):
    """The paper's claim about its filters, on a trained population: identity < its own filter < nothing."""
    monkeypatch.undo()  # classifiers of full size
    population = pg.load(WALKER)
    found = pg.conditional_information(population)
    identity, own, nothing = (found[name] for name in ("identity", "own", "nothing"))
    assert abs(identity.value) < 0.05 < own.value < 0.2 and 0.5 < nothing.value < math.log(5)
    assert identity.entropy_without < own.entropy_without < nothing.entropy_without
    for one in (identity, own, nothing):
        assert one.standard_error < 0.02
