"""What a race on a budget loses beside other ways to choose, in shares of the span from worst to best member.

Every member plays many episodes under each damage: some make a pool of trials, 100 more are held out and
say what each member is worth. Choices are then drawn from the pool many times; a draw is a resampling of
episodes, so no physics is run twice. Beside the race stand the exhaustive choice, the race's own budget
shared out evenly, and a single trial of every member: a race is worth what it gains over those.
"""

import argparse
from typing import NamedTuple

import numpy as np

import polygait as pg
from polygait.adaptation.loop import AskTell
from polygait.adaptation.selector import Selector
from polygait.adaptation.selectors.exhaustive import Exhaustive, ExhaustiveConfig
from polygait.adaptation.selectors.racing import Racing, RacingConfig
from polygait.episodes import Job, episode_seeds, run_members
from polygait.suites import suite_conditions

POOL, HELD_OUT, EPISODES = 60, 100, 20
EVEN = 4
"""The race's budget, in trials per member: a fifth of the exhaustive choice's."""


def chosen(selector: Selector, pool: np.ndarray, chance: np.random.Generator) -> int:
    """The choice after trials drawn from a pool of episodes, the same starts for every member."""
    order = chance.permutation(pool.shape[1])
    loop = AskTell(selector, len(pool))
    while wanted := loop.ask_all():
        for member in wanted:
            loop.tell(member, float(pool[member, order[loop.record.counts[member]]]))
    return loop.choose().best


class Losses(NamedTuple):
    """Mean loss of every way to choose."""

    race: float
    even: float
    """The race's budget, as many trials for every member."""
    one: float
    """One trial for every member."""
    exhaustive: float

    def __str__(self) -> str:
        return " | ".join(f"{share:.1%}" for share in self)


def losses(pool: np.ndarray, worth: np.ndarray, nominal: np.ndarray, draws: int) -> Losses:
    """What each way to choose loses, averaged over draws."""
    span = worth.max() - worth.min()
    found = []
    for draw in range(draws):
        chance = np.random.default_rng(draw)
        ways: list[Selector] = [Racing(RacingConfig(EVEN * len(pool)), nominal)]
        ways += [Exhaustive(ExhaustiveConfig(count), nominal) for count in (EVEN, 1, EPISODES)]
        taken = [chosen(way, pool, chance) for way in ways]
        found.append((worth.max() - worth[taken]) / span)
    return Losses(*np.mean(found, axis=0).tolist())


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench race", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", help="run folders")
    parser.add_argument("--draws", type=int, default=2000, help="races drawn from the pool")
    parser.add_argument("--conditions", nargs="*", help="damages; all of the robot when left out")
    options = parser.parse_args(arguments)
    print(
        f"pool {POOL}, held out {HELD_OUT} episodes; exhaustive: {EPISODES} trials of every member; loss of:"
    )
    print(f"| run | damage | held-out return of each member | race | {EVEN} each | 1 each | exhaustive |")
    print("|---|---|---|---|---|---|---|")
    total = []
    for path in options.runs:
        population = pg.load(path)
        damages = [one.variation for one in suite_conditions("damage", population.make_task())[1:]]
        nominal = np.array([member.summary["nominal_return"] for member in population.members])
        for damage in options.conditions or damages:
            seeds = [*episode_seeds(0, 0, POOL), *episode_seeds(0, 1, HELD_OUT)]
            jobs = [Job(member, damage, seed) for member in range(len(population)) for seed in seeds]
            returns = run_members(population, jobs).total_reward.reshape(len(population), -1)
            worth = returns[:, POOL:].mean(axis=1)
            total.append(losses(returns[:, :POOL], worth, nominal, options.draws))
            told = " ".join(f"{one:,.0f}" for one in worth)
            name = population.path.name
            print(f"| {name} | {damage} | {told} | {total[-1]} |", flush=True)
    print(f"| all | mean | | {Losses(*np.mean(total, axis=0).tolist())} |")
