"""How often populations of 4 keep both of two equally good ways, per method, with Fisher's exact test.

The toy of tests/diversity/two_ways.py with a wind: both ways earn the same, but the wind makes one so much
easier to find that a policy trained alone takes it about 19 times of 20. A population keeps both ways when
each is taken by a member that does the task. Methods have the factors of their presets for unknown robots,
and a tenth and ten times as much; --factors gives others.
"""

import argparse
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import fisher_exact
from tests.diversity import two_ways

from polygait.config.settings import NoSettings
from polygait.diversity.method import Method
from polygait.diversity.methods.dir import Regulation
from polygait.diversity.methods.dvd import Dvd, DvdConfig
from polygait.diversity.methods.multi import Multi
from polygait.diversity.methods.smerl import Smerl, SmerlConfig

MEMBERS = 4
NEAR = 0.25
"""How far from a peak a member's median action still counts as taking that way."""
WIND = 0.04
COURSE = two_ways.Course(
    ppo=dataclasses.replace(two_ways.PPO_CONFIG, discount=0.9, gae_lambda=0.95), iterations=40, wind=WIND
)
ABLE = two_ways.TwoWays.episode_length * two_ways.WIDTH / math.hypot(two_ways.WIDTH, COURSE.ppo.action_std)
"""R*: what a policy with its mean on a peak earns in an episode, on average over its noise."""
SMERL = SmerlConfig(target_return=ABLE, hidden=(32, 32), learning_rate=3e-3, minibatch_size=64, epochs=4)


class Contender(NamedTuple):
    """A method with one factor of its bonus."""

    name: str
    method: Method
    alpha: float


class Result(NamedTuple):
    """What became of the populations of one contender."""

    contender: Contender
    actions: np.ndarray
    """(seed, member) median actions, the wind included."""

    @property
    def able(self) -> np.ndarray:
        """Which members do the task."""
        return np.abs(np.abs(self.actions) - two_ways.PEAK) < NEAR

    @property
    def kept(self) -> int:
        """Populations with both ways."""
        ways = [(self.able & (np.sign(self.actions) == side)).any(axis=1) for side in (-1, 1)]
        return int((ways[0] & ways[1]).sum())


def contenders(factors: list[float]) -> list[Contender]:
    """Independent members first, then every method with every factor."""
    multi = Multi(NoSettings(), two_ways.EVERYTHING)
    found = [Contender("multi", multi, 0.0)]
    for factor in factors:
        competing: dict[str, tuple[type[Method], Any]] = {
            "dir": (Regulation, two_ways.DIR),
            "smerl": (Smerl, SMERL),
            "dvd": (Dvd, DvdConfig()),
            "dvd, determinant": (Dvd, DvdConfig(form="determinant")),
        }
        found += [
            Contender(name, kind(config, two_ways.FREE_PLACE), factor * kind.default_alpha)
            for name, (kind, config) in competing.items()
        ]
    return found


def population(contender: Contender, seed: int) -> list[float]:
    """The median actions of one population's members, trained together or one after another."""
    method, course = contender.method, COURSE._replace(alpha=contender.alpha)
    if method.simultaneous:
        return [way.action for way in two_ways.walk_together(method, range(MEMBERS), seed, [], course)]
    ways: list[two_ways.Way] = []
    for member in range(MEMBERS):
        earlier = [tensors for way in ways for tensors in way.tensors]
        ways += two_ways.walk_together(method, range(member, member + 1), seed, earlier, course)
    return [way.action for way in ways]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench ways", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="populations per method")
    parser.add_argument("--factors", type=float, nargs="+", default=[0.1, 1.0, 10.0], help="times the preset")
    options = parser.parse_args(arguments)
    baseline: Result | None = None
    print(
        f"populations of {MEMBERS}, {options.seeds} seeds, {COURSE.iterations} iterations, wind {WIND}; "
        f"p: Fisher's exact test against multi, two-sided\n"
        f"{'method':<20}{'alpha':>8}{'both kept':>12}{'p':>10}{'able':>8}{'with the wind':>16}"
    )
    for contender in contenders(options.factors):
        actions = [population(contender, seed) for seed in range(options.seeds)]
        result = Result(contender, np.array(actions) + WIND)
        baseline = baseline or result
        _print_row(result, baseline, options.seeds)


def _print_row(result: Result, baseline: Result, seeds: int) -> None:
    table = [[one.kept, seeds - one.kept] for one in (result, baseline)]
    test: Any = fisher_exact(table)
    leeward = (result.actions > 0)[result.able].mean() if result.able.any() else math.nan
    print(
        f"{result.contender.name:<20}{result.contender.alpha:>8g}{f'{result.kept} of {seeds}':>12}"
        f"{test.pvalue:>10.2g}{result.able.mean():>8.0%}{leeward:>16.0%}",
        flush=True,
    )
