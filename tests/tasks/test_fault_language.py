"""Faults that end, come back or begin by chance, packets that get lost, pushes: where, when and how much."""

import math

import mujoco
import numpy as np
import pytest
from tests.tasks.test_damage import airborne, differences, row_fields
from tests.tasks.test_faults import assert_acts_as, random_actions, run

from polygait.errors import UserError
from polygait.tasks.gym import GymTask
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robot import Robot
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.walker import Walker


def make(variation=None, num_envs=1, seed=0, robot: type[Robot] = Walker):
    return MujocoTask(robot(), num_envs=num_envs, variation=variation, seed=seed, num_threads=1)


def steps_in_which(task, acts, steps=60):
    """The steps of one episode in which a row's model answers a question."""
    task.reset()
    found = []
    for moment in range(steps):
        task.step(np.zeros((task.num_envs, task.action_size)))
        if acts(task.physics.batch.get_model(0)):
            found.append(moment)
    return found


def heavy(model):
    return model.body("foot").mass[0] > 4


HEAVY = "mass(foot)=2"


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("@5..9", [5, 6, 7, 8]),
        ("@5..+4", [5, 6, 7, 8]),
        ("@0..2", [0, 1]),
        ("@every(10)..+2", [10, 11, 20, 21, 30, 31, 40, 41, 50, 51]),
        ("@random(7..7)..+1", [7]),
    ],
)
def test_an_edit_acts_in_the_steps_it_names(when, expected):
    task = make(f"{HEAVY}{when}")
    for _ in range(2):
        assert steps_in_which(task, heavy) == expected


def test_a_robot_recovers_to_the_last_bit():
    text = "mass(*):inertia=2+gravity=1.5+broken(foot_joint)+friction(*)=0.4+offset(leg_joint)=0.1"
    task, nominal = make("+".join(f"{one}@3..6" for one in text.split("+"))), make()
    before = row_fields(nominal)
    for moment in range(8):
        task.step(np.zeros((1, 6)))
        assert bool(differences(row_fields(task), before)) == (3 <= moment < 6)


def test_a_random_onset_is_drawn_for_every_episode_from_the_row_alone():
    task, alone = make(f"{HEAVY}@random(0..50)", num_envs=3, seed=4), make(f"{HEAVY}@random(0..50)")
    seeds = [11, 12, 13]
    task.reset(seeds=seeds)
    alone.reset(seeds=seeds[:1])
    onsets = []
    for _ in range(8):
        (group,) = task._schedule.effects
        assert group.begins[0] == alone._schedule.effects[0].begins[0]
        onsets += group.begins.tolist()
        task.reset()
        alone.reset()
    assert min(onsets) >= 0 and max(onsets) <= 50 and len(set(onsets)) > 10


def test_all_of_an_edit_begins_together_at_a_random_onset():
    task = make("broken(foot_joint)@random(1..40)+mass(foot)=2@random(1..40)", num_envs=16)
    limited, ranged, mass = task._schedule.effects
    assert np.array_equal(limited.begins, ranged.begins)
    assert not np.array_equal(limited.begins, mass.begins)


def test_random_without_bounds_is_somewhere_in_the_episode():
    task = make(f"{HEAVY}@random", num_envs=200)
    (group,) = task._schedule.effects
    assert group.begins.max() < task.max_episode_steps
    assert group.begins.std() == pytest.approx(1000 / math.sqrt(12), rel=0.2)


RICH = [
    "sensor(*):drop=0.4",
    "motor(*):drop=0.4",
    "sensor(right_leg.*):drift=0.02@4..12",
    "sensor(torso.*):freeze@every(6)..+3",
    "backlash(*)=0.5",
    "strength(*):fade=0.03@2",
    "push=80N@5..14+torque(leg_joint)=9Nm@3..30",
    "slope=8@random(2..18)+mass(torso)=2@random(2..18)..+3",
    "broken(leg_joint):hold@6..15+delay=2@3..9",
    "motor(foot_joint):drop=0.5+motor(*):drop=0.2+sensor(*):drop=0.3+sensor(*):bias=1+sensor(*):drop=0.3",
    "sensor(*):freeze@1..11+sensor(right_leg.*):freeze@5+sensor(torso.*):freeze@every(7)..+5",
    "sensor(*):drop=0.8@every(4)..+3+motor(*):drop=0.8@every(4)..+3+motor(*):drop=0.8@13",
]


@pytest.mark.parametrize("text", RICH)
def test_a_snapshot_goes_on_bit_for_bit(text):
    task, alike, fresh = make(text, 3), make(text, 3), make(text, 3)
    actions = random_actions(task, 24)
    task.reset()
    for action in actions[:9]:
        task.step(action)
    task.reset([1])
    for action in actions[:3]:
        task.step(action)
    saved = {name: np.array(array) for name, array in task.snapshot().items()}
    alike.restore(saved)
    for action in actions:
        first, second = task.step(action), alike.step(action)
        assert all(np.array_equal(*pair) for pair in zip(first, second, strict=True))
    assert differences(row_fields(fresh), row_fields(make())) <= {"opt.gravity", "opt.disableflags"}


def test_a_snapshot_from_before_freezes_had_memories_of_their_own_is_read_where_nothing_froze():
    old = {"frozen_sensors": np.full((1, 17), np.nan)}
    moving, frozen = make("sensor(*):drop=0.4+delay=1"), make("sensor(*):freeze")
    for action in random_actions(moving, 5):
        moving.step(action)
    other = make("sensor(*):drop=0.4+delay=1")
    other.restore({**moving.snapshot(), **old})
    action = random_actions(moving, 1)[0]
    assert np.array_equal(other.step(action).observation, moving.step(action).observation)
    snapshot = {**frozen.snapshot(), **old}
    del snapshot["frozen_sensors.0"]
    with pytest.raises(UserError, match=r"frozen_sensors\.0 has nothing"):
        frozen.restore(snapshot)


@pytest.mark.parametrize("text", RICH)
def test_a_row_does_not_know_its_neighbours(text):
    task, alone = make([None, text, "delay=7+sensor(*):drop=0.9"], 3), make(text)
    seeds = np.array([5, 6, 7])
    task.reset(seeds=seeds)
    alone.reset(seeds=seeds[1:2])
    for action in random_actions(task, 20):
        assert np.array_equal(task.step(action).observation[1], alone.step(action[1:2]).observation[0])


def test_a_drifting_sensor_goes_astray_by_so_much_in_every_step():
    task, whole = make("sensor(right_leg.position):drift=0.01@5"), make()
    actions = random_actions(whole, 20)
    (spoiled, truth), (true, expected) = run(task, actions), run(whole, actions)
    assert np.array_equal(truth, expected)
    part = whole.layout.slice("right_leg.position")
    astray = (spoiled - true)[:, 0]
    assert np.allclose(astray[:, part], 0.01 * np.maximum(np.arange(21) - 5, 0)[:, None], atol=1e-12)
    astray[:, part] = 0
    assert not astray.any()


def test_a_lost_packet_leaves_what_the_last_one_brought():
    task, whole = make("sensor(right_leg.*):drop=0.3", 8), make(None, 8)
    actions = random_actions(whole, 150)
    (seen, truth), (true, expected) = run(task, actions), run(whole, actions)
    assert np.array_equal(truth, expected)
    part = whole.layout.select("right_leg.*")
    others = np.setdiff1d(np.arange(whole.observation_size), part)
    assert np.array_equal(seen[..., others], true[..., others])
    arrived = (seen[..., part] == true[..., part]).all(axis=-1)
    repeated = (seen[1:, :, part] == seen[:-1, :, part]).all(axis=-1)
    assert arrived[0].all() and (arrived[1:] | repeated).all()
    assert 1 - arrived.mean() == pytest.approx(0.3, abs=0.04)


def test_a_lost_command_leaves_the_motor_at_its_last_one():
    whole = make(None, 4)
    task = make("motor(foot_joint,leg_joint):drop=0.4", 4)
    actions = random_actions(whole, 200)
    task.reset()
    received = []
    for action in actions:
        received.append(task._faults.on_actions(action, task.step_count))
        task._count_step()
    received = np.stack(received)
    hit = [task.anatomy.actions.index(joint) for joint in ("foot_joint", "leg_joint")]
    others = np.setdiff1d(np.arange(6), hit)
    assert np.array_equal(received[..., others], actions[..., others])
    lost = (received[..., hit] != actions[..., hit]).all(axis=-1)
    assert lost.mean() == pytest.approx(0.4, abs=0.05)
    again = (received[1:, :, hit] == received[:-1, :, hit]).all(axis=-1)
    assert again[lost[1:]].all()


def assert_the_last_packet_stays(received, sent, group):
    """In the steps of a fault, and only there, packets get lost, the first of a window too."""
    lost = (received != sent).any(axis=-1)
    steps = np.broadcast_to(np.arange(len(sent))[:, None], lost.shape)
    assert not lost[~group.acts(steps)].any()
    assert lost[group.age(steps) == 0].any()
    again = (received[1:] == received[:-1]).all(axis=-1)
    assert again[lost[1:]].all()


WINDOWS = ["@every(8)..+3", "@5", "@random(4..9)..+6"]


@pytest.mark.parametrize("when", WINDOWS)
def test_a_lost_packet_leaves_the_last_one_also_from_before_the_fault(when):
    task, whole = make(f"sensor(right_leg.*):drop=0.9{when}", 8), make(None, 8)
    actions, part = random_actions(whole, 40), whole.layout.select("right_leg.*")
    (seen, _), (true, _) = run(task, actions), run(whole, actions)
    assert_the_last_packet_stays(seen[..., part], true[..., part], task._schedule.effects[0])


@pytest.mark.parametrize("when", WINDOWS)
def test_a_lost_command_leaves_the_last_one_also_from_before_the_fault(when):
    task = make(f"motor(*):drop=0.9{when}", 8)
    task.reset()
    actions, received = random_actions(task, 40), []
    for action in actions:
        received.append(task._faults.on_actions(action, task.step_count))
        task._count_step()
    assert_the_last_packet_stays(np.stack(received), actions, task._schedule.effects[0])


def test_backlash_lets_a_command_move_through_the_play_first():
    actions = random_actions(make(None, 2), 40)
    received = actions.copy()
    follower = np.zeros(2)
    for moment, command in enumerate(actions[:, :, 2]):
        follower = np.clip(follower, command - 0.15, command + 0.15)
        received[moment, :, 2] = follower
    assert_acts_as("walker", "backlash(foot_joint)=0.3", actions, received)


def test_two_plays_in_a_gear_add_up():
    task, other = make("backlash(*)=0.1+backlash(*)=0.2"), make("backlash(*)=0.3")
    actions = random_actions(task, 30)
    found, expected = run(task, actions)[1], run(other, actions)[1]
    assert np.allclose(found, expected, atol=1e-9, rtol=0)


def test_an_offset_turns_the_limb_and_not_the_reading():
    task, whole = make("offset(leg_joint)=0.2"), make()
    positions = []
    for one in (task, whole):
        airborne(one)
        model, data = one.physics.batch.get_model(0), one.physics.batch.get_data(0)
        mujoco.mj_forward(model, data)
        positions.append((data.qpos.copy(), data.xpos.copy(), data.body("leg").xmat.reshape(3, 3).copy()))
    (read, bent, turned), (expected, straight, upright) = positions
    assert np.array_equal(read, expected)
    moved = {task.model.body(row).name for row in range(8) if np.abs(bent[row] - straight[row]).max() > 1e-9}
    assert moved <= {"leg", "foot"} and "foot" in moved
    axis = task.model.joint("leg_joint").axis
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, (upright.T @ turned).ravel())
    angle = 2 * math.atan2(quaternion[1:] @ axis, quaternion[0])
    assert angle == pytest.approx(0.2, abs=1e-9)


def test_strength_fades_step_by_step_to_nothing():
    task = make("strength(foot_joint):fade=0.1@3")
    motor = task.anatomy.actions.index("foot_joint")
    nominal = task.model.actuator_gainprm[:, 0].copy()
    for _ in range(2):
        task.reset()
        for moment in range(20):
            task.step(np.zeros((1, 6)))
            gains = task.physics.batch.get_model(0).actuator_gainprm[:, 0] / nominal
            assert gains[motor] == pytest.approx(min(1, max(0, 1 - 0.1 * (moment - 3))))
            assert (np.delete(gains, motor) == 1).all()


def test_strength_fades_also_where_only_actions_can_be_changed():
    task = GymTask("Pendulum-v1", variation="strength(action_0):fade=0.25@1")
    received = []
    for _ in range(7):
        received.append(float(task._faults.on_actions(np.ones((1, 1)), task.step_count)[0, 0]))
        task.step(np.zeros((1, 1)))
    assert received == [1, 1, 0.75, 0.5, 0.25, 0, 0]


def gained(task, whole, steps=8):
    """How much faster a robot in the air becomes in every step than a whole one, m/s along x, y and z."""
    for one in (task, whole):
        airborne(one)
    found = []
    for _ in range(steps):
        before = momentum(task) - momentum(whole)
        for one in (task, whole):
            one.step(np.zeros((1, one.action_size)))
        found.append((momentum(task) - momentum(whole) - before) / task.model.body_subtreemass[0])
    return np.array(found)


@pytest.mark.parametrize(
    ("robot", "axis", "index"),
    [(Walker, "", 0), (Walker, ":z", 2), (Ant, "", 0), (Ant, ":y", 1), (Ant, ":z", 2)],
)
@pytest.mark.parametrize("newtons", [50, -30])
def test_a_push_pushes_its_body_along_its_axis_in_its_steps_only(robot, axis, index, newtons):
    if robot is Ant:
        newtons /= 25  # which weighs so much less
    task, whole = make(f"push{axis}={newtons}N@2..5", robot=robot), make(robot=robot)
    found, expected = gained(task, whole), np.zeros((8, 3))
    expected[2:5, index] = newtons * task.time_step / task.model.body_subtreemass[0]
    assert np.allclose(found, expected, atol=1e-3 * np.abs(expected).max() + 1e-9)


@pytest.mark.parametrize("degrees", [10, -10])
@pytest.mark.parametrize(("side", "index"), [("", 0), (":side", 1)])
def test_a_slope_pulls_down_along_its_axis_only(side, index, degrees):
    task, whole = make(f"slope{side}={degrees}@2..5", robot=Ant), make(robot=Ant)
    found, expected = gained(task, whole), np.zeros((8, 3))
    fall, angle = 9.81 * task._seconds, math.radians(degrees)
    expected[2:5, index] = -fall * math.sin(angle)  # down from where the floor rises to, x ahead or y left
    expected[2:5, 2] = fall * (1 - math.cos(angle))
    assert np.allclose(found, expected, atol=1e-3 * fall)


def momentum(task):
    """Of the whole robot."""
    model, data = task.physics.batch.get_model(0), task.physics.batch.get_data(0)
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    return data.subtree_linvel[0] * model.body_subtreemass[0]


def test_a_push_without_an_end_lasts_one_step():
    once, spelled = make("push=50N@3"), make("push(torso)=50N@3..4")
    actions = random_actions(once, 10)
    assert np.array_equal(run(once, actions)[1], run(spelled, actions)[1])
    assert not np.array_equal(run(once, actions)[1], run(make(), actions)[1])


def test_a_torque_turns_its_joint():
    task, whole = make("torque(foot_joint)=8Nm@0..2"), make()
    for one in (task, whole):
        airborne(one)
        one.step(np.zeros((1, 6)))
    turned = task.physics.qvel[0] - whole.physics.qvel[0]
    assert turned[5] > 0.1 and np.argmax(np.abs(turned)) == 5
    assert not task.physics.batch.bind("qfrc_applied")[0, [3, 4, 6, 7, 8]].any()


@pytest.mark.parametrize("degrees", [10, -10])
def test_a_slope_pulls_back_who_walks_up(degrees):
    task, whole = make(f"slope={degrees}"), make()
    gravity = row_fields(task)["opt.gravity"]
    assert np.linalg.norm(gravity) == pytest.approx(9.81)
    assert gravity[0] == pytest.approx(-9.81 * math.sin(math.radians(degrees)))
    assert gravity[1] == 0
    assert differences(row_fields(task), row_fields(whole)) == {"opt.gravity"}
    airborne(task)
    for _ in range(10):
        task.step(np.zeros((1, 6)))
    assert np.sign(task.physics.qvel[0, 0]) == -np.sign(degrees)


def test_a_slope_and_stronger_gravity_go_together():
    gravity = row_fields(make("gravity=2+slope=30"))["opt.gravity"]
    assert np.allclose(gravity, row_fields(make("slope=30+gravity=2"))["opt.gravity"])
    assert np.linalg.norm(gravity) == pytest.approx(2 * 9.81)


def test_what_gymnasiums_environments_cannot_do_is_refused():
    for text in ("slope=5", "push=50N", "broken(action_0):hold"):
        with pytest.raises(UserError) as caught:
            GymTask("Pendulum-v1", variation=text)
        assert caught.value.remedy
