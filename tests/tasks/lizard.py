"""A robot whose file names hardly anything, and whose knees cannot be straight."""

from types import MappingProxyType

import mujoco
import numpy as np

from polygait.tasks.robot import Robot
from polygait.tasks.state import StateLayout

XML = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="trunk" pos="0 0 0.6">
      <freejoint name="root"/>
      <geom type="box" size=".2 .1 .05" mass="3"/>
      <geom type="sphere" size=".05" pos=".25 0 0" mass=".5"/>
      <geom name="tail" type="sphere" size=".03" pos="-.25 0 0" mass=".1"/>
      <body name="shin" pos="0 .1 0">
        <joint name="knee" axis="0 1 0" range="-2.7 -0.8" limited="true" damping="1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass=".4"/>
        <body pos="0 0 -.3">
          <joint axis="0 1 0" range="-1 1" limited="true" damping="1"/>
          <geom type="sphere" size=".04" mass=".1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="knee" gear="5" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


class Lizard(Robot):
    name = "lizard"
    layout = StateLayout.of({"trunk": ("z",), "knee": ("angle",)})
    frame_skip = 5
    feet = MappingProxyType({"tail": "tail"})
    conditions = MappingProxyType({})
    removed = ("knee",)

    def spec(self):
        return mujoco.MjSpec.from_string(XML)

    def initial_state(self, model, generator):
        qpos = model.qpos0.copy()
        qpos[7] = -1.5 + generator.uniform(-0.2, 0.2)
        return qpos, np.zeros(model.nv)

    def progress(self, physics):
        return physics.qpos[:, 0]

    def healthy(self, physics):
        return np.ones(len(physics.qpos), dtype=bool)

    def reward(self, motion):
        return motion.velocity

    def observe(self, physics):
        return np.stack([physics.qpos[:, 2], physics.qpos[:, 7]], axis=1)
