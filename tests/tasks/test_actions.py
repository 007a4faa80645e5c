"""From actions in [−1, 1] to controls: ranges, servos, what the record says."""

import dataclasses
import json

import mujoco
import numpy as np
import pytest
from tests.tasks.models import DOG

from polygait.errors import UserError
from polygait.tasks.actions import ActionLaw, Servos, install_law, law_of, law_of_task
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.quadruped_model import HOME, home_pose
from polygait.tasks.registry import make_task, task_names
from polygait.tasks.robots.humanoid import Humanoid
from polygait.tasks.robots.quadruped import Quadruped

MIXED = """<mujoco><worldbody><body><freejoint/><geom size="0.1"/>
<body><joint name="a" range="-1 1"/><geom size="0.1"/></body>
<body><joint name="b" range="-90 30"/><geom size="0.1"/></body>
<body><joint name="c" type="slide"/><geom size="0.1"/></body>
<body><joint name="d"/><geom size="0.1"/></body>
<body><joint name="e"/><geom size="0.1"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="d" coef="1"/></fixed></tendon>
<actuator><motor joint="a" gear="30" ctrlrange="-2 2"/>
<position joint="b" kp="40" kv="2" ctrlrange="-1.5 0.5" forcerange="-9 9"/>
<velocity joint="c" kv="7" ctrlrange="-3 3"/>
<muscle name="pull" tendon="t" lengthrange="0 1" ctrlrange="0 1"/>
<motor joint="e"/></actuator></mujoco>"""
NAMES = ("a", "b", "c", "pull", "e")


def law(home=None, scales=None):
    return law_of(mujoco.MjModel.from_xml_string(MIXED), NAMES, 50.0, home, scales)


def test_every_kind_of_actuator_is_mapped_to_its_range():
    found = law()
    assert found.kinds == ("torque", "position", "velocity", "general", "torque")
    assert found.units == ("1", "rad", "m/s", "1", "N·m")
    assert found.effort == (60.0, 9.0, 0.0, 0.0, 0.0)
    assert found.stiffness[1] == 40.0
    assert found.damping[1:3] == (2.0, 7.0)
    lowest, middle, highest = (found.controls(np.full((1, 5), value))[0] for value in (-1.0, 0.0, 1.0))
    np.testing.assert_allclose(lowest, [-2, -1.5, -3, 0, -1])
    np.testing.assert_allclose(middle, [0, -0.5, 0, 0.5, 0])
    np.testing.assert_allclose(highest, [2, 0.5, 3, 1, 1])


def test_a_position_servo_is_centred_on_the_home_pose_and_stays_within_its_range():
    home = np.zeros(12)
    home[8] = -0.2
    found = law(home, scales=0.5)
    np.testing.assert_allclose(found.controls(np.eye(5)[1]), [0, 0.3, 0, 0.5, 0])
    np.testing.assert_allclose(found.controls(-np.eye(5)[1])[1], -0.7)
    wide = law(home)
    assert wide.scale[1] == 1.3  # so that the whole range can be reached
    assert wide.controls(np.eye(5)[1])[1] == 0.5


def test_the_record_is_plain_data():
    plain = json.loads(json.dumps(law().to_json()))
    assert plain["names"] == list(NAMES)
    assert plain["low"][4] is None  # without bounds
    assert plain["rate"] == 50.0


@pytest.mark.parametrize("kind", ["torque", "position", "velocity"])
def test_a_law_that_is_asked_for_replaces_motors_and_keeps_their_strength(kind):
    spec = mujoco.MjSpec.from_string(DOG)
    install_law(spec, kind, Servos(stiffness=30.0, damping=0.6))
    model = spec.compile()
    found = law_of(model, [f"motor_{index}" for index in range(model.nu)], 50.0)
    assert set(found.kinds) == {kind}
    assert set(found.effort) == {15.0}
    if kind == "position":
        assert (set(found.stiffness), set(found.damping)) == ({30.0}, {0.6})
        assert found.low[:2] == (-0.8, -2.2)


def test_a_servo_pulls_as_its_figures_say():
    spec = mujoco.MjSpec.from_string(DOG)
    install_law(spec, "position", Servos(stiffness=8.0, damping=0.6))
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[7:9], data.qvel[6:8], data.ctrl[:2] = (0.3, -1.0), (0.5, -2.0), (0.1, -0.5)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.actuator_force[:2], [8 * -0.2 - 0.6 * 0.5, 8 * 0.5 + 0.6 * 2.0])


def test_what_drives_no_joint_cannot_become_a_servo():
    with pytest.raises(UserError, match="'pull' drives no joint"):
        install_law(mujoco.MjSpec.from_string(MIXED), "position")
    with pytest.raises(UserError, match="Unknown law of actions"):
        install_law(mujoco.MjSpec.from_string(MIXED), "servo")


@pytest.mark.parametrize("name", [name for name in task_names() if name != "minitaur-bullet"])
def test_every_robot_of_ours_says_what_its_actions_do(name):
    task = make_task(name, num_threads=1)
    assert isinstance(task, MujocoTask)
    found = task.action_law
    assert found.names == tuple(task.anatomy.actions)
    assert (found.rate or 0) * (task.time_step or 0) == pytest.approx(1)
    assert {len(value) for value in vars(found).values() if isinstance(value, tuple)} >= {task.action_size}
    assert found.is_identity == (name not in ("humanoid", "quadruped"))


@pytest.mark.parametrize("name", ["hopper", "quadruped", "minitaur", "gym:Pendulum-v1"])
def test_what_was_written_down_is_the_same_law(name):
    found = law_of_task(make_task(name))
    written = json.loads(json.dumps(found.to_json()))
    assert ActionLaw.from_json(written).differences(found) == []
    slower = dataclasses.replace(found, rate=17.0, low=(-np.inf, *found.low[1:]))
    told = found.differences(ActionLaw.from_json(json.loads(json.dumps(slower.to_json()))))
    assert len(told) == 2 and "-inf" in told[0] and "17.0 are" in told[1]


@pytest.mark.parametrize(
    "wrong",
    [None, {}, {"names": ["one"]}, {"scale": ["much"] * 3}, {"kinds": [1, 2, 3]}, {"low": [True] * 3}],
)
def test_a_law_that_is_none_is_refused(wrong):
    data = law_of_task(make_task("hopper")).to_json() | wrong if wrong else wrong
    with pytest.raises(ValueError, match=r"must|something else"):
        ActionLaw.from_json(data)


def test_actions_arrive_as_the_law_says():
    task = MujocoTask(Humanoid(), num_threads=1)
    task.step(np.linspace(-1, 1, 17)[None])
    np.testing.assert_allclose(task.physics.ctrl[0], 0.4 * np.linspace(-1, 1, 17), atol=1e-15)


def test_a_robot_with_servos_begins_with_its_targets_at_home():
    task = MujocoTask(Quadruped(), num_threads=1)
    observation = task.reset()
    assert np.array_equal(observation[0, task.layout.select("*.target")], np.zeros(12))
    np.testing.assert_allclose(task.physics.ctrl[0], HOME * 4)
    assert law_of(task.model, task.anatomy.actions, 50.0, home_pose(), 0.5) == task.action_law
