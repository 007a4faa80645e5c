"""SMERL by hand: the gate at its threshold, the reward between chance and certainty, what q learns."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.diversity.rollouts import cohort_rollout

from polygait.diversity.method import Setting
from polygait.diversity.methods.smerl import GATE_EPISODES, Smerl, SmerlConfig, log_ratio
from polygait.errors import UserError
from polygait.learning import member_keys
from polygait.learning.rollout import Episodes
from polygait.tasks.state import StateFilter, StateLayout

pytestmark = pytest.mark.usefixtures("quick_compilation")

MEMBERS, STATE, TIME, ENVS = 3, 2, 4, 5
EVERYTHING = StateFilter.identity(StateLayout(("east", "north")))
KEYS = member_keys(jax.random.key(0), 0, MEMBERS)
CONFIG = SmerlConfig(target_return=100.0, hidden=(8,), minibatch_size=16, learning_rate=1e-2)


def episodes(*returns):
    """Completed episodes as (member, return)."""
    member, total = zip(*returns, strict=True) if returns else ((), ())
    return Episodes(np.array(member, np.int64), np.array(total, float), np.ones(len(returns), np.int64))


def visited(centers, ended=(), spread=0.0, seed=0):
    """A rollout in which member k stays around centers[k]."""
    chance = np.random.default_rng(seed)
    states = np.asarray(centers, float)[None, :, None] + spread * chance.normal(
        size=(TIME, len(centers), ENVS, STATE)
    )
    action = np.zeros((TIME, len(centers), ENVS, 1))
    rollout = cohort_rollout(np.zeros_like(states), action, states, np.zeros((len(centers), 1)))
    return rollout._replace(episodes=episodes(*ended))


PLACES = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]
ALL_ABLE = [(member, 95.0) for member in range(MEMBERS)]


def begin(config=CONFIG):
    method = Smerl(config, EVERYTHING)
    return method, method.init(KEYS, Setting(1, MEMBERS), [])


def saying(state, logits):
    """The state with a discriminator that says the same of every state."""
    zeros = jax.tree.map(jnp.zeros_like, state.network)
    network = eqx.tree_at(lambda one: one.biases[-1], zeros, jnp.asarray(logits, jnp.float32))
    return state._replace(network=network)


# The gate.


@pytest.mark.parametrize(("earned", "is_open"), [(90.0, True), (89.999, False), (120.0, True), (-5.0, False)])
def test_the_gate_opens_at_the_threshold(earned, is_open):
    method, state = begin()
    assert method.threshold == pytest.approx(90.0)
    state = saying(state, [50.0, 0.0, 0.0])  # sure that it is member 0
    bonus = method.intrinsic_reward(state, visited(PLACES, [(0, earned)]))
    assert bonus.statistics["gate"].tolist() == [float(is_open), 0.0, 0.0]
    assert (bonus.value[:, 1:] == 0).all()  # members without an episode yet
    assert (bonus.value[:, 0] > 0).all() if is_open else (bonus.value[:, 0] == 0).all()


def test_the_gate_is_each_members_own():
    method, state = begin()
    bonus = method.intrinsic_reward(
        saying(state, [0, 0, 0.5]), visited(PLACES, [(0, 95.0), (1, 10.0), (2, 95.0)])
    )
    assert bonus.statistics["gate"].tolist() == [1.0, 0.0, 1.0]
    assert ((bonus.value != 0).all(axis=(0, 2)) == [True, False, True]).all()


def test_the_gate_follows_the_mean_of_recent_episodes():
    method, state = begin()
    state = method.update(state, visited(PLACES, [(0, 100.0)] * 3), KEYS, 0).state
    now = method.intrinsic_reward(state, visited(PLACES, [(0, 60.0)]))  # this rollout's episodes count too
    assert now.statistics["gate"][0] == 1.0  # (300 + 60)/4 = 90
    then = method.intrinsic_reward(state, visited(PLACES, [(0, 59.0)]))
    assert then.statistics["gate"][0] == 0.0
    assert (
        method.intrinsic_reward(state, visited(PLACES)).statistics["gate"][0] == 1.0
    )  # none ended: as before


def test_the_gate_forgets():
    method, state = begin()
    state = method.update(state, visited(PLACES, [(0, -1e6)]), KEYS, 0).state
    for iteration in range(1, GATE_EPISODES):
        state = method.update(state, visited(PLACES, [(0, 100.0)]), KEYS, iteration).state
        assert not method.open(state.recent)[0]
    state = method.update(state, visited(PLACES, [(0, 100.0)]), KEYS, GATE_EPISODES).state
    assert method.open(state.recent).tolist() == [True, False, False]


def test_a_target_below_zero_is_approached_from_below():
    config = dataclasses.replace(CONFIG, target_return=-200.0)
    assert Smerl(config, EVERYTHING).threshold == pytest.approx(-220.0)


@pytest.mark.parametrize("target", [None, "runs/pg"])
def test_a_target_must_be_a_number_by_then(target):
    with pytest.raises(UserError, match="target_return"):
        Smerl(dataclasses.replace(CONFIG, target_return=target), EVERYTHING)


# The reward.


def test_chance_earns_nothing():
    method, state = begin()
    bonus = method.intrinsic_reward(saying(state, [0.7, 0.7, 0.7]), visited(PLACES, ALL_ABLE))
    np.testing.assert_allclose(bonus.value, 0.0, atol=1e-5)


@pytest.mark.parametrize("floor", [1e-6, 0.01])
def test_certainty_earns_the_logarithm_of_the_number_of_members(floor):
    method, state = begin(dataclasses.replace(CONFIG, floor=floor))
    bonus = method.intrinsic_reward(saying(state, [100.0, 0.0, 0.0]), visited(PLACES, ALL_ABLE))
    right = math.log(1 + floor) - math.log(1 / 3 + floor)
    wrong = math.log(floor) - math.log(1 / 3 + floor)
    np.testing.assert_allclose(bonus.value[:, 0], right, rtol=1e-5)
    np.testing.assert_allclose(bonus.value[:, 1:], wrong, rtol=1e-5)
    assert right == pytest.approx(math.log(3), abs=2.1 * floor)


def test_the_reward_by_hand_in_between():
    method, state = begin(dataclasses.replace(CONFIG, floor=1e-6))
    bonus = method.intrinsic_reward(saying(state, np.log([0.5, 0.3, 0.2])), visited(PLACES, ALL_ABLE))
    for member, probability in enumerate([0.5, 0.3, 0.2]):
        np.testing.assert_allclose(bonus.value[:, member], math.log(3 * probability), rtol=1e-4)


def test_the_floor_bounds_the_logarithm():
    found = log_ratio(np.array([0.0, 0.1, 1.0]), 10, 0.01)
    np.testing.assert_allclose(found, [math.log(0.01 / 0.11), 0.0, math.log(1.01 / 0.11)], atol=1e-12)


def test_the_state_an_action_led_to_is_judged():
    method, state = begin(dataclasses.replace(CONFIG, hidden=(), normalize_inputs=False, floor=1e-6))
    weights = np.array([[2.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    state = state._replace(
        network=eqx.tree_at(lambda one: one.weights[0], state.network, jnp.asarray(weights))
    )
    rollout = visited(PLACES, ALL_ABLE, spread=0.5)
    logits = rollout.next_observation.astype(np.float64) @ weights
    q = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    expected = np.stack([np.log(3 * q[:, member, :, member]) for member in range(3)], axis=1)
    np.testing.assert_allclose(method.intrinsic_reward(state, rollout).value, expected, atol=1e-3)


# The discriminator.


@pytest.mark.parametrize("normalize_inputs", [True, False])
def test_places_are_told_apart_and_then_pay(normalize_inputs):
    method, state = begin(dataclasses.replace(CONFIG, epochs=4, normalize_inputs=normalize_inputs))
    losses = []
    for iteration in range(12):
        rollout = visited(PLACES, ALL_ABLE, spread=0.2, seed=iteration)
        fitted = method.update(state, rollout, KEYS, iteration)
        state = fitted.state
        losses.append(fitted.statistics["discriminator_loss"])
    assert losses[0].shape == (MEMBERS,) and (losses[-1] < 0.5 * losses[0]).all()
    bonus = method.intrinsic_reward(state, visited(PLACES, ALL_ABLE, spread=0.2, seed=99))
    assert (bonus.value.mean(axis=(0, 2)) > 0.7 * math.log(3)).all()
    swapped = method.intrinsic_reward(
        state, visited([PLACES[1], PLACES[0], PLACES[2]], ALL_ABLE, spread=0.2, seed=99)
    )
    assert (swapped.value.mean(axis=(0, 2))[:2] < 0).all()  # in another's place


def test_members_in_the_same_place_stay_at_chance():
    method, state = begin(dataclasses.replace(CONFIG, epochs=2))
    for iteration in range(10):
        rollout = visited([[0.3, 0.3]] * 3, ALL_ABLE, spread=0.5, seed=iteration)
        state = method.update(state, rollout, KEYS, iteration).state
    bonus = method.intrinsic_reward(state, visited([[0.3, 0.3]] * 3, ALL_ABLE, spread=0.5, seed=99))
    assert (np.abs(bonus.value.mean(axis=(0, 2))) < 0.15).all()


def test_statistics_are_of_all_members_together():
    method, state = begin()
    rollout = visited(PLACES, spread=0.4)
    state = method.update(state, rollout, KEYS, 0).state
    flat = rollout.next_observation.reshape(-1, STATE).astype(np.float64)
    np.testing.assert_allclose(state.moments.mean[0], flat.mean(axis=0))
    np.testing.assert_allclose(state.moments.variance[0], flat.var(axis=0))


def test_fitting_repeats_itself_and_changes_with_key_and_iteration():
    method, state = begin()
    rollout = visited(PLACES, spread=0.4)
    weights = [
        np.asarray(method.update(state, rollout, keys, iteration).state.network.weights[0])
        for keys, iteration in ((KEYS, 0), (KEYS, 0), (KEYS, 1), (member_keys(jax.random.key(1), 0, 3), 0))
    ]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert (weights[0] != weights[2]).any() and (weights[0] != weights[3]).any()


def test_nothing_is_left_to_later_members():
    method, state = begin()
    assert method.export(state) == [{}, {}, {}]
