"""Features of the freed parts: who pays whom for what, and that kept parts earn nothing."""

import dataclasses

import numpy as np
import pytest
from tests.diversity.rollouts import LAYOUT, keys, random_rollout

import polygait as pg
from polygait.diversity.features import (
    KEPT,
    PREFIX,
    cost_of_change,
    distance_to_nearest,
    exported_features,
    feature_reward,
    initial_features,
    updated_features,
)
from polygait.diversity.method import Setting
from polygait.diversity.methods.dir import DirConfig, Regulation
from polygait.errors import UserError
from polygait.tasks.state import StateFilter, StateLayout

CONFIG = DirConfig(objective="features", hidden=(7,), minibatch_size=8)
LEGLESS = StateFilter.remove(LAYOUT, ["leg.*"])
FREED = [index for index in range(LAYOUT.size) if index not in LEGLESS.kept]
CHANCE = np.random.default_rng(5)


def left(center, variance, mean):
    arrays = {"center": center, "variance": variance, "mean": mean}
    return {f"{PREFIX}{name}": np.asarray(array, dtype=np.float64) for name, array in arrays.items()}


def test_the_first_member_leaves_its_own_mean_and_variance_as_units():
    states = CHANCE.normal([2.0, -1.0], [0.5, 3.0], (4000, 2))
    first = updated_features(initial_features(2, []), states)
    assert not feature_reward(first, states).any()
    np.testing.assert_allclose(first.center, states.mean(axis=0))
    np.testing.assert_allclose(first.variance, states.var(axis=0))

    second = updated_features(initial_features(2, [exported_features(first)]), states)
    assert distance_to_nearest(second) < 0.1  # it does what the first does, but for the clip of far states


def test_a_member_is_paid_for_the_side_on_which_it_stands_of_the_nearest():
    units = ([0.0], [1.0])
    earlier = [left(*units, [0.0, 0.0]), left(*units, [2.0, 0.0])]
    features = initial_features(1, earlier)._replace(mean=np.array([1.5, 0.0]))
    # The nearest is the second, and the member stands below it: lower is better.
    reward = feature_reward(features, np.array([[0.5], [1.0]]))
    np.testing.assert_allclose(reward, [-0.5, -1.0])


def test_moving_more_is_a_feature_of_its_own():
    features = initial_features(1, [left([0.0], [1.0], [0.0, 0.0])])._replace(mean=np.array([0.0, 0.7]))
    reward = feature_reward(features, np.array([[-2.0], [0.0], [2.0]]))
    np.testing.assert_allclose(reward, [3.0, -1.0, 3.0])


def test_a_posture_is_where_parts_are_held_and_no_more():
    states = CHANCE.normal([2.0, -1.0], [0.5, 3.0], (4000, 2))
    first = updated_features(initial_features(2, [], moving=False), states)
    assert first.mean.shape == (2,) and not feature_reward(first, states).any()
    earlier = [exported_features(first)]
    livelier = updated_features(initial_features(2, earlier, moving=False), 2 * states - states.mean(axis=0))
    assert distance_to_nearest(livelier) < 0.05  # but for the clip of far states
    lower = updated_features(initial_features(2, earlier, moving=False), states - [0.5, 0.0])
    assert distance_to_nearest(lower) == pytest.approx(
        1.0 / np.sqrt(2), abs=0.02
    )  # of two numbers one has moved
    reward = feature_reward(lower, np.array([[1.5, -1.0], [2.5, -1.0]]))
    assert reward[0] == pytest.approx(1.0, abs=0.1) and reward[1] == pytest.approx(-1.0, abs=0.1)


def test_far_states_count_as_three_standard_deviations():
    features = initial_features(1, [left([1.0], [4.0], [0.0, 0.0])])._replace(mean=np.array([1.0, 0.0]))
    np.testing.assert_allclose(feature_reward(features, np.array([[7.0], [1e9]])), [3.0, 3.0])


def test_only_the_freed_parts_of_a_rollout_earn_anything():
    method = Regulation(CONFIG, LEGLESS)
    setting = Setting(action_size=3, num_members=1)
    first = method.update(method.init(keys(0), setting, []), random_rollout(1), keys(0), 0).state
    state = method.init(keys(1), setting, method.export(first))
    rollout = random_rollout(2)
    reward = method.intrinsic_reward(state, rollout).value
    assert np.std(reward) > 0

    kept_moved, freed_moved = np.array(rollout.next_observation), np.array(rollout.next_observation)
    kept_moved[..., list(LEGLESS.kept)] += 1.0
    freed_moved[..., FREED[0]] += 1.0
    assert state.features is not None
    state = state._replace(features=state.features._replace(mean=np.ones(2 * len(FREED))))
    rewards = [
        method.intrinsic_reward(state, rollout._replace(next_observation=observation)).value
        for observation in (rollout.next_observation, kept_moved, freed_moved)
    ]
    np.testing.assert_array_equal(rewards[1], rewards[0])
    assert not np.array_equal(rewards[2], rewards[0])


@pytest.mark.parametrize(
    ("distance", "share"),
    [(0.1, 1.0), (1.0, 1.0), (1.25, 0.75), (1.5, 0.5), (2.0, 0.0), (9.0, 0.0)],
)
@pytest.mark.parametrize("objective", ["features", "posture"])
def test_the_bonus_ends_where_members_differ_enough(objective, distance, share):
    setting = Setting(action_size=3, num_members=1)
    states = {}
    for enough in (0.0, 2.0):
        method = Regulation(dataclasses.replace(CONFIG, objective=objective, enough=enough), LEGLESS)
        first = method.update(method.init(keys(0), setting, []), random_rollout(1), keys(0), 0).state
        state = method.init(keys(1), setting, method.export(first))
        assert method.intrinsic_reward(state, random_rollout(2)).share == 1.0  # nothing is known of it yet
        assert state.features is not None
        # From the first, which is at 0 by its own measure, in every feature.
        mean = np.full_like(state.features.mean, distance)
        state = state._replace(features=state.features._replace(mean=mean))
        states[enough] = method.intrinsic_reward(state, random_rollout(2))
    assert states[0.0].share == 1.0 and states[2.0].share == pytest.approx(share)
    np.testing.assert_array_equal(states[2.0].value, states[0.0].value)


def test_who_holds_a_kept_part_otherwise_than_the_first_member_pays_for_it():
    earlier = [left([1.0], [4.0], [0.0])]  # 1 and 2 are its mean and its standard deviation
    states = np.array([[3.0], [5.0], [1.0]])  # 1, 2 and 0 of these away
    features = initial_features(1, earlier, moving=False)
    for mean, slope in ((2.0, 1.0), (-2.0, -1.0), (0.25, 0.25), (0.0, 0.0)):
        known = features._replace(mean=np.array([mean]))
        np.testing.assert_allclose(cost_of_change(known, states), slope * np.array([0.0, 1.0, -1.0]))
    np.testing.assert_allclose(cost_of_change(features, states), [0.0, 1.0, -1.0])  # as of this rollout alone
    assert not cost_of_change(initial_features(1, [], moving=False), states).any()
    many = initial_features(9, [left(np.zeros(9), np.ones(9), np.zeros(9))], moving=False)
    leaning = np.repeat([[1.0], [3.0], [-2.0]], 9, axis=1)
    assert cost_of_change(many, leaning).std() == pytest.approx(1.0), "parts that lean together are no dearer"


MOVING = StateLayout(("torso.height", "torso.velocity.x", "leg.position.hip", "leg.position.knee"))
HEIGHT, FREE = [0], [2, 3]


@pytest.mark.parametrize(
    ("names", "removed", "objective", "size"),
    [
        (("torso.height", "leg.position.hip", "leg.velocity.hip", "leg.force.x"), "leg.*", "posture", 1),
        (("torso.height", "leg.position.hip", "leg.velocity.hip", "leg.force.x"), "leg.*", "features", 2 * 3),
        (
            ("torso.height", "leg.position.hip", "leg.velocity.hip", "leg.torque"),
            "leg.velocity.*",
            "posture",
            1,
        ),
        (("state.0", "state.1", "state.2"), "*", "posture", 3),
    ],
    ids=["where a part is held", "features", "nothing else is free", "no names"],
)
def test_a_posture_is_made_of_positions(names, removed, objective, size):
    layout = StateLayout(names)
    method = Regulation(
        dataclasses.replace(CONFIG, objective=objective), StateFilter.remove(layout, [removed])
    )
    features = method.init(keys(0), Setting(action_size=3, num_members=1), []).features
    assert features is not None and features.mean.size == size


@pytest.mark.parametrize(
    ("robot", "freed", "held"),
    [
        ("hopper", "leg.position", "torso.position"),
        ("walker", "right_leg.position", "torso.position left_leg.position"),
        (
            "ant",
            "leg_1.position leg_2.position leg_3.position leg_4.position",
            "torso.height torso.orientation",
        ),
        (
            "minitaur",
            "front_left.position back_left.position front_right.position back_right.position",
            "base.orientation",
        ),
        (
            "humanoid",
            "right_leg.position left_leg.position right_arm.position left_arm.position",
            "torso.height torso.orientation waist.position",
        ),
        (
            "quadruped",
            "front_left.position front_right.position back_left.position back_right.position",
            "base.gravity",
        ),
    ],
)
def test_what_counts_as_a_posture_of_our_robots(robot, freed, held):
    task = pg.make_task(robot, num_envs=1)
    method = Regulation(dataclasses.replace(CONFIG, objective="posture", regulate=0.5), task.default_filter)
    state = method.init(keys(0), Setting(task.action_size, num_members=1), [])
    found = [len(task.layout.select(parts.split())) for parts in (freed, held)]
    assert state.features is not None and state.held is not None
    assert [state.features.mean.size, state.held.mean.size] == found


def regulated(earlier=()):
    method = Regulation(dataclasses.replace(CONFIG, regulate=0.5), StateFilter.remove(MOVING, ["leg.*"]))
    return method, method.init(keys(len(earlier)), Setting(action_size=3, num_members=1), earlier)


def test_only_kept_parts_cost_anything_and_not_what_is_a_velocity():
    method, state = regulated()
    assert method.intrinsic_reward(state, random_rollout(1)).cost is None
    first = method.export(method.update(state, random_rollout(1), keys(0), 0).state)
    assert first[0][f"{KEPT}center"].shape == (1,)

    # A third member is compared with the first alone.
    second = method.update(regulated(first)[1], random_rollout(2), keys(1), 0)
    assert second.statistics["kept_distance"].shape == (1,)
    state = regulated([*first, *method.export(second.state)])[1]
    assert state.held is not None and state.held.earlier.shape == (1, 1)

    rollout, far = random_rollout(3), {}
    for name, numbers in (("nothing", []), ("height", HEIGHT), ("velocity", [1]), ("free", FREE)):
        moved = np.array(rollout.next_observation)
        moved[:1, ..., numbers] += 1.0
        found = method.intrinsic_reward(state, rollout._replace(next_observation=moved))
        assert found.cost is not None and abs(found.cost.mean()) < 1e-9
        far[name] = found.cost
    for name in ("velocity", "free"):
        np.testing.assert_array_equal(far[name], far["nothing"])
    assert not np.array_equal(far["height"], far["nothing"])


def test_where_nothing_is_kept_nothing_costs():
    method = Regulation(dataclasses.replace(CONFIG, regulate=0.5), StateFilter.nothing(LAYOUT))
    setting = Setting(action_size=3, num_members=1)
    first = method.update(method.init(keys(0), setting, []), random_rollout(1), keys(0), 0).state
    found = method.intrinsic_reward(method.init(keys(1), setting, method.export(first)), random_rollout(2))
    assert found.cost is not None and not found.cost.any()


def test_a_filter_that_frees_nothing_is_refused():
    for objective in ("features", "posture"):
        with pytest.raises(UserError, match=f"'{objective}' compares .* frees none"):
            Regulation(dataclasses.replace(CONFIG, objective=objective), StateFilter.identity(LAYOUT))
    Regulation(dataclasses.replace(CONFIG, objective="kl"), StateFilter.identity(LAYOUT))
