"""One batch, a different damage in every row: what the same motion comes to.

Run: .venv/bin/python examples/damage.py
"""

import numpy as np

import polygait as pg

WORLDS = [
    "nominal",
    "broken-foot",
    "broken-leg:limp",
    "foot-mass=2",
    "floor-friction=0.3",
    "delay=4",
    "gravity=0.5",
]

task = pg.make_task("walker", num_envs=len(WORLDS), variation=WORLDS)
task.reset(seeds=[0] * len(WORLDS))  # the same start everywhere

alive = np.ones(len(WORLDS), dtype=bool)
steps, returns = np.zeros(len(WORLDS), dtype=int), np.zeros(len(WORLDS))
for moment in range(200):
    push = 0.35 * np.sin(0.35 * moment + np.array([0.0, 0.8, 1.6, np.pi, np.pi + 0.8, np.pi + 1.6]))
    step = task.step(np.tile(push, (len(WORLDS), 1)))
    steps += alive
    returns += alive * step.reward
    alive &= ~(step.terminated | step.truncated)

print(f"{'world':<20}{'steps until fall':>18}{'return':>10}")
for world, count, total in zip(WORLDS, steps, returns, strict=True):
    print(f"{world:<20}{count:>18}{total:>10.1f}")
