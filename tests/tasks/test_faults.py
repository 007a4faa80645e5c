"""Faults between policy and robot: sensors that lie, motors that do not hear, actions that come late."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.walker import Walker

ROBOTS = {"hopper": Hopper, "walker": Walker, "ant": Ant}
PART = {"hopper": "leg.position", "walker": "right_leg.*", "ant": "leg_2.*"}
each_robot = pytest.mark.parametrize("name", ROBOTS)


def make(name, variation=None, num_envs=1, seed=0):
    return MujocoTask(ROBOTS[name](), num_envs=num_envs, variation=variation, seed=seed, num_threads=1)


def random_actions(task, steps, seed=0):
    return 0.5 * np.random.default_rng(seed).uniform(-1, 1, (steps, task.num_envs, task.action_size))


def run(task, actions):
    """What the policy sees, the observation at the beginning first, and what really happens."""
    observations = [task.reset()]
    truth = []
    for action in actions:
        step = task.step(action)
        observations.append(step.observation)
        physics = (task.physics.qpos, task.physics.qvel)
        truth.append(np.column_stack([step.reward, step.terminated, step.truncated, *physics]))
    return np.stack(observations), np.stack(truth)


def spoiled_and_true(name, mode, part=None, steps=25, num_envs=3):
    """Observations with and without a sensor failure, after checking all that must not differ."""
    part = part or PART[name]
    broken, whole = make(name, f"sensor({part}){mode}", num_envs), make(name, None, num_envs)
    actions = random_actions(whole, steps)
    (spoiled, truth), (true, expected) = run(broken, actions), run(whole, actions)
    assert np.array_equal(truth, expected)  # reward, endings and physics see the true state
    touched = whole.layout.select(part)
    others = np.setdiff1d(np.arange(whole.observation_size), touched)
    assert np.array_equal(spoiled[:, :, others], true[:, :, others])
    assert np.ptp(true[:, :, touched], axis=0).max() > 0.01
    return spoiled[:, :, touched], true[:, :, touched]


@each_robot
def test_a_dead_sensor_reads_zero(name):
    spoiled, _ = spoiled_and_true(name, "")
    assert not spoiled.any()


@each_robot
def test_a_frozen_sensor_repeats_the_first_value_of_the_episode(name):
    spoiled, true = spoiled_and_true(name, ":freeze")
    assert np.array_equal(spoiled, np.broadcast_to(true[0], true.shape))


@each_robot
def test_a_biased_sensor_is_off_by_the_bias(name):
    spoiled, true = spoiled_and_true(name, ":bias=-0.25")
    assert np.array_equal(spoiled, true - 0.25)


@each_robot
def test_a_noisy_sensor_adds_gaussian_noise_of_the_given_size(name):
    spoiled, true = spoiled_and_true(name, ":noise=0.3", steps=200, num_envs=8)
    noise = (spoiled - true) / 0.3
    assert noise.std() == pytest.approx(1.0, abs=0.05)
    assert noise.mean() == pytest.approx(0.0, abs=0.05)
    assert (np.abs(noise) > 1.96).mean() == pytest.approx(0.05, abs=0.015)
    # Fresh at every step, in every row and for every number.
    assert len(np.unique(noise.round(12))) > 0.999 * noise.size
    flat = noise.reshape(-1, noise.shape[-1])
    correlations = np.asarray(np.corrcoef(np.concatenate([flat[8:], flat[:-8]], axis=1), rowvar=False))
    assert np.abs(correlations - np.eye(correlations.shape[0])).max() < 0.12


def test_noise_differs_between_episodes_and_follows_the_seed():
    first, again, other = (make("walker", "sensor(*):noise=1", seed=seed) for seed in (1, 1, 2))
    seen = np.array([first.reset()[0] for _ in range(3)])
    assert len(np.unique(seen.round(9))) == seen.size
    assert np.array_equal([again.reset()[0] for _ in range(3)], seen)
    assert not np.isclose([other.reset()[0] for _ in range(3)], seen).any()


def test_two_noisy_sensors_are_independent_of_each_other():
    """Also when each has its own edit."""
    task = make("walker", "sensor(right_leg.position):noise=1+sensor(left_leg.position):noise=1", 4)
    whole = make("walker", None, 4)
    actions = random_actions(whole, 100)
    noise = run(task, actions)[0] - run(whole, actions)[0]
    right, left = (
        noise[..., whole.layout.slice(f"{side}_leg.position")].ravel() for side in ("right", "left")
    )
    assert abs(np.corrcoef(right, left)[0, 1]) < 0.15


@each_robot
@pytest.mark.parametrize("mode", ["", ":freeze", ":bias=1", ":noise=0.5"])
def test_a_sensor_fails_at_its_onset_in_every_episode(name, mode):
    onset = 7
    late, whole = make(name, f"sensor({PART[name]}){mode}@{onset}"), make(name)
    actions = random_actions(whole, 15)
    for _ in range(3):
        (spoiled, truth), (true, expected) = run(late, actions), run(whole, actions)
        assert np.array_equal(truth, expected)
        assert np.array_equal(spoiled[:onset], true[:onset])
        touched = whole.layout.select(PART[name])
        spoiled, true = spoiled[onset:, :, touched], true[onset:, :, touched]
        assert (spoiled[1:] != true[1:]).all()
        if mode == ":freeze":
            assert np.array_equal(spoiled, np.broadcast_to(true[0], true.shape))


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        (name, condition)
        for name, robot in ROBOTS.items()
        for condition in robot.conditions
        if "sensor" in condition
    ],
)
def test_named_sensor_conditions_silence_their_leg(name, condition):
    part = condition.replace("-sensor", "").replace("-", "_") + ".position"
    task, whole = make(name, condition), make(name)
    seen, true = task.reset()[0], whole.reset()[0]
    true[whole.layout.slice(part)] = 0.0
    assert np.array_equal(seen, true)


def test_sensor_failures_act_in_the_order_given():
    whole = make("walker")
    part = whole.layout.slice("right_leg.position")
    biased_then_frozen = make("walker", "sensor(right_leg.position):bias=1+sensor(right_leg.position):freeze")
    zero_then_biased = make("walker", "sensor(right_leg.position)+sensor(right_leg.position):bias=1")
    biased_then_zero = make("walker", "sensor(right_leg.position):bias=1+sensor(right_leg.position)")
    actions = random_actions(whole, 5)
    true, _ = run(whole, actions)
    frozen, _ = run(biased_then_frozen, actions)
    assert np.array_equal(frozen[..., part], np.broadcast_to(true[0, :, part] + 1, frozen[..., part].shape))
    assert np.all(run(zero_then_biased, actions)[0][..., part] == 1.0)
    assert np.all(run(biased_then_zero, actions)[0][..., part] == 0.0)


def test_resetting_one_row_thaws_only_its_own_sensors():
    task = make("hopper", "sensor(*):freeze", 2)
    before = task.reset()
    for action in random_actions(task, 4):
        assert np.array_equal(task.step(action).observation, before)
    after = task.reset([1])
    assert np.array_equal(after[0], before[0])
    assert not np.isclose(after[1], before[1]).any()
    assert np.array_equal(task.step(random_actions(task, 1)[0]).observation, after)


def test_every_freeze_remembers_values_of_its_own():
    """One that is over, or on other parts, lets go of its own values only."""
    texts = [
        "sensor(*):freeze@1..3+sensor(right_leg.*):freeze@5",
        "sensor(right_leg.*):freeze@5+sensor(*):freeze@1..3",
        "sensor(torso.*):freeze@2..4+sensor(right_leg.*):freeze@5",
    ]
    task, whole = make("walker", texts, 3), make("walker", None, 3)
    actions = random_actions(whole, 20)
    (seen, truth), (true, expected) = run(task, actions), run(whole, actions)
    assert np.array_equal(truth, expected)
    everything, torso, leg = (whole.layout.select(part) for part in ("*", "torso.*", "right_leg.*"))
    shown = true.copy()
    shown[2, :2, everything] = true[1, :2, everything]
    shown[3, 2, torso] = true[2, 2, torso]
    shown[6:, :, leg] = true[5, :, leg].T
    assert np.array_equal(seen, shown)


def test_a_freeze_that_comes_back_holds_the_value_of_each_onset():
    task, whole = make("walker", "sensor(right_leg.*):freeze@every(6)..+3"), make("walker")
    actions = random_actions(whole, 20)
    (seen, _), (true, _) = run(task, actions), run(whole, actions)
    part = whole.layout.select("right_leg.*")
    for onset in (6, 12, 18):
        true[onset : onset + 3, :, part] = true[onset][:, part]
    assert np.array_equal(seen, true)


# Actions


def assert_acts_as(name, variation, actions, received):
    """A task with a fault, given `actions`, does what a whole one does with those `received`."""
    task, whole = make(name, variation, actions.shape[1]), make(name, None, actions.shape[1])
    for _ in range(2):  # also in the next episode
        (seen, truth), (expected_seen, expected) = run(task, actions), run(whole, received)
        assert np.array_equal(seen, expected_seen)
        assert np.array_equal(truth, expected)
    assert not np.array_equal(run(whole, actions)[1], run(whole, received)[1])


@each_robot
def test_a_failed_motor_receives_zero(name):
    whole = make(name, None, 2)
    actions = random_actions(whole, 8)
    for index, joint in enumerate(whole.anatomy.actions):
        received = actions.copy()
        received[:, :, index] = 0.0
        assert_acts_as(name, f"motor({joint})", actions, received)


def test_a_motor_fails_at_its_onset():
    actions = random_actions(make("walker", None, 2), 15)
    received = actions.copy()
    received[6:, :, 2] = received[6:, :, 5] = 0.0
    assert_acts_as("walker", "motor(foot_joint,foot_left_joint)@6", actions, received)


@each_robot
@pytest.mark.parametrize("delay", [1, 2, 7])
def test_delayed_actions_arrive_exactly_so_many_steps_late_after_zeros(name, delay):
    actions = random_actions(make(name, None, 2), 20)
    received = np.concatenate([np.zeros_like(actions[:delay]), actions[:-delay]])
    assert_acts_as(name, f"delay={delay}", actions, received)


def test_a_delay_with_an_onset_repeats_the_actions_under_way():
    actions = random_actions(make("walker", None, 2), 15)
    received = np.concatenate([actions[:6], actions[4:-2]])
    assert_acts_as("walker", "delay=2@6", actions, received)


def test_rows_may_have_delays_of_different_length():
    task, whole = make("hopper", ["delay=3", None, "delay=1"], 3), make("hopper", None, 3)
    actions = random_actions(task, 15)
    received = actions.copy()
    received[:, 0] = np.concatenate([np.zeros_like(actions[:3, 0]), actions[:-3, 0]])
    received[:, 2] = np.concatenate([np.zeros_like(actions[:1, 2]), actions[:-1, 2]])
    assert np.array_equal(run(task, actions)[1], run(whole, received)[1])


def test_a_reset_drops_the_actions_under_way_of_its_own_row_only():
    task, whole = make("walker", "delay=2", 2), make("walker", None, 2)
    actions = random_actions(task, 10)
    received = np.concatenate([np.zeros_like(actions[:2]), actions[:-2]])
    received[5:7, 1] = 0.0
    task.reset()
    whole.reset()
    for time, (action, arriving) in enumerate(zip(actions, received, strict=True)):
        if time == 5:
            assert np.array_equal(task.reset([1]), whole.reset([1]))
        found, expected = task.step(action), whole.step(arriving)
        assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))


def test_faults_do_not_write_into_the_callers_actions():
    task = make("walker", "motor(*)+delay=1")
    actions = random_actions(task, 1)[0]
    given = actions.copy()
    task.step(actions)
    assert np.array_equal(actions, given)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_sensor_failure_touches_only_what_it_names(data):
    layout = Walker.layout
    part = data.draw(st.sampled_from(sorted(layout.parts)))
    mode = data.draw(st.sampled_from(["", ":freeze", ":bias=0.5", ":noise=0.2"]))
    onset = data.draw(st.integers(0, 6))
    task, whole = make("walker", f"sensor({part}){mode}@{onset}"), make("walker")
    actions = random_actions(whole, 6)
    (spoiled, truth), (true, expected) = run(task, actions), run(whole, actions)
    assert np.array_equal(truth, expected)
    changed = np.unique(np.argwhere(spoiled != true)[:, 2])
    assert set(changed) <= set(layout.select(part).tolist())


def test_several_delays_add_up():
    actions = random_actions(make("walker"), 12)
    received = np.concatenate([np.zeros_like(actions[:3]), actions[:-3]])
    assert_acts_as("walker", "delay=1+delay=2", actions, received)
