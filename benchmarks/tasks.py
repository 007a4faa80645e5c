"""Steps/s of the robots: bare Batch.step, our task loop, Gymnasium's sync vector, and the ratios.

The bare loop replays our loop's actions and restarts on the same model, so that both simulate the same
motion; it observes, rewards and checks nothing.
"""

import argparse
import statistics
from collections.abc import Callable

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector import AutoresetMode
from mujoco.batch import Batch

import polygait as pg
from benchmarks._timing import rates, ratio
from polygait.tasks.mujoco import MujocoTask

GYMNASIUM = {
    "hopper": "Hopper-v5",
    "walker": "Walker2d-v5",
    "ant": "Ant-v5",
    "half-cheetah": "HalfCheetah-v5",
    "swimmer": "Swimmer-v5",
    "humanoid": "Humanoid-v5",
}
OURS_ALONE = ("quadruped",)
NUM_ENVS = 64
STEPS = 150
CHUNK = 30
"""Steps between two changes of the loop: on a noisy machine only what is timed together can be compared."""
LOOPS = ("bare 2t", "ours 2t", "bare 1t", "ours 1t", "gym 1t")


class Loop:
    """The same steps again and again, a chunk at a call."""

    actions: np.ndarray
    place = 0

    def __call__(self) -> int:
        if self.place == 0:
            self.rewind()
        for at in range(self.place, self.place + CHUNK):
            self.step(at)
        self.place = (self.place + CHUNK) % STEPS
        return CHUNK * NUM_ENVS

    def rewind(self) -> None:
        raise NotImplementedError

    def step(self, at: int) -> object:
        raise NotImplementedError


class Ours(Loop):
    """Our task with random actions and resets; remembers them for the bare loop."""

    def __init__(self, name: str, num_threads: int) -> None:
        task = pg.make_task(name, num_envs=NUM_ENVS, num_threads=num_threads)
        assert isinstance(task, MujocoTask)
        self.task = task
        self.actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, NUM_ENVS, task.action_size))
        self.start = task.snapshot()
        self.restarts: list[tuple[np.ndarray, np.ndarray] | None] = []
        for at in range(STEPS):
            ids = np.flatnonzero(self.step(at))
            self.restarts.append((ids, task.physics.batch.state[ids].copy()) if ids.size else None)

    def rewind(self) -> None:
        self.task.restore(self.start)

    def step(self, at: int) -> np.ndarray:
        step = self.task.step(self.actions[at])
        ended = step.terminated | step.truncated
        if ended.any():
            self.task.reset(ended)
        return ended


class Bare(Loop):
    """The same motion by the engine alone."""

    def __init__(self, ours: Ours, num_threads: int) -> None:
        self.ours = ours
        self.batch = Batch(ours.task.robot.spec().compile(), NUM_ENVS, num_threads)
        self.ctrl = self.batch.bind("ctrl")
        self.controls = ours.task.action_law.controls(ours.actions)

    def rewind(self) -> None:
        self.batch.state[:] = self.ours.start["physics"]

    def step(self, at: int) -> None:
        self.ctrl[:] = self.controls[at]
        self.batch.step(nstep=self.ours.task.robot.frame_skip)
        if (restart := self.ours.restarts[at]) is not None:
            self.batch.state[restart[0]] = restart[1]


class Gymnasium(Loop):
    """Gymnasium's own environments in its sync vector: one core, autoreset."""

    def __init__(self, name: str, actions: np.ndarray) -> None:
        # Resets in the same step, as ours: the default counts a reset as a step without physics.
        self.env = gymnasium.make_vec(
            GYMNASIUM[name],
            num_envs=NUM_ENVS,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        )
        space = self.env.action_space
        assert isinstance(space, gymnasium.spaces.Box)
        self.actions = (actions * space.high).astype(np.float32)  # the Humanoid's are within ±0.4

    def rewind(self) -> None:
        self.env.reset(seed=0)

    def step(self, at: int) -> None:
        self.env.step(self.actions[at])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench tasks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=45)
    parser.add_argument(
        "names", nargs="*", default=[*GYMNASIUM, *OURS_ALONE], help="robots; all when left out"
    )
    options = parser.parse_args(arguments)
    rounds, names = options.rounds, options.names
    print(f"{NUM_ENVS} environments, random actions, medians of {rounds} rounds; mujoco {mujoco.__version__}")
    header = (
        "task",
        "bare 2t",
        "ours 2t",
        "bare 1t",
        "ours 1t",
        "gym 1t",
        "ours/bare 2t",
        "1t",
        "ours/gym 1t",
    )
    print("".join(f"{word:>13}" for word in header))
    for name in names:
        two, one = Ours(name, 2), Ours(name, 1)
        competitors: list[Loop] = [Bare(two, 2), two, Bare(one, 1), one]
        if name in GYMNASIUM:
            competitors.append(Gymnasium(name, one.actions))
        loops: dict[str, Callable[[], int]] = dict(zip(LOOPS, competitors, strict=False))
        measured = rates(loops, rounds)
        cells = [f"{statistics.median(values):,.0f}" for values in measured.values()]
        if name not in GYMNASIUM:
            cells.append("–")
        pairs = [("ours 2t", "bare 2t"), ("ours 1t", "bare 1t"), ("ours 1t", "gym 1t")]
        cells += [f"{ratio(measured, *pair):.3f}" if pair[1] in measured else "–" for pair in pairs]
        print("".join(f"{cell:>13}" for cell in (name, *cells)), flush=True)
