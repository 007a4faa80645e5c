"""Steps/s of Minitaur in MuJoCo and in PyBullet on the same cores, and the ratio."""

import statistics
from collections.abc import Callable

import numpy as np

import polygait as pg
from benchmarks._timing import rates, ratio

NUM_ENVS = 64
STEPS = {"minitaur": 100, "minitaur-bullet": 10}


class Loop:
    """One task with random actions and resets; every round goes on where the last one ended."""

    def __init__(self, name: str, num_threads: int) -> None:
        self.task = pg.make_task(name, num_envs=NUM_ENVS, num_threads=num_threads)
        shape = (STEPS[name], NUM_ENVS, self.task.action_size)
        self.actions = np.random.default_rng(0).uniform(-1, 1, shape)

    def __call__(self) -> int:
        for actions in self.actions:
            step = self.task.step(actions)
            ended = step.terminated | step.truncated
            if ended.any():
                self.task.reset(ended)
        return self.actions.shape[0] * NUM_ENVS


def main(arguments: list[str]) -> None:
    rounds = int(arguments[0]) if arguments else 7
    print(f"{NUM_ENVS} environments, random actions, medians of {rounds} rounds")
    print("".join(f"{word:>17}" for word in ("cores", *STEPS, "ratio")))
    for cores in (2, 1):
        loops: dict[str, Callable[[], int]] = {name: Loop(name, cores) for name in STEPS}
        measured = rates(loops, rounds)
        cells = [f"{statistics.median(values):,.0f}" for values in measured.values()]
        cells.append(f"{ratio(measured, *STEPS):.1f}")
        print("".join(f"{cell:>17}" for cell in (cores, *cells)), flush=True)
