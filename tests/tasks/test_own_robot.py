"""Robots that do as users' robots do: sensors that are read, views that are handed out."""

import mujoco
import numpy as np
import pytest

import polygait as pg
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robot import Motion, Physics

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="box" pos="0 0 1">
      <freejoint/>
      <geom name="box" type="box" size="0.1 0.1 0.1"/>
      <site name="imu"/>
      <site name="sole" type="box" size="0.11 0.11 0.11"/>
      <body name="arm">
        <joint name="hinge" axis="0 1 0"/>
        <geom name="arm" type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
  <sensor>
    <accelerometer name="acceleration" site="imu"/>
    <gyro name="turning" site="imu"/>
    <touch name="touch" site="sole"/>
    <rangefinder name="height" site="imu"/>
  </sensor>
</mujoco>
"""


class Box(pg.Robot):
    """A box with an arm that falls; its height is all there is to see."""

    name = "box"
    layout = pg.StateLayout.of({"box": ("height",)})
    frame_skip = 2
    feet = {"box": "box"}  # noqa: RUF012
    conditions = {}  # noqa: RUF012
    removed = ("box.height",)

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_string(MODEL)

    def initial_state(self, model, generator):
        qvel = np.zeros(model.nv)
        qvel[3:6] = generator.uniform(-1, 1, 3)
        return model.qpos0, qvel

    def progress(self, physics: Physics) -> np.ndarray:
        return physics.qpos[:, 0]

    def healthy(self, physics: Physics) -> np.ndarray:
        return np.ones(len(physics.qpos), dtype=bool)

    def reward(self, motion: Motion) -> np.ndarray:
        return motion.velocity

    def observe(self, physics: Physics) -> np.ndarray:
        return physics.qpos[:, 2:3].copy()


class Sensing(Box):
    layout = pg.StateLayout.numbered(8)
    removed = ("state.0",)
    fields = ("sensordata",)

    def observe(self, physics: Physics) -> np.ndarray:
        return physics.derived["sensordata"][:, :8]


class Named(Sensing):
    fields = ()
    sensors = ("turning", "height")
    layout = pg.StateLayout.numbered(4)

    def observe(self, physics: Physics) -> np.ndarray:
        return np.concatenate([physics.sensor("turning"), physics.sensor("height")], axis=1)


def sensors_by_mujoco(task: MujocoTask) -> np.ndarray:
    """What MuJoCo's own sensors read at the states of a task, one row each."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data, found = mujoco.MjData(model), []
    for row in range(task.num_envs):
        data.qpos[:], data.qvel[:] = task.physics.qpos[row], task.physics.qvel[row]
        data.ctrl[:], data.qacc_warmstart[:] = task.physics.ctrl[row], 0
        mujoco.mj_forward(model, data)
        found.append(data.sensordata.copy())
    return np.array(found)


def test_sensors_that_are_read_hold_at_the_observed_state_from_first_to_last():
    task = MujocoTask(Sensing(), num_envs=3, seed=1)
    seen = [task.reset()]
    assert seen[0] == pytest.approx(sensors_by_mujoco(task), abs=1e-6)
    for _ in range(40):  # it falls for 45 steps of 0.01 s, and touches the ground
        seen.append(task.step(np.full((3, 1), 0.3)).observation)
        assert seen[-1][:, 3:6] == pytest.approx(sensors_by_mujoco(task)[:, 3:6], abs=1e-9)
        assert seen[-1][:, 7] == pytest.approx(sensors_by_mujoco(task)[:, 7], abs=1e-9)
        assert seen[-1] == pytest.approx(sensors_by_mujoco(task), rel=1e-3, abs=1e-3)
    assert seen[-1][:, 6].max() > 0 == seen[0][:, 6].max()


def test_sensors_by_name_and_no_others_are_kept():
    task, all_of_them = MujocoTask(Named(), num_envs=2), MujocoTask(Sensing(), num_envs=2)
    for _ in range(5):
        step, other = task.step(np.zeros((2, 1))), all_of_them.step(np.zeros((2, 1)))
        assert np.array_equal(step.observation, other.observation[:, [3, 4, 5, 7]])
    own = [
        name
        for index in range(task.model.nsensor)
        if "polygait" not in (name := task.model.sensor(index).name)
    ]
    assert own == ["turning", "height"]
    assert MujocoTask(Box()).model.nsensor == 1  # the foot's alone


def test_reading_sensors_changes_nothing_else():
    task, blind = MujocoTask(Sensing(), seed=4), MujocoTask(Box(), seed=4)
    for _ in range(60):
        task.step(np.ones((1, 1)))
        blind.step(np.ones((1, 1)))
    assert np.array_equal(task.physics.qpos, blind.physics.qpos)


def test_an_unknown_sensor_is_told_with_its_neighbours():
    class Misspelt(Named):
        sensors = ("turnin",)

    with pytest.raises(pg.UserError, match=r"Unknown sensor: 'turnin'\.\nDid you mean 'turning'"):
        MujocoTask(Misspelt())


class Careless(Box):
    """Hands out the physics itself, as a state and as a reward."""

    layout = pg.StateLayout.of({"box": ("x", "y", "height", "w", "i", "j", "k", "hinge")})

    def reward(self, motion: Motion) -> np.ndarray:
        return motion.observation[:, 2]

    def observe(self, physics: Physics) -> np.ndarray:
        return physics.qpos


@pytest.mark.parametrize("mode", ["zero", "bias=0.5", "noise=0.1", "freeze"])
def test_a_sensor_that_lies_does_not_move_the_robot(mode):
    task = MujocoTask(Careless(), num_envs=2, variation=[f"sensor(box.height):{mode}", None])
    task.reset(seeds=[0, 0])
    for _ in range(19):
        task.step(np.zeros((2, 1)))
    step = task.step(np.zeros((2, 1)))
    assert step.observation[0, 2] != step.observation[1, 2]
    assert np.array_equal(task.physics.qpos[0], task.physics.qpos[1])
    assert np.array_equal(step.reward[0], step.reward[1])


def test_a_row_at_rest_keeps_its_physics_when_views_are_handed_out():
    task = MujocoTask(Careless(), num_envs=2)
    task.step(np.zeros((2, 1)))
    before = task.physics.qpos.copy()
    task.rest([0])
    task.step(np.zeros((2, 1)))
    assert np.array_equal(task.physics.qpos[0], before[0])
    assert not np.array_equal(task.physics.qpos[1], before[1])
