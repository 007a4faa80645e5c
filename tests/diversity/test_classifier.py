"""Classifiers of members: what an action tells beyond the states, and what members leave for it."""

import dataclasses
import math

import numpy as np
import pytest
from tests.diversity.rollouts import LAYOUT, keys, random_rollout, rollout_of

from polygait.diversity.classifier import KEPT, SAMPLES, Samples, recognition
from polygait.diversity.method import Setting
from polygait.diversity.methods.dir import DirConfig, Regulation
from polygait.learning import padding
from polygait.storage.tensors import pack, unpack
from polygait.tasks.state import StateFilter

pytestmark = pytest.mark.usefixtures("quick_compilation")

LEGLESS = StateFilter.remove(LAYOUT, ["leg.*"])
SETTING = Setting(action_size=3, num_members=1)
SMALL = DirConfig(objective="classifier", hidden=(7,), minibatch_size=8)
QUICK = dataclasses.replace(SMALL, hidden=(16,), learning_rate=0.01, minibatch_size=64)


def member(seed, action=0.0, torso=0.0):
    """Experience of a member with some mean action, and some mean of the numbers that the filter keeps."""
    chance = np.random.default_rng(seed)
    observation, change = chance.normal(size=(2, 64, 8, 4))
    observation[..., :2] = torso + 0.3 * observation[..., :2]
    actions = action + 0.1 * chance.normal(size=(64, 8, 3))
    return rollout_of(observation, actions, observation + 0.1 * change)


def left_by(*members, config=QUICK, state_filter=LEGLESS):
    """What earlier members left, each after two rollouts."""
    method = Regulation(config, state_filter)
    left = []
    for index, options in enumerate(members):
        state = method.init(keys(index), SETTING, [])
        for turn in range(2):
            rollout = member(1000 * index + turn + 1, **options)
            state = method.update(state, rollout, keys(index), turn).state
        left += method.export(state)
    return left


def taught(earlier, iterations=25, config=QUICK, state_filter=LEGLESS, **options):
    """The next member after some training, and its bonus on experience that nobody has seen."""
    method = Regulation(config, state_filter)
    index = len(earlier)
    state = method.init(keys(index), SETTING, earlier)
    for iteration in range(iterations):
        rollout = member([index, iteration], **options)
        state = method.update(state, rollout, keys(index), iteration).state
    return method.intrinsic_reward(state, member([index, 999], **options))


def test_another_action_in_the_same_states_earns_ln_2():
    bonus = taught(left_by({"action": -0.4}), action=0.4)
    assert bonus.value.mean() == pytest.approx(math.log(2), abs=0.05)
    assert bonus.statistics["classified"] == pytest.approx([1.0], abs=0.02)
    assert bonus.statistics["classified_without"] == pytest.approx([0.5], abs=0.1)


def test_a_twin_earns_nothing():
    bonus = taught(left_by({"action": 0.4}), action=0.4)
    assert bonus.value.mean() == pytest.approx(0.0, abs=0.06)
    assert bonus.statistics["classified"] == pytest.approx([0.5], abs=0.1)


def test_other_states_earn_nothing_where_the_filter_keeps_them():
    """The states alone tell the member, so that the action has nothing to add."""
    bonus = taught(left_by({"torso": -1.0}), torso=1.0)
    assert np.abs(bonus.value).mean() < 0.02
    assert bonus.statistics["classified_without"] == pytest.approx([1.0], abs=0.02)


def test_with_nothing_to_see_all_members_are_equally_likely():
    nothing = StateFilter.nothing(LAYOUT)
    earlier = left_by({"action": -0.4}, {"action": 0.0}, state_filter=nothing)
    bonus = taught(earlier, state_filter=nothing, action=0.4)
    assert bonus.value.mean() == pytest.approx(math.log(3), abs=0.05)
    assert bonus.statistics["classified_without"] == pytest.approx([1 / 3], abs=0.02)


def test_to_be_like_one_of_two_earns_what_is_told_of_the_other():
    """Sure that it is not the first, and undecided between the second and itself: log(1/2) − log(1/3)."""
    bonus = taught(left_by({"action": -0.4}, {"action": 0.4}), action=0.4)
    assert bonus.value.mean() == pytest.approx(math.log(3 / 2), abs=0.06)


def by_hand(state, rollout):
    """Both log-probabilities of the member in training, in plain NumPy."""
    classification = state.classification
    kept = LEGLESS(rollout.observation), LEGLESS(rollout.next_observation)
    rows = np.concatenate([kept[0], kept[1] - kept[0], np.clip(rollout.action, -1, 1)], axis=-1)
    moments = classification.moments
    rows = np.clip((rows - moments.mean[0]) / np.sqrt(moments.variance[0]), -10, 10)
    found = []
    for one, seen in ((classification.with_action, 7), (classification.without_action, 4)):
        first, last = (np.asarray(weight, np.float64) for weight in one.network.weights)
        hidden = np.maximum(rows[..., :seen] @ first[:seen] + np.asarray(one.network.biases[0]), 0)
        odds = np.exp(hidden @ last + np.asarray(one.network.biases[1]))
        found.append(np.log(odds[..., -1] / odds.sum(axis=-1)))
    return found


def test_the_bonus_is_the_difference_of_two_log_probabilities_and_bounded():
    method = Regulation(SMALL, LEGLESS)
    earlier = left_by({"action": -0.4}, {"torso": 0.5}, config=SMALL)
    state = method.init(keys(2), SETTING, earlier)
    for iteration in range(3):
        state = method.update(state, random_rollout(iteration), keys(2), iteration).state
    rollout = random_rollout(9)
    informed, guessing = by_hand(state, rollout)
    difference = informed - guessing
    limit = math.log(3)
    assert np.abs(difference).max() > limit  # so that the bound shows
    bonus = method.intrinsic_reward(state, rollout)
    np.testing.assert_allclose(bonus.value, np.clip(difference, -limit, limit), rtol=2e-4, atol=1e-4)
    assert bonus.statistics["classified"] == pytest.approx([np.exp(informed).mean()], rel=1e-4)
    assert bonus.statistics["classified_without"] == pytest.approx([np.exp(guessing).mean()], rel=1e-4)


def test_inputs_are_measured_by_what_earlier_members_kept():
    earlier = left_by({"torso": 3.0}, {"torso": -1.0})
    state = Regulation(QUICK, LEGLESS).init(keys(2), SETTING, earlier)
    assert state.classification is not None
    rows = np.concatenate([one[f"{SAMPLES}state"] for one in earlier])
    np.testing.assert_allclose(state.classification.moments.mean[0, :2], rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(state.classification.earlier.mean(axis=0), np.zeros(7), atol=1e-4)
    np.testing.assert_allclose(state.classification.earlier.std(axis=0), np.ones(7), atol=1e-4)


def test_a_member_leaves_samples_of_its_newest_rollouts():
    method = Regulation(SMALL, LEGLESS)
    state = method.init(keys(), SETTING, [])
    rollouts = [random_rollout(seed) for seed in range(3)]
    for iteration, rollout in enumerate(rollouts):
        state = method.update(state, rollout, keys(), iteration).state
    [left] = method.export(state)
    rows = {
        "state": np.concatenate([LEGLESS(one.observation).reshape(-1, 2) for one in rollouts]),
        "next_state": np.concatenate([LEGLESS(one.next_observation).reshape(-1, 2) for one in rollouts]),
        "action": np.clip(np.concatenate([one.action.reshape(-1, 3) for one in rollouts]), -1, 1),
    }
    for name, expected in rows.items():  # so few that all of them are kept
        assert left[f"{SAMPLES}{name}"].dtype == np.float32
        np.testing.assert_array_equal(left[f"{SAMPLES}{name}"], expected)


def test_no_more_than_so_many_are_kept_and_they_come_from_the_last_rollouts():
    method = Regulation(SMALL, LEGLESS)
    state = method.init(keys(), SETTING, [])
    for iteration in range(6):
        rollout = random_rollout(iteration, time=40, envs=40)
        rollout = rollout._replace(action=np.full_like(rollout.action, 0.1 * iteration))
        state = method.update(state, rollout, keys(), iteration).state
    [left] = method.export(state)
    turns = np.rint(10 * left[f"{SAMPLES}action"][:, 0]).astype(int)
    np.testing.assert_array_equal(np.bincount(turns), [0, 0, *[KEPT // 4] * 4])


def test_what_a_member_leaves_gives_the_same_bits_again(tmp_path):
    left = left_by({"action": 0.3}, config=SMALL)
    through_a_file = [dict(unpack(pack(one), tmp_path / "member")[0]) for one in left]
    method, rollout = Regulation(SMALL, LEGLESS), random_rollout(5)
    values = []
    for earlier in (left, through_a_file):
        state = method.update(method.init(keys(1), SETTING, earlier), rollout, keys(1), 0).state
        values.append(method.intrinsic_reward(state, rollout).value)
    np.testing.assert_array_equal(values[0], values[1])


def test_the_bonus_depends_on_key_and_iteration_only():
    method, rollout = Regulation(SMALL, LEGLESS), random_rollout(0)
    state = method.init(keys(1), SETTING, left_by({}, config=SMALL))
    values = [
        method.intrinsic_reward(method.update(state, rollout, key, iteration).state, rollout).value
        for key, iteration in ((keys(1), 0), (keys(1), 0), (keys(1), 1), (keys(2), 0))
    ]
    np.testing.assert_array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])
    assert not np.array_equal(values[0], values[3])


def test_more_members_than_a_minibatch_has_rows():
    earlier = left_by(*[{}] * 3, config=SMALL)
    method = Regulation(dataclasses.replace(SMALL, minibatch_size=2), LEGLESS)
    state = method.update(method.init(keys(3), SETTING, earlier), random_rollout(0), keys(3), 0).state
    assert np.isfinite(method.intrinsic_reward(state, random_rollout(1)).value).all()


@pytest.mark.parametrize("state_filter", [StateFilter.identity(LAYOUT), StateFilter.nothing(LAYOUT)])
def test_any_filter_and_bound_goes_the_whole_way(state_filter):
    method = Regulation(dataclasses.replace(SMALL, bound="none"), state_filter)
    left = []
    for index in range(3):
        state = method.init(keys(index), SETTING, left)
        rollout = random_rollout(index)
        assert (method.intrinsic_reward(state, rollout).value != 0).any() == (index > 0)
        updated = method.update(state, rollout, keys(index), 0)
        assert all(np.isfinite(values).all() for values in updated.statistics.values())
        assert np.isfinite(method.metrics(updated.state, rollout)["novelty"]).all() == (index > 0)
        left += method.export(updated.state)


def test_what_fills_a_rollout_of_changing_size_has_no_part_in_it(monkeypatch):
    method = Regulation(SMALL, LEGLESS)
    rollout, earlier = random_rollout(3, time=20), left_by({}, {"action": 0.3}, config=SMALL)

    def all_of(rollout):
        state = method.init(keys(5), SETTING, earlier)
        before = method.intrinsic_reward(state, rollout)
        state = method.update(state, rollout, keys(5), 0).state
        after = method.intrinsic_reward(state, rollout)
        left = {name: array for name, array in method.export(state)[0].items() if name.startswith(SAMPLES)}
        return {"before": before.value, "after": after.value, **after.statistics, **left}

    plain, varying = all_of(rollout), all_of(rollout._replace(varies=True))
    monkeypatch.setattr(padding, "FILL", np.nan)
    spoiled = all_of(rollout._replace(varies=True))
    for name, expected in plain.items():
        np.testing.assert_allclose(varying[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
        np.testing.assert_array_equal(spoiled[name], varying[name], err_msg=name)


def test_far_states_are_cut():
    state = Regulation(SMALL, LEGLESS).init(keys(1), SETTING, left_by({}, config=SMALL))
    assert state.classification is not None
    far = [Samples(*(np.full((1, size), value, np.float32) for size in (2, 2, 3))) for value in (1e5, 1e7)]
    near, further = (recognition(state.classification, one, varies=False).bonus for one in far)
    np.testing.assert_array_equal(near, further)
