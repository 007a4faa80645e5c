"""The estimate of I(a; z | f, f′) where the truth can be integrated, and how experience is shared out."""

import math

import numpy as np
import pytest
from scipy import integrate

from polygait.diversity import information
from polygait.diversity.information import (
    Information,
    MemberTransitions,
    estimate_information,
    split_by_episode,
)
from polygait.tasks.state import StateFilter, StateLayout

pytestmark = pytest.mark.usefixtures("quick_compilation")

LAYOUT = StateLayout(("body.position", "body.noise"))
EVERYTHING = StateFilter.identity(LAYOUT)
NOISE = StateFilter.keep(LAYOUT, ["body.noise"])
NOTHING = StateFilter.nothing(LAYOUT)
STEPS = 25


@pytest.fixture(autouse=True)
def small_classifiers(monkeypatch):
    """A toy needs no more."""
    monkeypatch.setattr(information, "HIDDEN", (32, 32))
    monkeypatch.setattr(information, "EPOCHS", 10)


def gaussian(value: float, mean: float, std: float) -> float:
    return math.exp(-(((value - mean) / std) ** 2) / 2) / (std * math.sqrt(2 * math.pi))


def mutual_information(means: list[float], std: float) -> float:
    """I(x; z) for z uniform over the means and x Gaussian around its own, by numerical integration."""

    def integrand(x: float) -> float:
        each = [gaussian(x, mean, std) for mean in means]
        mixture = sum(each) / len(each)
        return sum(one * math.log(one / mixture) for one in each if one > 0) / len(each)

    return integrate.quad(integrand, min(means) - 12 * std, max(means) + 12 * std, limit=200)[0]


def toy(means: list[float], blur: float, episodes: int = 240, seed: int = 0) -> MemberTransitions:
    """Member z acts around its own mean; s′ = s + a + blur·noise, beside a number that is all noise."""
    chance = np.random.default_rng(seed)
    members = len(means)
    member, episode = (one.ravel() for one in np.indices((members, episodes * STEPS)))
    episode = episode // STEPS
    action = chance.normal(np.array(means)[member], 1.0)
    start = chance.normal(size=len(member))
    moved = start + action + blur * chance.normal(size=len(member))
    state = np.stack([start, chance.normal(size=len(member))], axis=1)
    next_state = np.stack([moved, chance.normal(size=len(member))], axis=1)
    return MemberTransitions(state, next_state, action[:, None], member, episode)


def estimate(transitions: MemberTransitions, filters: dict[str, StateFilter]) -> dict[str, Information]:
    return estimate_information(split_by_episode(transitions), filters)


@pytest.mark.parametrize("means", [[-0.8, 0.8], [0.0, 1.0, 3.0]])
def test_what_an_action_tells_is_what_integration_says(means):
    """With a noisy body I(a; z | s, s′) = I(a; z) − I(a + noise; z), since z → a → s′."""
    blur = 1.5
    filters = {"everything": EVERYTHING, "noise": NOISE, "nothing": NOTHING}
    found = estimate(toy(means, blur), filters)
    alone = mutual_information(means, 1.0)
    blurred = mutual_information(means, math.hypot(1.0, blur))
    truth = {"everything": alone - blurred, "noise": alone, "nothing": alone}
    assert truth["everything"] > 0.05  # something is left to be found
    for name, expected in truth.items():
        one = found[name]
        assert one.value == pytest.approx(expected, abs=0.01 + 3 * one.standard_error), name
        assert one.value == pytest.approx(one.entropy_without - one.entropy_with)
        assert one.value <= math.log(len(means))
        assert 0 < one.standard_error < 0.02
    assert found["nothing"].entropy_without == pytest.approx(math.log(len(means)))
    assert found["everything"].entropy_without == pytest.approx(math.log(len(means)) - blurred, abs=0.03)


def test_states_that_reveal_the_action_leave_it_nothing_to_tell():
    found = estimate(toy([-1.0, 1.0], blur=0.0), {"everything": EVERYTHING, "noise": NOISE})
    assert abs(found["everything"].value) < 0.01
    assert found["noise"].value > 0.25


def test_members_that_act_alike_cannot_be_told_apart():
    for one in estimate(toy([0.3, 0.3], 0.5), {"everything": EVERYTHING, "nothing": NOTHING}).values():
        assert abs(one.value) < 0.01
        assert one.entropy_without == pytest.approx(math.log(2), abs=0.01)


def test_little_experience_is_not_learnt_by_heart():
    """Six episodes each, 40 numbers of noise: a network could remember them all."""
    chance = np.random.default_rng(3)
    layout = StateLayout.numbered(40)
    few = toy([0.3, 0.3], 0.5, episodes=6)
    state, next_state = chance.normal(size=(2, len(few.state), 40))
    found = estimate(few._replace(state=state, next_state=next_state), {"all": StateFilter.identity(layout)})
    assert abs(found["all"].value) < 0.05 and found["all"].entropy_without < math.log(2) + 0.05


def test_certain_members_reach_the_ceiling():
    found = estimate(toy([-8.0, 0.0, 8.0], 0.0), {"nothing": NOTHING})["nothing"]
    assert found.value == pytest.approx(math.log(3), abs=0.01)


def test_equal_filters_are_fitted_once_and_the_seed_decides():
    given = split_by_episode(toy([-1.0, 1.0], 1.0))
    told: list[tuple[int, int]] = []
    filters = {"one": NOISE, "again": NOISE, "nothing": NOTHING}
    first = estimate_information(given, filters, report=lambda *counts: told.append(counts))
    assert first["one"] == first["again"] != first["nothing"]
    assert told == [(done, 4) for done in range(5)]
    assert estimate_information(given, filters) == first
    assert estimate_information(given, filters, seed=1)["one"] != first["one"]


def test_the_standard_error_counts_episodes_not_steps():
    """Gains that are equal within an episode: the units drawn are the episodes."""
    from polygait.diversity.information import _information

    episode = np.tile(np.repeat([0, 1], 50), 2)
    member = np.repeat([0, 1], 100)
    gain = np.where(episode == 1, 1.0, 0.0) * (1 + member)  # episode means 0, 1 and 0, 2
    blank = np.zeros((200, 1))
    held_out = MemberTransitions(blank, blank, blank, member, episode)
    found = _information(held_out, np.full(200, -2.0), gain - 2.0)
    assert found.value == pytest.approx(0.75)
    # The variance of the mean of {0, 1} is 1/4, of {0, 2} is 1; their average has (1/4 + 1)/4.
    assert found.standard_error == pytest.approx(math.sqrt(1.25 / 4))
    assert (found.entropy_without, found.entropy_with) == pytest.approx((2.0, 1.25))


def test_episodes_are_shared_out_whole_and_members_equally():
    chance = np.random.default_rng(5)
    lengths = [(member, episode, int(chance.integers(1, 9))) for member in (0, 1, 2) for episode in range(60)]
    member, episode = np.array([(one, two) for one, two, count in lengths for _ in range(count)]).T
    number = np.arange(len(member), dtype=float)[:, None]
    split = split_by_episode(MemberTransitions(number, number + 0.5, -number, member, episode))
    seen = [{(*pair,) for pair in zip(part.member, part.episode, strict=True)} for part in split]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]
    for part in split:
        counts = np.bincount(part.member)
        assert (counts == counts[0]).all() and counts[0] > 0
        np.testing.assert_array_equal(part.next_state, part.state + 0.5)  # rows stay together
        np.testing.assert_array_equal(part.action, -part.state)
        np.testing.assert_array_equal(member[part.state[:, 0].astype(int)], part.member)
        assert len(np.unique(part.state)) == len(part.state)
    assert len(split.training.state) > len(split.held_out.state) > len(split.validation.state)
