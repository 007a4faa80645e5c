"""What a user asks for: a training, an adaptation, an evaluation, a question about filters."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from polygait.errors import UserError, unknown_name

Record = TypeVar("Record", bound=Any)


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, Python's or NumPy's; true and false are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def count_problems(counts: Mapping[str, Any], least: int = 1) -> list[str]:
    """Numbers that are not whole or too small; None is a choice left open."""
    found = []
    for name, value in counts.items():
        if value is not None and not is_whole(value):
            found.append(f"{name} must be a whole number, got {value!r}.")
        elif value is not None and value < least:
            found.append(f"{name} must be at least {least}, got {value}.")
    return found


def seed_problems(seed: Any) -> list[str]:
    """JAX's keys hold 32 bits: a larger seed would be another one in disguise."""
    if not is_whole(seed):
        return [f"seed must be a whole number, got {seed!r}."]
    return [] if 0 <= seed < 2**32 else [f"seed must lie between 0 and {2**32 - 1}, got {seed}."]


def check_seed(seed: Any) -> None:
    """Raise a UserError for a seed that cannot be one."""
    if found := seed_problems(seed):
        raise UserError(*found)


@dataclass(frozen=True)
class TrainConfig:
    """What a user asks for. `None` leaves a choice to the preset; `resolve` in presets.py fills it in."""

    task: str
    """The robot, or gym:ENV-ID."""
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
    remove: tuple[str, ...] | str | None = None
    """State parts that f(s) removes: there members may differ. () keeps all, ("*",) keeps none."""
    alpha: float | None = None
    """Factor of the diversity bonus; multi and pg have none."""
    envs: int | None = None
    """Environments per member."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""
    overrides: tuple[str, ...] | str = ()
    """Any other setting, for example ppo.epochs=5 or dir.bound=none."""


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
    held_out: int = 20
    """Fresh episodes on which the chosen member is scored; 0 for none."""
    seed: int = 0
    """All starts follow from it."""
    on: str | None = None
    """Another task with the same state and actions to adapt in, such as another simulator."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""

    def problems(self, num_members: int) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        racing = self.selector == "racing"
        found = seed_problems(self.seed)
        if self.selector not in ("exhaustive", "racing"):
            found.append(f"selector must be 'exhaustive' or 'racing', got {self.selector!r}.")
        counts = ("episodes", "trials", "max_falls", "threads")
        found += count_problems({name: getattr(self, name) for name in counts})
        found += count_problems({"held_out": self.held_out}, least=0)
        if racing and self.episodes is not None:
            found.append("racing counts trials of all members together: give trials instead of episodes.")
        if not racing and (self.trials is not None or self.max_falls is not None):
            found.append("trials and max_falls belong to racing: give selector='racing' or leave them out.")
        if racing and is_whole(self.trials) and 1 <= (self.trials or 0) < num_members:
            found.append(
                f"{self.trials} trials do not reach {num_members} members: give at least {num_members}, "
                "one trial each."
            )
        return found


@dataclass(frozen=True)
class EvaluateConfig:
    """What to measure of a population."""

    suite: str = "paper"
    """nominal, damage, dynamics, sensors, paper, or the path of a TOML file with variations."""
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
        return seed_problems(self.seed) + count_problems({"episodes": self.episodes, "threads": self.threads})


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
        return [
            *seed_problems(self.seed),
            *count_problems({"episodes": self.episodes}, least=3),
            *count_problems({"epochs": self.epochs, "threads": self.threads}),
        ]


def from_wishes(kind: type[Record], wishes: Mapping[str, Any]) -> Record:
    """A record of choices from a caller's keywords; an unknown one is named with its neighbours."""
    for name in wishes:
        if name not in (known := [field.name for field in fields(kind)]):
            raise unknown_name("option", name, known)
    return kind(**wishes)
