"""How well members are chosen after few trials: informed, racing, plain trials, at random, the best nominal.

Every member plays some episodes under every damage, once. Of a damage, all conditions of its family (the same
joint) are then hidden, the others are what an informed selector may know; trials are drawn from recorded
episodes, and others, held out, say what the chosen member is worth as a share of the best one's worth.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks._recorded import Plan, Recorded, evaluated, recorded
from polygait.adaptation.knowledge import Matrix
from polygait.adaptation.loop import AskTell
from polygait.adaptation.selector import Selector
from polygait.adaptation.selectors.exhaustive import Exhaustive, ExhaustiveConfig
from polygait.adaptation.selectors.informed import Informed, InformedConfig
from polygait.adaptation.selectors.racing import Racing, RacingConfig

TRIALS = (1, 2, 3, 5, 10)
USELESS = 0.2
"""Of the best nominal return: below it, members are only bad in different ways."""
Chooser = Callable[[Recorded, int, np.random.Generator], list[int]]
"""The members chosen after each number of trials under one damage."""


def known(found: Recorded, damage: int) -> Matrix:
    """The nominal world and every damage of another family."""
    others = [place for place, family in enumerate(found.families) if family != found.families[damage]]
    episodes = np.concatenate([found.nominal[None, :, : found.matrix.shape[2]], found.matrix[others]])
    names = ("nominal", *(found.conditions[place] for place in others))
    return Matrix(names, episodes.mean(axis=2), episodes.var(axis=2, ddof=1))


def played(selector: Selector, pool: np.ndarray, chance: np.random.Generator) -> Iterator[AskTell]:
    """A selector's loop after each trial drawn from a pool; no episode twice before all were drawn."""
    order = chance.permuted(np.tile(np.arange(pool.shape[1]), (len(pool), 1)), axis=1)
    loop = AskTell(selector, len(pool))
    while (member := loop.ask()) is not None:
        place = order[member, loop.record.counts[member] % pool.shape[1]]
        loop.tell(member, float(pool[member, place]))
        yield loop


def informed(found: Recorded, damage: int, chance: np.random.Generator) -> list[int]:
    selector = Informed(InformedConfig(max(TRIALS)), found.nominal.mean(axis=1))
    selector.learn(known(found, damage))
    after = [loop.choose().best for loop in played(selector, found.pool[damage], chance)]
    return [after[count - 1] for count in TRIALS]


def racing(found: Recorded, damage: int, chance: np.random.Generator) -> list[int]:
    """A race with each budget; one too small for all members is run by those with the best nominal return."""
    nominal = found.nominal.mean(axis=1)
    chosen = []
    for budget in TRIALS:
        racers = np.argsort(-nominal, kind="stable")[:budget]
        selector = Racing(RacingConfig(budget), nominal[racers])
        *_, loop = played(selector, found.pool[damage][racers], chance)
        chosen.append(int(racers[loop.choose().best]))
    return chosen


def plain(found: Recorded, damage: int, chance: np.random.Generator) -> list[int]:
    """Members one after another, as they stand in the population."""
    episodes = -(-max(TRIALS) // found.pool.shape[1])
    selector = Exhaustive(ExhaustiveConfig(episodes), found.nominal.mean(axis=1))
    after = [loop.choose().best for loop in played(selector, found.pool[damage], chance)]
    return [after[min(count, len(after)) - 1] for count in TRIALS]


def in_any_order(found: Recorded, damage: int, chance: np.random.Generator) -> list[int]:
    """Members one after another, in an order that is drawn."""
    order = chance.permutation(found.pool.shape[1])
    shuffled = found._replace(pool=found.pool[:, order], nominal=found.nominal[order])
    return [int(order[place]) for place in plain(shuffled, damage, chance)]


def at_random(found: Recorded, damage: int, chance: np.random.Generator) -> list[int]:
    return chance.integers(found.pool.shape[1], size=len(TRIALS)).tolist()


def best_nominal(found: Recorded, damage: int, chance: np.random.Generator) -> list[int]:
    return [int(found.nominal.mean(axis=1).argmax())] * len(TRIALS)


CHOOSERS: dict[str, Chooser] = {
    "informed": informed,
    "racing": racing,
    "plain trials": plain,
    "plain, any order": in_any_order,
    "random member": at_random,
    "best nominal": best_nominal,
}


def telling(found: Recorded) -> list[int]:
    """The damages that say something about choosing: somebody is worth something there."""
    least = USELESS * max(0.0, float(found.nominal.mean(axis=1).max()))
    return np.flatnonzero(found.held_out.mean(axis=2).max(axis=1) > least).tolist()


def shares(found: Recorded, choose: Chooser, draws: int) -> np.ndarray:
    """(number of trials,) The chosen member's worth as a share of the best one's, over damages and draws."""
    worth = found.held_out.mean(axis=2)
    rows = [
        np.clip(worth[damage][choose(found, damage, np.random.default_rng([damage, draw]))], 0, None)
        / worth[damage].max()
        for damage in telling(found)
        for draw in range(draws)
    ]
    return np.mean(rows, axis=0)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench choose", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", help="run folders")
    parser.add_argument("--draws", type=int, default=50, help="afternoons drawn per damage")
    parser.add_argument(
        "--by", choices=("returns", "progress"), default="returns", help="what trials are told in"
    )
    usual = Plan()
    parser.add_argument("--steps", type=int, default=usual.steps, help="length of an episode")
    parser.add_argument(
        "--episodes", type=int, nargs=3, default=usual[:3], help="known beforehand, drawn from, held out"
    )
    parser.add_argument(
        "--evaluated", action="store_true", help="simulate nothing: take what evaluate --suite mesh left"
    )
    parser.add_argument("--cache", default="bench-choose", help="where recorded episodes are kept")
    options = parser.parse_args(arguments)
    print(f"| run | members | damages | way to choose | {' | '.join(f'{n} trials' for n in TRIALS)} |")
    print(f"|---|---|---|---|{'---|' * len(TRIALS)}")
    for path in options.runs:
        known, drawn, held_out = options.episodes
        plan = Plan(known, drawn, held_out, options.steps)
        found = (
            evaluated(path, options.by)
            if options.evaluated
            else recorded(path, plan, Path(options.cache), options.by)
        )
        size = f"{found.pool.shape[1]} | {len(telling(found))}"
        for name, choose in CHOOSERS.items():
            row = " | ".join(f"{share:.3f}" for share in shares(found, choose, options.draws))
            print(f"| {Path(path).name} | {size} | {name} | {row} |", flush=True)
