"""What a user asks for: a training, an adaptation, an evaluation, a question about filters."""

from __future__ import annotations

import numbers
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from polygait.config.kinds import checked_kinds
from polygait.counts import whole_number
from polygait.errors import UserError, unknown_name

Record = TypeVar("Record", bound=Any)
MOST = 1_000_000
"""Of members, environments, episodes: more is a slip of the hand, and would fill the memory."""


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, Python's or NumPy's; true and false are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def seed_problems(seed: Any) -> list[str]:
    """JAX's keys hold 32 bits: a larger seed would be another one in disguise."""
    if not is_whole(seed):
        return [f"`seed` must be a whole number, got {seed!r}."]
    return [] if 0 <= seed < 2**32 else [f"`seed` must lie between 0 and {2**32 - 1}, got {seed}."]


def check_seed(seed: Any) -> None:
    """Raise a UserError for a seed that cannot be one."""
    if found := seed_problems(seed):
        raise UserError("\n".join(found), "Give for example seed=0.")


def count_problems(record: object, least: Mapping[str, int], most: int = MOST) -> list[str]:
    """What is wrong with a record's counts, given the least that each may be; None is left open."""
    found = []
    for name, low in least.items():
        value = getattr(record, name)
        if value is not None and not low <= value <= most:
            too_few = f"be at least {low}" if low else "not be negative"
            rule = too_few if value < low else f"be at most {most:,}"
            found.append(f"`{name}` must {rule}, got {value}.")
    return found


@dataclass(frozen=True)
class TrainConfig:
    """What a user asks for. `None` leaves a choice to the preset; `resolve` in presets.py fills it in."""

    task: str | Any
    """The robot, gym:ENV-ID, my_robot.py:MyRobot or package.module:MyRobot; in Python also a Robot."""
    method: str = "dir"
    """dir, smerl, dvd, multi or pg."""
    members: int | None = None
    """How many different ways to find, 10 when left out. pg finds one, with the steps of so many members."""
    steps: int = 2_000_000
    """Environment steps per member, rounded up to whole rollouts."""
    seed: int = 0
    """All randomness follows from it."""
    preset: str = "robust"
    """robust mends the known flaws; paper follows the paper and its authors."""
    learner: str = "ppo"
    """How policies improve: ppo or sac."""
    remove: tuple[str, ...] | str | None = None
    """State parts that f(s) removes, for members to differ there. () keeps all, ("*",) keeps none."""
    alpha: float | None = None
    """Factor of the diversity bonus; multi and pg have none."""
    envs: int | None = None
    """Environments per member."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""
    overrides: tuple[str, ...] | str = ()
    """Any other setting, for example ppo.epochs=5 or dir.bound=none."""
    layout: tuple[str, ...] | str | None = None
    """Names for what a gym:ENV-ID shows, a TOML file or names in order; its own when left out."""


@dataclass(frozen=True)
class AdaptConfig:
    """How to find the member that still works."""

    selector: str = "exhaustive"
    """exhaustive: every member for as many episodes (Algorithm 2); racing: a race with a budget of trials."""
    episodes: int | None = None
    """Exhaustive: episodes per member; 20 when left out."""
    trials: int | None = None
    """Racing: episodes of all members together; four per member when left out."""
    max_falls: int | None = None
    """Racing: a member that has fallen so often is tried no more."""
    settings: tuple[str, ...] = ()
    """Options of a selector from another package, such as prior=0.5."""
    held_out: int = 20
    """Fresh episodes on which the chosen member is scored; 0 for none."""
    seed: int = 0
    """All starts follow from it."""
    on: str | None = None
    """Another task with the same state and actions to adapt in, such as another simulator."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = seed_problems(self.seed)
        found += count_problems(
            self, {"episodes": 1, "trials": 1, "max_falls": 1, "threads": 1, "held_out": 0}
        )
        return found


@dataclass(frozen=True)
class EvaluateConfig:
    """What to measure of a population."""

    suite: str | Sequence[Any] | Mapping[str, Any] = "paper"
    """nominal, damage, dynamics, sensors, paper, or the path of a TOML file with variations; in Python also a
    list of variations, or a mapping from names to variations."""
    episodes: int = 20
    """Episodes per member and condition."""
    seed: int = 0
    """All starts follow from it."""
    on: str | None = None
    """Another task with the same state and actions, such as another simulator."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        return seed_problems(self.seed) + count_problems(self, {"episodes": 1, "threads": 1})


@dataclass(frozen=True)
class FiltersConfig:
    """What to ask about filters."""

    remove: tuple[str, ...] = ()
    """Candidates, each the parts to remove joined by commas; the usual ones when there is none."""
    member: int | None = None
    """Whose actions to read; all members' together when left out."""
    episodes: int = 8
    """Episodes per member, with the noise of training; a quarter is held out."""
    epochs: int = 100
    """Passes of each model through its data, at most; it stops when it has learned what it can."""
    seed: int = 0
    """All starts and all first weights follow from it."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        return seed_problems(self.seed) + count_problems(self, {"episodes": 3, "epochs": 1, "threads": 1})


def from_options(kind: type[Record], options: Mapping[str, Any]) -> Record:
    """A record of choices from a caller's keywords; an unknown one is named with its neighbours."""
    for name in options:
        if name not in (known := [field.name for field in fields(kind)]):
            raise unknown_name("option", name, known)
    return checked_kinds(with_whole_numbers(kind(**options)))


def with_whole_numbers(record: Record) -> Record:
    """A record of choices whose counts are Python's whole numbers; they may come as 1e6 or as NumPy's."""
    found, problems = {}, []
    for name, kind in typing.get_type_hints(type(record)).items():
        value = getattr(record, name)
        if value is None or kind not in (int, int | None):
            continue
        try:
            found[name] = whole_number(value)
        except ValueError:
            problems.append(f"`{name}` must be a whole number, got {value!r}.")
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    return replace(record, **found)
