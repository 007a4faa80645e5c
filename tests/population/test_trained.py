"""A trained population, as another machine would receive it."""

from pathlib import Path

import polygait as pg
from polygait.episodes import Job, run_members

WALKER = Path(__file__).parents[1] / "data" / "walker-dir"


def test_a_trained_population_walks_and_different_members_survive_different_damage():
    population = pg.load(WALKER)
    worlds = ("broken-leg", "broken-left-leg")
    jobs = [Job(member, world, 0) for world in worlds for member in range(len(population))]
    outcome = run_members(population, jobs)
    returns = outcome.total_reward.reshape(len(worlds), len(population))
    assert (returns.max(axis=1) > 2000).all()
    assert returns[0, 3] > 3 * returns[1, 3]  # member 3 can do without its right knee, not without its left
