import sys

import mujoco
import numpy as np

import polygait as pg

LEGS = [f"{leg}_{joint}" for leg in ("fl", "fr", "bl", "br") for joint in ("hip", "knee")]


class Quadruped(pg.Robot):
    name = "quadruped"
    frame_skip = 5
    max_episode_steps = 100
    floor = "ground"
    feet = {leg: f"{leg}_foot" for leg in ("fl", "fr", "bl", "br")}
    layout = pg.StateLayout.of(
        {"trunk": ("height", "w", "i", "j", "k"), "position": LEGS, "velocity": LEGS, "imu": ("x", "y", "z")}
    )
    removed = ("position", "velocity")
    conditions = {"broken-knee": "broken(fl_knee):limp", "heavy": "mass(trunk)=1.5"}
    sensors = ("turning",)

    def spec(self):
        return mujoco.MjSpec.from_file("quadruped.xml")

    def initial_state(self, model, generator):
        return model.qpos0 + generator.uniform(-0.02, 0.02, model.nq), np.zeros(model.nv)

    def progress(self, physics):
        return physics.qpos[:, 0]

    def healthy(self, physics):
        return physics.qpos[:, 2] > 0.15

    def reward(self, motion):
        return motion.velocity + motion.healthy - 0.05 * motion.control_effort()

    def observe(self, physics):
        return np.column_stack([physics.qpos[:, 2:], physics.qvel[:, 6:], physics.sensor("turning")])


if __name__ == "__main__":
    population = pg.train(Quadruped, out="run", members=2, steps=int(sys.argv[1]))
    result = pg.adapt(population, "broken-knee", episodes=3, held_out=3)
    print(f"member {result.best} keeps {result.held_out_return:.1f}")
    pg.evaluate(population, suite="damage", episodes=3)
    pg.write_report("run")
    pg.render(population, result.best, "gait.mp4")
