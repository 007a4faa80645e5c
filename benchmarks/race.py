"""What a race on a budget loses against trying everything, in shares of the span from worst to best member.

Every member plays many episodes under each damage: some make a pool of trials, 100 more are held out and
say what each member is worth. Races and exhaustive choices are then drawn from the pool many times; a draw
is a resampling of episodes, so no physics is run twice.
"""

import argparse
from collections.abc import Sequence

import numpy as np

import polygait as pg
from polygait.adaptation import Trials, exhaust, race
from polygait.episodes import Job, episode_seeds, run_members
from polygait.suites import suite_conditions

POOL, HELD_OUT, EPISODES, SHARE = 60, 100, 20, 0.2


class Drawn(Trials):
    """Trials drawn from a pool of episodes, the same starts for every member."""

    def __init__(self, pool: np.ndarray, chance: np.random.Generator) -> None:
        super().__init__(len(pool))
        self._pool = pool
        self._order = chance.permutation(pool.shape[1])

    def try_out(self, members: Sequence[int], count: int) -> None:
        for member in members:
            begun = len(self._tried[member])
            places = self._order[begun : begun + count]
            self._tried[member] += self._pool[member, places].tolist()


def losses(pool: np.ndarray, worth: np.ndarray, nominal: np.ndarray, draws: int) -> tuple[float, float]:
    """Mean loss of the race and of the exhaustive choice."""
    span = worth.max() - worth.min()
    budget = round(SHARE * EPISODES * len(pool))
    found = []
    for draw in range(draws):
        chance = np.random.default_rng(draw)
        raced = race(Drawn(pool, chance), nominal, budget).best
        tried = exhaust(Drawn(pool, chance), EPISODES).best
        found.append([(worth.max() - worth[chosen]) / span for chosen in (raced, tried)])
    raced, tried = np.mean(found, axis=0)
    return float(raced), float(tried)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench race", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", help="run folders")
    parser.add_argument("--draws", type=int, default=2000, help="races drawn from the pool")
    parser.add_argument("--conditions", nargs="*", help="damages; all of the robot when left out")
    options = parser.parse_args(arguments)
    print(f"pool {POOL}, held out {HELD_OUT} episodes; race: {SHARE:.0%} of {EPISODES} episodes per member")
    print("| run | damage | held-out return of each member | race loses | exhaustive loses |")
    print("|---|---|---|---|---|")
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
            print(f"| {name} | {damage} | {told} | {total[-1][0]:.1%} | {total[-1][1]:.1%} |", flush=True)
    raced, tried = np.mean(total, axis=0)
    print(f"| all | mean | | {raced:.1%} | {tried:.1%} |")
