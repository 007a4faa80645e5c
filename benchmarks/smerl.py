"""SMERL's protocol on runs of ours: motors that die, joints that are forced; its published means beside them.

Kumar et al. 2020: 5 members, each tried 5 times under a disturbance, the best of them scored on 5 fresh
episodes of 200 steps. Motors: the first two are dead for 10 to 100 steps from the tenth step on. Force: a
torque of 10 to 190 Nm against the leg joint (degree of freedom 4) in the steps 10 to 15. As their code
stands, that torque is never taken away again, so it is also measured to the end of the episode. Last, a push
of 50 N against the torso for 10 to 100 steps, which has no published counterpart.

What differs: theirs are Hopper and Walker of 2020 (0.01 s a step where ours have 0.008, so 2 s against 1.6 s;
reward for no more than 5 m/s), and Soft Actor-Critic with one policy for all members.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import polygait as pg
from polygait.episodes import Job, episode_seeds, run_members
from polygait.errors import UserError
from polygait.population.population import Population
from polygait.tasks.registry import make_task

MEMBERS, TRIALS, FRESH, STEPS = 5, 5, 5, 200
FIRST = 9  # their steps count from 1
_CHOOSING, _SCORING = 10, 11  # what episode seeds are for


class Disturbance(NamedTuple):
    """One kind of disturbance in all its severities."""

    name: str
    published: str
    """The name of its published means."""
    severities: tuple[int, ...]
    variation: Callable[[int], str]


LENGTHS = tuple(range(10, 110, 10))
DISTURBANCES = (
    Disturbance("motors dead", "motor", LENGTHS, lambda n: f"motor(thigh_joint,leg_joint)@{FIRST}..+{n + 1}"),
    Disturbance(
        "force, 6 steps",
        "force",
        tuple(range(10, 200, 10)),
        lambda n: f"torque(leg_joint)=-{n}Nm@{FIRST}..+6",
    ),
    Disturbance(
        "force, to the end", "force", tuple(range(10, 200, 10)), lambda n: f"torque(leg_joint)=-{n}Nm@{FIRST}"
    ),
    Disturbance("push of 50 N", "", LENGTHS, lambda n: f"push=-50N@{FIRST}..+{n}"),
)
PUBLISHED = {
    ("hopper", "motor"): (253, 478, 413, 547),
    ("hopper", "force"): (337, 480, 503, 547),
    ("walker", "motor"): (108, 399, 473, 308),
    ("walker", "force"): (174, 264, 294, 324),
}
"""Means over severities and 3 seeds of SAC with one policy, SAC with five, SAC + DIAYN, SMERL."""


class Score(NamedTuple):
    """What a population keeps under one kind of disturbance, over its severities."""

    chosen: float
    """Mean return of the chosen member in fresh episodes."""
    first: float
    """The same of the first member: one policy, nothing to choose."""
    survived: float
    """Share of the chosen member's episodes that did not end in a fall."""


def score(population: Population, disturbance: Disturbance, seed: int, threads: int | None) -> Score:
    """Choose among the first members in every severity, and score who was chosen."""
    members = range(min(MEMBERS, len(population.members)))
    choosing, scoring = episode_seeds(seed, _CHOOSING, TRIALS), episode_seeds(seed, _SCORING, FRESH)
    worlds = [disturbance.variation(severity) for severity in disturbance.severities]
    jobs = [Job(one, world, start) for world in worlds for one in members for start in choosing + scoring]
    config = population.config

    def make(count: int) -> pg.Task:
        return make_task(
            config.task, count, num_threads=threads, **{**config.task_options, "max_episode_steps": STEPS}
        )

    outcome = run_members(population, jobs, make)
    shape = (len(worlds), len(members), TRIALS + FRESH)
    returns, fell = outcome.total_reward.reshape(shape), outcome.fell.reshape(shape)
    best = returns[:, :, :TRIALS].mean(axis=2).argmax(axis=1)
    rows = np.arange(len(worlds))
    return Score(
        float(returns[rows, best, TRIALS:].mean()),
        float(returns[:, 0, TRIALS:].mean()),
        float(1 - fell[rows, best, TRIALS:].mean()),
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench smerl", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", help="run folders of hopper or walker, best with 5 members")
    parser.add_argument("--seed", type=int, default=0, help="all starts follow from it")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args(arguments)
    print("| run | disturbance | chosen of 5 | survived | first alone | SAC-1 | SAC-5 | SAC+DIAYN | SMERL |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in options.runs:
        population = pg.load(path)
        if population.config.task not in ("hopper", "walker"):
            raise UserError(
                f"{path} is a run of {population.config.task}.", "SMERL's protocol is for hopper and walker."
            )
        for one in DISTURBANCES:
            found = score(population, one, options.seed, options.threads)
            theirs = PUBLISHED.get((population.config.task, one.published), ("–",) * 4)
            print(
                f"| {path} | {one.name} | {found.chosen:.0f} | {found.survived:.0%} | {found.first:.0f} | "
                f"{' | '.join(map(str, theirs))} |",
                flush=True,
            )
