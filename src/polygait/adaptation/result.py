"""What an adaptation found: the chosen member, the trials it was chosen by, and what it is worth."""

from __future__ import annotations

import hashlib
import importlib
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from polygait.adaptation.selector import SELECTORS
from polygait.config import AdaptConfig
from polygait.config.settings import from_plain_record
from polygait.population.results import file_name
from polygait.progress import amount
from polygait.screen import plain_table
from polygait.storage.files import read_bounded
from polygait.storage.strict_json import canonical, from_plain, parse, to_plain

_LARGEST_FILE = 2**28


class Interval(NamedTuple):
    """A 95 % confidence interval of a mean (Student's t); infinite for a single episode."""

    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray) -> Interval:
        """The interval of the mean of independent values."""
        count = len(values)
        if count < 2:
            return cls(-math.inf, math.inf)
        reach = float(stats.t.ppf(0.975, count - 1)) * float(np.std(values, ddof=1)) / math.sqrt(count)
        mean = float(np.mean(values))
        return cls(mean - reach, mean + reach)


@dataclass(frozen=True)
class Adaptation:
    """Which member was chosen, from what, and what it is worth."""

    task: str
    variation: str
    config: AdaptConfig
    """As asked, with the number of episodes or trials that was left out."""
    best: int
    returns: np.ndarray
    """(member, episode) NaN where not tried."""
    progress: np.ndarray
    """(member, episode) Metres; NaN where not tried or not known, as in adaptations that 0.1 kept."""
    falls: np.ndarray
    """Episodes in which each member fell."""
    diverged: np.ndarray
    """Episodes of each member that ended because the physics broke down."""
    stopped: tuple[int, ...]
    """Members that fell too often to be tried to the end."""
    held_out_returns: np.ndarray
    held_out_progress: np.ndarray
    seconds: float = math.nan
    """The time limit of an episode, where it is known."""
    world: str = ""
    """What the variation came down to; not known of adaptations that 0.1 kept."""
    weights: tuple[str, ...] = ()
    """The identity of every member that took part; not known of adaptations that 0.1 kept."""
    robot: str = ""
    """The fingerprint of the task in which members were tried; not known of adaptations that 0.1 kept."""

    @property
    def name(self) -> str:
        """What the answer is kept under: readable, and another for every other question."""
        asked = {**vars(replace(self.config, threads=None)), "task": self.task, "variation": self.variation}
        if asked["by"] == "return":  # as it was called before there was a choice
            del asked["by"]
        found = {"world": self.world, "weights": self.weights, "robot": self.robot}
        question = canonical(to_plain({**asked, **found}))
        where = f"{self.config.on}." if self.config.on else ""
        readable = file_name(f"{where}{self.variation}.{self.config.selector}")
        return f"{readable}-{hashlib.sha256(question).hexdigest()[:8]}"

    def __repr__(self) -> str:
        """Who was chosen, what it is worth, and every member's trials in a small table."""
        return f"{self.title}\n{plain_table(*self.table())}\n{self.verdict}"

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        # By name: what is shown is made above this layer.
        return importlib.import_module("polygait.report.notebook").adaptation_html(self)

    @property
    def title(self) -> str:
        """What was asked."""
        return f"Adaptation of {self.task} to {self.variation}: {self.config.selector}"

    @property
    def verdict(self) -> str:
        """The chosen member and what it does on fresh episodes, in a sentence."""
        told = f"Chosen: member {self.best}, return {amount(self.selection_return)} in its trials"
        if len(self.held_out_returns):
            told += f", {amount(self.held_out_return)} on {len(self.held_out_returns)} fresh episodes"
            told += "" if math.isnan(self.held_out_speed) else f" at {self.held_out_speed:.2f} m/s"
        return f"{told}."

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows of what every member's trials came to; what is not known is empty."""
        rows = []
        for member in range(len(self.returns)):
            tried, speed = self.trials_of(member), self.speed_of(member)
            returns = amount(tried.mean(), tried.std()) if len(tried) else ""
            metres = "" if math.isnan(speed) else f"{speed:.2f}"
            chosen = "chosen" if member == self.best else ""
            rows.append((str(member), str(len(tried)), returns, metres, str(self.falls[member]), chosen))
        return ("member", "trials", "return", "m/s", "falls", ""), rows

    @property
    def episodes_used(self) -> int:
        """Trials of all members, without the held-out episodes."""
        return int(np.isfinite(self.returns).sum())

    def trials_of(self, member: int) -> np.ndarray:
        """The returns of one member's trials."""
        tried = self.returns[member]
        return tried[np.isfinite(tried)]

    @property
    def selection_return(self) -> float:
        """The average by which the member was chosen; flattered by the choice."""
        return float(self.trials_of(self.best).mean())

    @property
    def selection_interval(self) -> Interval:
        """Of the selection return, as if the member had been chosen by other episodes."""
        return Interval.of(self.trials_of(self.best))

    @property
    def held_out_return(self) -> float:
        """The average of the chosen member on fresh episodes; NaN when none were asked for."""
        return float(np.mean(self.held_out_returns)) if len(self.held_out_returns) else math.nan

    def speed_of(self, member: int) -> float:
        """Mean metres per second of the time limit in a member's trials; NaN where it is not known."""
        metres = self.progress[member][np.isfinite(self.returns[member])]
        return float(metres.mean()) / self.seconds if len(metres) else math.nan

    def falls_of(self, member: int) -> float:
        """The share of a member's trials in which it fell; NaN where it was not tried."""
        trials = len(self.trials_of(member))
        return int(self.falls[member]) / trials if trials else math.nan

    @property
    def selection_progress(self) -> float:
        """Metres of the chosen member in its trials, on average; NaN where it is not known."""
        return float(self.progress[self.best][np.isfinite(self.returns[self.best])].mean())

    @property
    def held_out_speed(self) -> float:
        """Metres per second of the chosen member on fresh episodes; NaN where it is not known."""
        return (
            float(np.mean(self.held_out_progress)) / self.seconds if len(self.held_out_progress) else math.nan
        )

    @property
    def held_out_interval(self) -> Interval:
        """Of the held-out return."""
        return Interval.of(self.held_out_returns)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data; a trial that was not made is null."""
        return {
            "task": self.task,
            "variation": self.variation,
            "config": vars(self.config),
            "best": self.best,
            "episodes_used": self.episodes_used,
            "selection_return": self.selection_return,
            "selection_interval": list(self.selection_interval),
            "held_out_return": self.held_out_return,
            "held_out_interval": list(self.held_out_interval),
            "held_out_returns": self.held_out_returns.tolist(),
            "held_out_progress": self.held_out_progress.tolist(),
            "held_out_speed": self.held_out_speed,
            "selection_progress": self.selection_progress,
            "seconds": self.seconds,
            "returns": _plain_grid(self.returns),
            "progress": _plain_grid(self.progress),
            "falls": self.falls.tolist(),
            "diverged": self.diverged.tolist(),
            "stopped": list(self.stopped),
            "world": self.world,
            "weights": list(self.weights),
            "robot": self.robot,
        }

    @classmethod
    def from_json(cls, data: Any) -> Adaptation:
        """The adaptation that to_json() described; ValueError for anything else."""
        try:
            config = from_plain_record(AdaptConfig, data["config"])
            if config.selector not in SELECTORS.names():
                raise KeyError(config.selector)
            returns = _grid(data["returns"])
            held_out = np.array(data.get("held_out_returns", ()), np.float64)
            fresh = np.array(data.get("held_out_progress", np.full(len(held_out), np.nan)), np.float64)
            found = cls(
                task=str(data.get("task", "")),
                variation=str(data["variation"]),
                config=config,
                best=int(data["best"]),
                returns=returns,
                progress=_grid(data["progress"]) if "progress" in data else np.full(returns.shape, np.nan),
                falls=np.array(data["falls"], np.int64),
                diverged=np.array(data["diverged"], np.int64),
                stopped=tuple(map(int, data.get("stopped", ()))),
                held_out_returns=held_out,
                held_out_progress=fresh,
                seconds=float(data.get("seconds", math.nan)),
                world=str(data.get("world", "")),
                weights=tuple(map(str, data.get("weights", ()))),
                robot=str(data.get("robot", "")),
            )
            fitting = not config.problems() and isinstance(config.on, str | None)
            shapes = {found.falls.shape, found.diverged.shape, (len(found.weights) or len(returns),)}
            pairs = ((found.progress, returns), (found.held_out_progress, found.held_out_returns))
            fitting = fitting and all(one.shape == other.shape for one, other in pairs)
            if not fitting or shapes != {(len(returns),)} or not len(found.trials_of(found.best)):
                raise ValueError("its numbers do not fit together")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError("it is not an adaptation's answer") from error
        return found


def _plain_grid(values: np.ndarray) -> list[list[float | None]]:
    return [[None if math.isnan(one) else one for one in row] for row in values.tolist()]


def _grid(rows: Any) -> np.ndarray:
    return np.array([[math.nan if one is None else float(one) for one in row] for row in rows])


def read_adaptation(path: Path) -> Adaptation:
    """An adaptation that was kept; ValueError or UserError for a file that holds none."""
    return Adaptation.from_json(from_plain(parse(read_bounded(path, _LARGEST_FILE))))
