"""Open-loop sine gaits, and how far PyBullet's own environment goes with them in 10 s (randomiser off)."""

import numpy as np

GAITS = {(0.5, 0.5, 40): 12.350, (0.3, 0.3, 20): 4.897, (0.5, 0.5, 20): 7.460, (0.3, 0.1, 40): 5.444}
"""(swing, extension, rad/s): return."""
WITHOUT_BACK_LEFT = (3.908, 2.372, 4.056, 1.997)
"""The same with the actions of the back left leg zeroed."""


def gait_actions(step):
    """The actions of all gaits, (gait, action)."""
    rows = []
    for swing, extension, speed in GAITS:
        wave, opposite = np.sin(0.01 * step * speed), np.sin(0.01 * step * speed + np.pi)
        legs = np.array([wave, opposite, opposite, wave])
        rows.append(np.concatenate([swing * legs, extension * legs]))
    return np.array(rows)


def gait_returns(task, steps=1000):
    """The return of every row, one gait each; rows that fall stop counting."""
    total, alive = np.zeros(len(GAITS)), np.ones(len(GAITS), dtype=bool)
    task.reset()
    for step in range(steps):
        outcome = task.step(gait_actions(step))
        total += np.where(alive, outcome.reward, 0.0)
        alive &= ~outcome.terminated
    return total
