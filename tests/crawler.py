"""The file of somebody's robot, as text: small, with two legs, and easily changed."""

from __future__ import annotations

from pathlib import Path

SOURCE = '''"""A robot that nobody installed."""
import mujoco
import numpy as np
import polygait as pg
from pathlib import Path

COST = 0.01
UNUSED = 1

MODEL = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="trunk" pos="0 0 0.2">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <geom name="trunk" type="box" size="0.2 0.05 0.05"/>
      <body name="front" pos="0.2 0 0">
        <joint name="front" axis="0 1 0"/>
        <geom name="front" type="capsule" size="0.02" fromto="0 0 0 0 0 -0.18"/>
      </body>
      <body name="back" pos="-0.2 0 0">
        <joint name="back" axis="0 1 0"/>
        <geom name="back" type="capsule" size="0.02" fromto="0 0 0 0 0 -0.18"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="front" gear="5" ctrlrange="-1 1"/>
    <motor joint="back" gear="5" ctrlrange="-1 1"/>
  </actuator>
</mujoco>
"""


class Crawler(pg.Robot):
    name = "crawler"
    frame_skip = 5
    max_episode_steps = 20
    layout = pg.StateLayout.of({"legs": ("front", "back"), "speed": ("x", "z", "front", "back")})
    feet = {"front": "front", "back": "back"}
    conditions = {"broken-front": "broken(front)"}
    removed = ("legs",)

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight

    def spec(self):
        return mujoco.MjSpec.from_string(MODEL)

    def initial_state(self, model, generator):
        return model.qpos0 + generator.uniform(-0.01, 0.01, model.nq), np.zeros(model.nv)

    def progress(self, physics):
        return physics.qpos[:, 0]

    def healthy(self, physics):
        return physics.qpos[:, 1] > -0.15

    def reward(self, motion):
        return self.weight * motion.velocity - COST * motion.control_effort()

    def observe(self, physics):
        return np.concatenate([physics.qpos[:, 2:], physics.qvel], axis=1)
'''


def write_crawler(folder: Path, *changes: tuple[str, str], name: str = "crawler.py") -> Path:
    """The robot's file, with some of its text replaced."""
    text = SOURCE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name
