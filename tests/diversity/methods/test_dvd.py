"""DvD's reward by hand: nothing for members that act alike, more for those that do not, within its bounds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.diversity.rollouts import LAYOUT, cohort_rollout, keys

from polygait.diversity.method import Setting
from polygait.diversity.methods.dvd import Dvd, DvdConfig, determinant, exponential, pairwise
from polygait.tasks.state import StateFilter

TIME, ENVS = 3, 2
FORMS = ("pairwise", "determinant")
RIDGE = 0.05
EVERYTHING = StateFilter.identity(LAYOUT)


def acting(means, noise=0.0, seed=0):
    """Members that always mean the same action and do it, but for some noise."""
    means = np.atleast_2d(np.asarray(means, float))
    members, size = means.shape
    chance = np.random.default_rng(seed)
    action = means[None, :, None] + noise * chance.normal(size=(TIME, members, ENVS, size))
    states = chance.normal(size=(TIME, members, ENVS, 5))
    return cohort_rollout(states, action, states, means)


def reward(rollout, **options):
    method = Dvd(DvdConfig(**options), EVERYTHING)
    members, size = rollout.action.shape[1], rollout.action.shape[-1]
    state = method.init(keys(), Setting(size, members), [])
    return method.intrinsic_reward(state, rollout).value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("members", [2, 3, 10])
def test_members_that_act_alike_earn_nothing_whatever_the_noise(form, members):
    rollout = acting(np.tile([0.3, -0.6], (members, 1)), noise=0.7)
    np.testing.assert_allclose(reward(rollout, form=form), 0.0, atol=1e-9)


def test_a_pair_by_hand():
    found = reward(acting([[0.5, 0.0], [-0.1, 0.8]]))  # ‖Δ‖² = 0.36 + 0.64 = 1
    np.testing.assert_allclose(found, 1 - math.exp(-0.5), rtol=1e-6)
    found = reward(acting([[0.5, 0.0], [-0.1, 0.8]]), length_scale=0.5)
    np.testing.assert_allclose(found, 1 - math.exp(-2), rtol=1e-6)


def test_the_mean_is_over_the_others_only():
    found = reward(acting([[0.0], [0.6], [-0.8]]))
    near, far, apart = (1 - math.exp(-(one**2) / 2) for one in (0.6, 0.8, 1.4))
    expected = [(near + far) / 2, (near + apart) / 2, (far + apart) / 2]
    np.testing.assert_allclose(found, np.broadcast_to(np.array(expected)[:, None], found.shape), rtol=1e-6)


def test_the_action_taken_counts_as_the_robot_receives_it():
    means = np.array([[0.9], [0.1]])
    rollout = acting(means)
    rollout.action[:, 0] = 7.0  # the robot receives 1
    expected = math.exp(-(0.1**2) / 2) - math.exp(-(0.9**2) / 2)
    np.testing.assert_allclose(reward(rollout)[:, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_a_step_away_from_the_others_earns_more(form):
    """What PPO needs: of two actions in the same state, the more different one is worth more."""
    rollout = acting([[0.2], [0.2001], [0.21]])
    away, towards = rollout._replace(action=rollout.action - 0.3), acting([[0.2], [0.5], [0.55]])
    closer = towards._replace(action=towards.action + 0.2)
    np.testing.assert_allclose(reward(away, form=form)[:, 0], 0.0, atol=0.05)  # all alike: nowhere is away
    assert (reward(closer, form=form)[:, 0] < reward(towards, form=form)[:, 0]).all()
    farther = towards._replace(action=towards.action - 0.1)
    assert (reward(farther, form=form)[:, 0] > 0).all()


@pytest.mark.parametrize("form", [*FORMS, "exponential"])
@pytest.mark.parametrize("members", [2, 4])
def test_the_reward_grows_with_the_distance(form, members):
    others = [[0.5, -0.1], [0.52, 0.0], [0.48, 0.1]][: members - 1]
    steps = [reward(acting([[0.5 - gap, 0.0], *others]), form=form)[:, 0] for gap in np.linspace(0, 1.4, 8)]
    for near, far in itertools.pairwise(steps):
        assert (far > near).all()


def test_the_determinant_by_hand():
    # Two members: det K = 1 − u² with u = (1 − ρ)·κ, and the other's own determinant is 1.
    u = (1 - RIDGE) * math.exp(-0.5)
    alike = 1 - (1 - RIDGE) ** 2
    found = reward(acting([[0.5, 0.0], [-0.1, 0.8]]), form="determinant", ridge=RIDGE)
    np.testing.assert_allclose(found, math.log(1 - u**2) - math.log(alike), rtol=1e-6)


def test_the_determinant_is_a_ratio_of_determinants():
    means = np.array([[0.0, 0.1], [0.6, -0.4], [-0.8, 0.3], [0.1, 0.2]])
    found = reward(acting(means), form="determinant", ridge=RIDGE)
    distances = ((means[:, None] - means[None]) ** 2).sum(axis=-1)
    kernel = (1 - RIDGE) * np.exp(-distances / 2) + RIDGE * np.eye(4)
    crowd = (1 - RIDGE) * np.ones((4, 4)) + RIDGE * np.eye(4)
    alike = np.linalg.det(crowd) / np.linalg.det(crowd[1:, 1:])
    for member in range(4):
        others = np.delete(np.delete(kernel, member, 0), member, 1)
        expected = np.log(np.linalg.det(kernel) / np.linalg.det(others) / alike)
        np.testing.assert_allclose(found[:, member], expected, rtol=1e-5)


def test_the_determinant_sees_that_two_others_are_the_same():
    """Pairs cannot: next to twins they count the twin twice, the determinant counts it almost once."""
    once, twice = acting([[0.0], [0.5], [-0.9]]), acting([[0.0], [0.5], [-0.9], [0.5]])
    loss = {form: reward(once, form=form)[0, 0, 0] - reward(twice, form=form)[0, 0, 0] for form in FORMS}
    share = {form: loss[form] / reward(once, form=form)[0, 0, 0] for form in FORMS}
    assert share["determinant"] < 0.5 * share["pairwise"]


def test_the_authors_form_by_hand():
    found = reward(acting([[0.5, 0.0], [-0.1, 0.8]]), form="exponential")
    np.testing.assert_allclose(found, (math.exp(0.36) + math.exp(0.64)) / 2, rtol=1e-6)
    alike = reward(acting(np.zeros((3, 2)), noise=0.7), form="exponential")
    np.testing.assert_allclose(alike, 1.0)  # two action dimensions, exp(0)/2 each: paid for being alike


numbers = st.floats(-1, 1, width=32)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 3))
def test_rewards_stay_within_their_bounds(data, others, size):
    arrays = [
        np.array(data.draw(st.lists(numbers, min_size=count * size, max_size=count * size)))
        for count in (1, 1, others)
    ]
    action, own = (one.reshape(1, size) for one in arrays[:2])
    means = arrays[2].reshape(others, 1, size)
    config = DvdConfig(form="determinant", ridge=RIDGE, length_scale=0.7)
    assert -1 <= pairwise(action, own, means, 0.7)[0] <= 1
    assert abs(determinant(action, own, means, config)[0]) <= math.log(1 / RIDGE) + 1e-9
    assert size / 2 <= exponential(own, means)[0] <= size * math.exp(4) / 2 + 1e-9


def test_every_member_is_asked_about_every_state():
    """Members that answer with what they see: the others are compared in the visitor's own states."""
    rollout = acting([[0.0], [0.0]])
    chance = np.random.default_rng(3)
    weights = chance.normal(size=(2, 5, 1)).astype(np.float32)

    class Seer:
        def mean(self, observation):
            return np.tanh(observation @ weights)

    rollout = rollout._replace(policy=Seer())
    means = np.tanh(np.einsum("tmes,osa->otmea", rollout.observation, weights))
    action = np.clip(rollout.action, -1, 1)
    kernel = np.exp(-((action - means) ** 2).sum(axis=-1) / 2)
    expected = np.stack([kernel[0, :, 0] - kernel[1, :, 0], kernel[1, :, 1] - kernel[0, :, 1]], axis=1)
    np.testing.assert_allclose(reward(rollout), expected, atol=1e-6)


def test_who_acts_otherwise_is_worth_most():
    method = Dvd(DvdConfig(), EVERYTHING)
    bonus = method.intrinsic_reward(method.init(keys(), Setting(1, 3), []), acting([[0.0], [0.1], [0.9]]))
    assert bonus.value.mean(axis=(0, 2)).argmax() == 2
    assert method.export(np.zeros((3, 0))) == [{}, {}, {}]
