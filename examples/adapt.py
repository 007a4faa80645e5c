"""Try every member of a population in a damaged world and say which one still works.

Run: .venv/bin/python examples/adapt.py RUN VARIATION
"""

import sys

import numpy as np

import polygait as pg

EPISODES = 10

population = pg.load(sys.argv[1])
variation = sys.argv[2]
returns = np.zeros((len(population), EPISODES))
for row in range(len(population)):
    task = population.make_task(num_envs=EPISODES, variation=variation)
    observation = task.reset(seeds=list(range(EPISODES)))
    alive = np.ones(EPISODES, dtype=bool)
    while alive.any():
        step = task.step(population.act(observation, member=row))
        returns[row] += alive * step.reward
        alive &= ~(step.terminated | step.truncated)
        observation = step.observation

best = int(returns.mean(axis=1).argmax())
print(f"{'member':<10}{'nominal':>10}{variation:>16}")
for row, member in enumerate(population.members):
    mark = "  ← chosen" if row == best else ""
    print(f"{row:<10}{member.summary['nominal_return']:>10.0f}{returns[row].mean():>16.0f}{mark}")
