"""What a population keeps when the world changes: figures from its members' episodes in many conditions.

A return says what a robot earns, and standing still earns 1 per step. So everything here also asks how far
it came: speeds are metres per second of an episode's whole time limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

KEPT_SHARE = 0.5
"""A population survives a condition when its chosen member keeps this share of the best nominal speed."""
STILL_SHARE = 0.1
"""Slower than this share of the best nominal speed is standing still."""
STILL_SPEED = 0.05
"""Metres per second; slower is standing still, however slow the population is."""
FALLING_SHARE = 0.5
"""Who falls in so many of its episodes falls, and does not stand."""

By = Literal["return", "progress"]
BY: tuple[By, ...] = ("return", "progress")
"""What a member is chosen by."""


def still_speed(best_nominal_speed: float = math.nan) -> float:
    """Below which a robot stands still; the best nominal speed of its population may be unknown."""
    share = 0.0 if math.isnan(best_nominal_speed) else STILL_SHARE * best_nominal_speed
    return max(STILL_SPEED, share)


def stands_still(speed: float | None, falls: float, best_nominal_speed: float = math.nan) -> bool:
    """Whether a robot stays where it is without falling, whatever it earns by that.

    `falls` is a share of episodes. A speed that nobody knows is not called standing still.
    """
    if speed is None or math.isnan(speed) or falls >= FALLING_SHARE:
        return False
    return abs(speed) < still_speed(best_nominal_speed)


def best_nominal_speed(frame: pl.DataFrame) -> float:
    """Of the fastest member of an evaluation when nothing is wrong; NaN where it is not known."""
    speeds = frame.filter(pl.col("variation") == "nominal")["mean_speed"].drop_nulls()
    return math.nan if speeds.is_empty() else float(speeds.to_numpy().max())


class MeasuredEpisodes(NamedTuple):
    """Every episode of every member in every changed world, and in the nominal one."""

    members: tuple[int, ...]
    conditions: tuple[str, ...]
    """Their worlds, without the nominal one."""
    returns: Float[np.ndarray, "member condition episode"]
    speeds: Float[np.ndarray, "member condition episode"]
    """NaN where the simulator does not tell."""
    nominal_returns: Float[np.ndarray, "member episode"]
    """Empty where the nominal world was not measured."""
    nominal_speeds: Float[np.ndarray, "member episode"]

    @property
    def best_nominal_speed(self) -> float:
        """Of the member that is fastest when nothing is wrong; NaN where it is not known."""
        if not self.nominal_speeds.size or np.isnan(self.nominal_speeds).any():
            return math.nan
        return float(self.nominal_speeds.mean(axis=1).max())


@dataclass(frozen=True)
class Resilience:
    """The figures of one population; curves run over k = 1 … all members, averaged over every choice of k.

    `survival`, `chosen_return` and `chosen_speed` are told by fresh episodes: one half of them chooses the
    member and the other half scores it, then the halves change places. The two `best` curves are the highest
    averages of all episodes, which flatter; they are what the paper's tables show.
    """

    members: int
    conditions: int
    episodes: int
    by: By
    """What the member was chosen by."""
    best_nominal_return: float
    mean_nominal_return: float
    worst_nominal_return: float
    best_nominal_speed: float
    survival: np.ndarray
    """The share of conditions in which the chosen one of k members keeps half of the best nominal speed."""
    chosen_return: np.ndarray
    """Mean over conditions of the chosen one's return."""
    chosen_speed: np.ndarray
    best_return: np.ndarray
    """Mean over conditions of the highest mean return among k members."""
    best_speed: np.ndarray
    return_correlation: float
    """How alike members fail: mean correlation of two members' mean returns over conditions."""
    speed_correlation: float

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data; null where a figure is not known."""
        plain = {}
        for field in fields(self):
            value = getattr(self, field.name)
            value = value.tolist() if isinstance(value, np.ndarray) else value
            plain[field.name] = [_known(one) for one in value] if isinstance(value, list) else _known(value)
        return plain


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def resilience(frame: pl.DataFrame, by: By = "return", reference_speed: float | None = None) -> Resilience:
    """All figures of a population from a frame of `evaluate`, of any suite with several conditions.

    `reference_speed` is the speed of which half must be kept; the population's own best nominal one by
    default. Who compares populations gives all of them the same, or the slower one has it easier.
    """
    found = episodes_of(frame)
    choosing = found.returns if by == "return" else found.speeds
    reference = found.best_nominal_speed if reference_speed is None else reference_speed
    nominal = found.nominal_returns.mean(axis=1) if found.nominal_returns.size else np.array([np.nan])
    returns, speeds = found.returns.mean(axis=2), found.speeds.mean(axis=2)
    return Resilience(
        members=len(found.members),
        conditions=len(found.conditions),
        episodes=found.returns.shape[2],
        by=by,
        best_nominal_return=float(nominal.max()),
        mean_nominal_return=float(nominal.mean()),
        worst_nominal_return=float(nominal.min()),
        best_nominal_speed=found.best_nominal_speed,
        survival=_over_conditions(survival(choosing, found.speeds, reference)),
        chosen_return=_over_conditions(chosen(choosing, found.returns)),
        chosen_speed=_over_conditions(chosen(choosing, found.speeds)),
        best_return=_over_conditions(best_of(returns)),
        best_speed=_over_conditions(best_of(speeds)),
        return_correlation=mean_correlation(returns),
        speed_correlation=mean_correlation(speeds),
    )


def episodes_of(frame: pl.DataFrame) -> MeasuredEpisodes:
    """The episodes behind a frame of `evaluate`, of those conditions in which every member was measured."""
    members = sorted(frame["member"].unique().to_list())
    count = max(map(len, frame["returns"].to_list()), default=0)
    cells: dict[str, dict[int, tuple[list[float], list[float]]]] = {}
    for row in frame.iter_rows(named=True):
        returns, progress = row["returns"], row["progress"]
        speeds = [metres / row["seconds"] for metres in progress] if progress else [math.nan] * len(returns)
        if len(returns) == count:
            cells.setdefault(row["world"], {}).setdefault(row["member"], (returns, speeds))
    whole = {world: found for world, found in cells.items() if len(found) == len(members)}
    nominal = whole.pop("nominal", None)
    grid = np.array([[found[member] for found in whole.values()] for member in members])
    grid = grid.reshape(len(members), len(whole), 2, count)
    here = np.array([nominal[member] for member in members]) if nominal else np.zeros((len(members), 2, 0))
    return MeasuredEpisodes(
        tuple(members), tuple(whole), grid[:, :, 0], grid[:, :, 1], here[:, 0], here[:, 1]
    )


def survival(
    choosing: Float[np.ndarray, "member condition episode"],
    speeds: Float[np.ndarray, "member condition episode"],
    reference_speed: float,
) -> Float[np.ndarray, "condition size"]:
    """The chance that the chosen one of k members keeps half of a speed, for k = 1 … all, on fresh episodes.

    Standing still is never enough, however slow the population is when nothing is wrong.
    """
    least = max(KEPT_SHARE * reference_speed, STILL_SPEED)
    if math.isnan(reference_speed):
        return np.full((speeds.shape[1], len(speeds)), np.nan)
    return _chosen(choosing, speeds, lambda fresh: np.where(np.isnan(fresh), np.nan, fresh >= least))


def chosen(
    choosing: Float[np.ndarray, "member condition episode"],
    values: Float[np.ndarray, "member condition episode"],
) -> Float[np.ndarray, "condition size"]:
    """What the chosen one of k members reaches on fresh episodes, for k = 1 … all, over every choice of k."""
    return _chosen(choosing, values, lambda fresh: fresh)


def _chosen(
    choosing: np.ndarray, values: np.ndarray, judge: Callable[[np.ndarray], np.ndarray]
) -> Float[np.ndarray, "condition size"]:
    """NaN where a single episode leaves none to score on, or nobody knows what to choose by."""
    shares = chance_chosen(len(values))
    unknown = np.isnan(choosing).any(axis=(0, 2)) | (values.shape[2] < 2)
    total = np.zeros((len(values), values.shape[1]))
    for choice, score in _halves(values.shape[2]):
        order = np.argsort(-choosing[:, :, choice].mean(axis=2), axis=0, kind="stable")
        fresh = np.where(unknown, np.nan, judge(values[:, :, score].mean(axis=2)))
        total += shares @ np.take_along_axis(fresh, order, axis=0) / 2
    return total.T


def _halves(count: int) -> Iterator[tuple[slice, slice]]:
    """Which episodes choose and which score: each half once."""
    first, second = slice(0, max(1, count // 2)), slice(count // 2, count)
    yield first, second
    yield second, first


def chance_chosen(count: int) -> Float[np.ndarray, "size rank"]:
    """How often the member of each rank is the best of k that are drawn from all without repetition.

    The best of all has rank 0. A member of rank r is the best in C(n−1−r, k−1) of C(n, k) draws.
    """
    return np.array(
        [
            [math.comb(count - 1 - rank, size - 1) / math.comb(count, size) for rank in range(count)]
            for size in range(1, count + 1)
        ]
    )


def best_of(values: Float[np.ndarray, "member condition"]) -> Float[np.ndarray, "condition size"]:
    """The expected highest value of k members, for k = 1 … all, over every choice of k."""
    return (chance_chosen(len(values)) @ -np.sort(-values, axis=0)).T


def expected_best_of(returns: np.ndarray) -> np.ndarray:
    """The same of one condition: the expected best of k members drawn from all n, for k = 1 … n."""
    return best_of(np.asarray(returns, dtype=np.float64)[:, None])[0]


def mean_correlation(values: Float[np.ndarray, "member condition"]) -> float:
    """How alike members do: the mean over pairs of Pearson's correlation of their values over conditions.

    A member that does the same in all conditions correlates with nobody and is left out.
    """
    varied = values[values.std(axis=1) > 0] if values.shape[1] > 1 else values[:0]
    if len(varied) < 2:
        return math.nan
    return float(np.corrcoef(varied)[np.triu_indices(len(varied), 1)].mean())


def _over_conditions(values: Float[np.ndarray, "condition size"]) -> Float[np.ndarray, " size"]:
    return values.mean(axis=0) if len(values) else np.full(values.shape[1], np.nan)
