"""What FaultInjection costs while no fault acts: steps of wrapped and bare environments in turn.

    ./dev bench faults Walker2d-v5 HalfCheetah-v5 Pendulum-v1 --rounds 140

Processor time of this thread: what other programs do meanwhile disturbs it least.
"""

import argparse
import statistics
import time

import gymnasium
import numpy as np

from polygait.faults import FaultInjection

CHUNK = 500
FAULT = "sensor(*)@1000000000"
"""Begins long after the measurement has ended."""


def seconds(env: gymnasium.Env, action: np.ndarray) -> float:
    """Processor time of some steps; an episode that ends is begun anew, and not counted."""
    taken, step = 0.0, env.step
    env.reset(seed=0)
    done = 0
    while done < CHUNK:
        begun = time.thread_time()
        ended = False
        while not ended and done < CHUNK:
            _, _, terminated, truncated, _ = step(action)
            ended = terminated or truncated
            done += 1
        taken += time.thread_time() - begun
        env.reset()
    return taken


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=["Walker2d-v5", "HalfCheetah-v5", "Pendulum-v1"])
    parser.add_argument("--rounds", type=int, default=140)
    options = parser.parse_args(arguments)
    print("| environment | µs a step | with the wrapper | median ratio |\n|---|---|---|---|")
    for name in options.names:
        bare = gymnasium.make(name)
        wrapped = FaultInjection(gymnasium.make(name), FAULT)
        action = np.zeros(bare.action_space.shape or (), np.float32)
        pairs = []
        for turn in range(options.rounds):
            order = (bare, wrapped) if turn % 2 else (wrapped, bare)
            taken = {env: seconds(env, action) for env in order}
            pairs.append((taken[bare], taken[wrapped]))
        each = [1e6 / CHUNK * statistics.median(column) for column in zip(*pairs, strict=True)]
        ratio = statistics.median(ours / theirs for theirs, ours in pairs)
        print(f"| {name} | {each[0]:.1f} | {each[1]:.1f} | {ratio:.3f} |", flush=True)
