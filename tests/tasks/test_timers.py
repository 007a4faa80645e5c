"""What MuJoCo does beside physics and nobody needs is left out, and no bit of a simulation changes."""

import subprocess
import sys

import mujoco
import numpy as np
import pytest

from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.registry import make_task

ISLANDS = mujoco.mjtDisableBit.mjDSBL_ISLAND.value
OWN_ROBOTS = ["hopper", "walker", "ant", "half-cheetah", "humanoid", "swimmer", "quadruped", "minitaur"]


@pytest.mark.parametrize("name", OWN_ROBOTS)
def test_one_tree_of_bodies_needs_no_search_for_islands(name, monkeypatch):
    ends = []
    for islands in (False, True):
        task = make_task(name, num_envs=4, seed=3, num_threads=1)
        assert isinstance(task, MujocoTask)
        assert task.model.ntree == 1
        assert task._disabled[0] & ISLANDS
        if islands:
            monkeypatch.setattr(task, "_flags", task._flags & ~ISLANDS)
            task._disabled &= ~ISLANDS
        task.reset()
        for actions in np.random.default_rng(0).uniform(-1, 1, (60, 4, task.action_size)):
            task.step(actions)
        assert bool(task._disabled[0] & ISLANDS) is not islands
        ends.append(task.physics.batch.state.copy())
    assert np.array_equal(*ends)


def script(*lines):
    """What a new process prints, since the clock belongs to the whole process."""
    answer = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return answer.stdout.split()


PENDULUM = (
    "import mujoco, polygait as pg",
    'xml = \'<mujoco><worldbody><body><joint axis="0 1 0"/><geom size="1"/></body></worldbody></mujoco>\'',
    "model = mujoco.MjModel.from_xml_string(xml)",
    "def simulate():",
    "    data = mujoco.MjData(model)",
    "    mujoco.mj_step(model, data)",
    "    return data.timer[mujoco.mjtTimer.mjTIMER_STEP].duration",
)


def test_the_clock_is_not_read_once_there_is_a_task():
    lines = ("print(simulate() > 0)", "pg.make_task('hopper')", "print(simulate())")
    assert script(*PENDULUM, *lines) == ["True", "0.0"]


def test_a_clock_that_somebody_gave_stays():
    ticks = "import itertools; ticks = itertools.count(); mujoco.set_mjcb_time(lambda: float(next(ticks)))"
    assert float(script(*PENDULUM, ticks, "pg.make_task('hopper')", "print(simulate())")[0]) > 0
