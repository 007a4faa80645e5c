"""Minitaur in MuJoCo: motors by hand, model, settling, randomiser, conditions, exactness, gaits."""

import mujoco
import numpy as np
import pytest
from tests.tasks.minitaur_gaits import GAITS, WITHOUT_BACK_LEFT, gait_returns

import polygait as pg
from polygait.errors import UserError
from polygait.tasks import minitaur_rules as rules
from polygait.tasks.minitaur_model import FOOT_FRICTION
from polygait.tasks.minitaur_motor import LEGS, MotorMemory, Supply, motor_targets, motor_torques
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.minitaur import Minitaur
from polygait.tasks.robots.walker import Walker
from polygait.tasks.task import Task


def make(num_envs=1, randomize=True, **options):
    return MujocoTask(Minitaur(randomize), num_envs=num_envs, num_threads=1, **options)


def random_actions(steps, num_envs, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, num_envs, 8))


def run(task, actions):
    seen = []
    for action in actions:
        step = task.step(action)
        seen.append(np.column_stack([*step, task.physics.qpos, task.physics.qvel]))
    return np.stack(seen)


def row_fields(task, *names, row=0):
    model = task.physics.batch.get_model(row)
    return [np.array(getattr(model, name)) for name in names]


# Motors


def memory():
    return MotorMemory.of(np.zeros((1, 24)))


def torque(target=0.0, angle=0.0, velocity=0.0, supply=None, remembered=None):
    """Of the first motor; the others rest at 0."""
    first = np.eye(1, 8)
    remembered = remembered or memory()
    found = motor_torques(target * first, angle * first, velocity * first, supply or Supply(), remembered)
    assert not found[0, 1:].any()
    return found[0, 0], remembered.torque[0, 0]


def test_swing_turns_a_legs_motors_apart_and_extension_together():
    assert np.allclose(motor_targets(np.zeros((1, 8))), np.pi - 1.5 * np.pi / 4)
    swing = motor_targets(np.eye(8))[:4] - motor_targets(np.zeros((1, 8)))
    signs = np.array([1, -1, 1, -1, -1, 1, -1, 1]) * np.pi / 4
    for leg in range(4):
        expected = np.zeros(8)
        expected[2 * leg : 2 * leg + 2] = signs[2 * leg : 2 * leg + 2]
        assert np.allclose(swing[leg], expected)
    extension = motor_targets(np.eye(8))[4:] - motor_targets(np.zeros((1, 8)))
    assert np.allclose(extension, -np.pi / 4 * np.repeat(np.eye(4), 2, axis=1))
    assert np.array_equal(motor_targets(np.full((1, 8), 7.0)), motor_targets(np.ones((1, 8))))


def test_torque_by_hand():
    # pwm 0.1: 1.6 V across 0.186 Ω is 8.60 A, which gives 0.860 Nm; seen as 0.0954·8.60.
    found, seen = torque(target=0.1)
    assert found == pytest.approx(0.1 * 16 / 0.186 / 10)
    assert seen == pytest.approx(0.0954 * 0.1 * 16 / 0.186)
    # pwm −0.25: 21.5 A, between 20 A (1.9 Nm) and 30 A (2.45 Nm).
    current = 0.25 * 16 / 0.186
    assert torque(angle=0.25)[0] == pytest.approx(-(1.9 + 0.055 * (current - 20)))
    # Far away pwm is 1, the current 86 A, and the iron saturates; the estimate is cut at 5.7 Nm.
    assert torque(target=9.0) == (3.5, 5.7)
    # Spinning at 20 rad/s: pwm −0.4, and the back EMF adds: −6.4 − 1.908 V.
    found, seen = torque(velocity=20.0)
    current = (0.4 * 16 + 0.0954 * 20) / 0.186
    assert found == pytest.approx(-(3.0 + 0.025 * (current - 40)))
    assert seen == pytest.approx(-0.0954 * 0.4 * 16 / 0.186)


def test_battery_and_viscous_damping_by_hand():
    assert torque(target=0.1, supply=Supply(8.0))[0] == pytest.approx(0.1 * 8 / 0.186 / 10)
    net = 0.02 * 5 * 16 + (0.0954 + 0.01) * 5
    assert torque(velocity=5.0, supply=Supply(16.0, 0.01))[0] == pytest.approx(
        -(1 + 0.09 * (net / 0.186 - 10))
    )


def test_a_hot_motor_shuts_down_after_more_than_a_second_and_stays_off():
    remembered = memory()
    found = [torque(target=9.0, remembered=remembered)[0] for _ in range(502)]
    assert found == [3.5] * 500 + [0.0] * 2
    assert torque(target=0.1, remembered=remembered)[0] == 0.0
    # One cool substep in between begins the count anew.
    remembered = memory()
    for _ in range(400):
        torque(target=9.0, remembered=remembered)
    torque(remembered=remembered)
    assert all(torque(target=9.0, remembered=remembered)[0] == 3.5 for _ in range(500))


def test_an_overheated_motor_is_without_torque_until_the_reset():
    task = make(2, randomize=False)
    MotorMemory.of(task.physics.memory).hot_substeps[0, 2] = 500
    action = np.full((2, 8), -1.0)  # far from the pose: all motors pull hard
    task.step(action)
    assert MotorMemory.of(task.physics.memory).shut_down.tolist() == [[0, 0, 1, 0, 0, 0, 0, 0], [0] * 8]
    assert (task.physics.ctrl == 0).tolist() == [[False, False, True] + [False] * 5, [False] * 8]
    task.reset([0])
    assert not MotorMemory.of(task.physics.memory).shut_down.any()


# State and model


def test_the_task():
    task = pg.make_task("minitaur", num_envs=2)
    assert isinstance(task, Task)
    assert (task.observation_size, task.action_size, task.max_episode_steps) == (28, 8, 1000)
    assert task.feet == LEGS
    assert task.layout.names[0] == "front_left.position.left"
    assert task.layout.slice("back_left.velocity") == slice(10, 12)
    assert task.layout.slice("base.orientation") == slice(24, 28)
    assert task.default_filter.removed_names == task.layout.names[:8]
    assert pg.make_task("minitaur", max_episode_steps=2000).max_episode_steps == 2000


def test_the_observation_is_angles_velocities_torques_and_orientation():
    task = make(randomize=False)
    run(task, random_actions(4, 1))
    observed, model = task.step(np.ones((1, 8))).observation[0], task.model
    joints = [model.joint(name) for name in rules.MOTORS]
    assert observed[:8].tolist() == [task.physics.qpos[0, joint.qposadr[0]] for joint in joints]
    assert observed[8:16].tolist() == [task.physics.qvel[0, joint.dofadr[0]] for joint in joints]
    x, y, z, w = observed[24:]
    assert [w, x, y, z] == task.physics.qpos[0, 3:7].tolist()
    driven = [model.actuator(index).trnid[0] for index in range(8)]
    assert driven == [joint.id for joint in joints]


def test_bodies_have_the_masses_and_inertias_that_bullet_computes():
    model = make().model
    assert model.body_mass.sum() == pytest.approx(6.0)
    expected = {
        "base": (3.0, (0.024097, 0.028852, 0.050357)),
        "rail_left": (0.1, (7.073e-5, 9.894e-4, 1.03073e-3)),
        "motor_back_right_left": (0.25, (2.0075e-4, 2.0075e-4, 3.5883e-4)),
        "motor_front_left_right": (0.25, (1.7e-7, 1.7e-7, 1.7e-7)),
        "upper_front_left_left": (0.05, (5.083e-5, 5.083e-5, 8.3e-7)),
        "lower_front_left_left": (0.05, (1.6727e-4, 1.6727e-4, 1.2e-6)),
        "lower_back_left_right": (0.05, (1.7605e-4, 1.7605e-4, 1.2e-6)),
    }
    for name, (mass, inertia) in expected.items():
        body = model.body(name)
        assert body.mass[0] == pytest.approx(mass)
        np.testing.assert_allclose(body.inertia, inertia, rtol=1e-3, atol=5e-9)
        assert not body.ipos.any()


def test_a_new_robot_has_come_to_rest_where_bullets_does():
    task = make(randomize=False)
    observation = task.reset()[0]
    assert task.physics.qpos[0, 2] == pytest.approx(0.158, abs=0.002)
    np.testing.assert_allclose(observation[:8], 1.49, atol=0.02)
    assert task.foot_contacts().tolist() == [[True] * 4]
    task.set_state(task.physics.qpos + np.eye(1, task.model.nq, 2), np.zeros((1, task.model.nv)))
    assert task.foot_contacts().tolist() == [[False] * 4]


def test_reward_and_ending_by_hand():
    task = make(2, randomize=False)
    before = task.physics.qpos[:, 0].copy()
    step = task.step(np.ones((2, 8)))
    power = (step.observation[:, 8:16] * step.observation[:, 16:24]).sum(axis=1)
    expected = task.physics.qpos[:, 0] - before - 0.005 * np.abs(power) * 0.002
    np.testing.assert_allclose(step.reward, expected, atol=1e-15)
    height = np.array([0.16, 0.129, 0.131, 0.16, 0.16])
    tilt = np.sin(np.radians([0, 0, 0, 31.7, 31.9]) / 2)  # cos 31.788° is 0.85
    for x, y in ((tilt, 0 * tilt), (0 * tilt, tilt), (0.6 * tilt, 0.8 * tilt)):
        assert rules.upright(height, x, y).tolist() == [True, False, True, True, False]


def loop_error(task):
    """How far the two halves of every foot are apart, in m."""
    task.physics.batch.forward(stage=mujoco.mjtStage.mjSTAGE_POS.value)
    sites = task.physics.batch.bind("site_xpos")
    pairs = [[task.model.site(f"foot_{leg}_{side}").id for side in rules.SIDES] for leg in LEGS]
    return max(np.linalg.norm(sites[:, one] - sites[:, other], axis=1).max() for one, other in pairs)


def wander(num_envs, steps):
    """Random actions from many robots; the largest loop error per step, and how many simulations diverged."""
    task = make(num_envs)
    task.physics.batch.bind("site_xpos")
    errors = []
    for action in random_actions(steps, num_envs):
        step = task.step(action)
        errors.append(loop_error(task))
        if step.terminated.any():
            task.reset(step.terminated)
    return np.array(errors), task.num_diverged


def test_legs_stay_closed_and_nothing_diverges():
    errors, diverged = wander(num_envs=40, steps=50)
    assert errors.max() < 0.002
    assert diverged == 0


@pytest.mark.slow
def test_legs_stay_closed_and_nothing_diverges_in_100_000_steps():
    errors, diverged = wander(num_envs=100, steps=1000)
    assert errors.max() < 0.002
    assert diverged == 0


# The randomiser


def test_every_episode_has_its_own_robot_within_the_ranges_of_the_original():
    task = make(12)
    names = ("body_mass", "body_inertia", "geom_friction", "actuator_user")
    seen = {name: [] for name in ("base", "upper", "motor", "rail", "friction", "voltage", "viscous")}
    for _ in range(2):
        task.reset()
        for row in range(12):
            mass, inertia, friction, user = row_fields(task, *names, row=row)
            body = {kind: task.model.body(name).id for kind, name in BODIES.items()}
            for kind in ("base", "upper", "motor", "rail"):
                scale = mass[body[kind]] / task.model.body_mass[body[kind]]
                seen[kind].append(scale)
                np.testing.assert_allclose(inertia[body[kind]], scale * task.model.body_inertia[body[kind]])
            assert mass[body["upper"]] == mass[task.model.body("lower_back_right_left").id]
            feet = [task.model.geom(geom).id for geoms in rules.FEET.values() for geom in geoms]
            assert len(set(friction[feet, 0])) == len(set(user[:, 0])) == len(set(user[:, 1])) == 1
            seen["friction"].append(friction[feet[0], 0] / FOOT_FRICTION)
            seen["voltage"].append(user[0, 0])
            seen["viscous"].append(user[0, 1])
    ranges = {"base": (0.8, 1.2), "upper": (0.8, 1.2), "motor": (0.8, 1.2), "friction": (0.8, 1.5)}
    ranges |= {"voltage": (14.8, 16.8), "viscous": (0.0, 0.01)}
    for kind, (low, high) in ranges.items():
        values = np.array(seen[kind])
        assert len(set(values)) == 24
        assert low <= values.min() < low + (high - low) / 4
        assert high - (high - low) / 4 < values.max() <= high
    assert set(seen["rail"]) == {1.0}


BODIES = {
    "base": "base",
    "upper": "upper_back_left_right",
    "motor": "motor_back_left_right",
    "rail": "rail_left",
}


def test_without_the_randomiser_all_robots_are_alike():
    task = make(3, randomize=False)
    first = task.reset()
    assert (first == first[0]).all()
    assert np.array_equal(task.reset(), first)
    assert len(np.unique(make(3).reset(), axis=0)) == 3


def test_variations_scale_the_drawn_robot_and_do_not_compound():
    task, plain = make(2, variation="base-mass=1.5@3+voltage=0.5@3"), make(2)
    for _ in range(2):
        task.reset()
        plain.reset()
        task.step(np.zeros((2, 8)))
        before = row_fields(task, "body_mass", "actuator_user", row=1)
        run(task, np.zeros((3, 2, 8)))
        after = row_fields(task, "body_mass", "actuator_user", row=1)
        drawn = row_fields(plain, "body_mass", "actuator_user", row=1)
        for one, other in zip(before, drawn, strict=True):
            assert np.array_equal(one, other)
        assert after[0][1] == pytest.approx(1.5 * drawn[0][1])
        np.testing.assert_allclose(after[1], drawn[1] * [0.5, 1.0])


# Conditions

HALF_LEGS = [f"{leg}_{side}" for leg in LEGS for side in rules.SIDES]
CHANGES = {
    "base-mass=2": ("body_mass", {"base"}, 2.0),
    "leg-mass=2": ("body_mass", {f"{part}_{half}" for part in ("upper", "lower") for half in HALF_LEGS}, 2.0),
    "motor-mass=2": ("body_mass", set(rules.MOTORS), 2.0),
    "foot-friction=0.5": ("geom_friction", {geom for geoms in rules.FEET.values() for geom in geoms}, 0.5),
    "voltage=0.8": ("actuator_user", set(rules.MOTORS), 0.8),
    "broken(motor_back_left_*):limp": ("actuator_gainprm", set(rules.MOTORS[2:4]), 0.0),
}


@pytest.mark.parametrize("text", CHANGES)
def test_conditions_change_what_they_name(text):
    field, parts, factor = CHANGES[text]
    task = make(randomize=False, variation=text)
    nominal, changed = np.array(getattr(task.model, field)), row_fields(task, field)[0]
    name = getattr(task.model, field.partition("_")[0])
    named = [row for row in range(len(nominal)) if name(row).name in parts]
    assert len(named) == len(parts)
    expected = nominal.copy()
    expected.reshape(len(nominal), -1)[named, 0] *= factor
    assert np.array_equal(changed, expected)
    if field == "body_mass":
        inertia = task.model.body_inertia.copy()
        inertia[named] *= factor
        assert np.array_equal(row_fields(task, "body_inertia")[0], inertia)


@pytest.mark.parametrize("leg", range(4))
def test_a_failed_leg_holds_its_neutral_pose(leg):
    name = LEGS[leg].replace("_", "-")
    task = make(randomize=False, variation=f"motor-failure-{name}")
    actions = random_actions(1, 1)
    task.step(actions[0])
    neutral = actions[0].copy()
    neutral[0, [leg, 4 + leg]] = 0.0
    healthy = make(randomize=False)
    healthy.step(neutral)
    assert np.array_equal(task.physics.qpos, healthy.physics.qpos)
    if leg == 1:
        paper = make(randomize=False, variation="motor-failure")
        paper.step(actions[0])
        assert np.array_equal(paper.physics.qpos, task.physics.qpos)


def test_other_robots_have_no_battery():
    with pytest.raises(UserError, match="no supply voltage"):
        MujocoTask(Walker(), variation="voltage=0.8")


@pytest.mark.parametrize("text", ["motor(motor_back_left_left)", "strength(back_left.swing)=0.5"])
def test_actions_and_motors_have_names_of_their_own(text):
    with pytest.raises(UserError, match="Unknown"):
        make(variation=text)


# Exactness


def test_same_bits_on_any_threads_alone_or_among_others():
    seeds, actions = np.array([3, 1, 4, 1, 5, 9]), random_actions(12, 6)

    def trajectory(rows, num_threads=1):
        task = MujocoTask(Minitaur(), num_envs=len(rows), num_threads=num_threads)
        first = task.reset(seeds=seeds[rows])
        seen = run(task, actions[:, rows])
        return first, seen, task.reset()

    together = trajectory(np.arange(6))
    for one, other in zip(together, trajectory(np.arange(6), num_threads=2), strict=True):
        assert np.array_equal(one, other)
    alone = trajectory(np.array([4]))
    assert np.array_equal(together[0][4], alone[0][0])
    assert np.array_equal(together[1][:, 4], alone[1][:, 0])
    assert np.array_equal(together[2][4], alone[2][0])


def test_a_snapshot_goes_on_bit_for_bit_also_in_a_fresh_task():
    variation = [None, "voltage=0.7@6", "motor-failure@7", "base-mass=1.4@2+sensor(*.position):noise=0.1"]
    task = make(4, seed=3, variation=variation)
    actions = random_actions(24, 4)
    run(task, actions[:4])
    task.reset([2])
    run(task, actions[4:8])
    snapshot = task.snapshot()

    def go_on(one):
        return [run(one, actions[8:16]), one.reset([1, 3]), run(one, actions[16:])]

    expected = go_on(task)
    for other in (task, make(4, seed=3, variation=variation)):
        other.restore(snapshot)
        for one, two in zip(go_on(other), expected, strict=True):
            assert np.array_equal(one, two)


def test_a_diverged_row_ends_its_own_episode_and_no_other():
    task, healthy = make(3), make(3)
    actions = random_actions(4, 3)
    task.physics.qpos[1] = np.nan
    step, expected = task.step(actions[0]), healthy.step(actions[0])
    assert task.diverged.tolist() == [False, True, False]
    assert step.terminated[1] and step.reward[1] == 0.0 and np.isfinite(step.observation).all()
    task.reset([1])
    healthy.reset([1])
    assert np.array_equal(run(task, actions[1:]), run(healthy, actions[1:]))
    assert np.array_equal(step.observation[[0, 2]], expected.observation[[0, 2]])


def test_a_robot_that_breaks_down_while_it_settles_is_found_out(monkeypatch):
    task = make(2, randomize=False)
    motors = task.robot.motors
    assert motors is not None
    drive = motors.drive

    def poison(physics, rows, commands):
        drive(physics, rows, commands)
        physics.qvel[1] = np.nan

    monkeypatch.setattr(motors, "drive", poison)
    task.reset()
    monkeypatch.undo()
    task.step(np.zeros((2, 8)))
    assert task.diverged.tolist() == [False, True]
    assert task.num_diverged == 1


# Fidelity


def test_gaits_come_as_far_as_in_bullet():
    found = gait_returns(make(len(GAITS), randomize=False))
    np.testing.assert_allclose(found, list(GAITS.values()), rtol=0.2)


@pytest.mark.slow
def test_with_a_failed_leg_gaits_come_nearly_as_far_as_in_bullet():
    found = gait_returns(make(len(GAITS), randomize=False, variation="motor-failure"))
    np.testing.assert_allclose(found[1:], WITHOUT_BACK_LEFT[1:], rtol=0.2)
    assert 0.5 < found[0] / WITHOUT_BACK_LEFT[0] < 1.2  # the fastest gait suffers more
