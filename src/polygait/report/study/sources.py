"""Numbers to put side by side, ours and published, and the names and order in which they are shown.

Returns come as frames with the columns task, condition, scale, method, seed, member, mean_return; whatever
has that shape can be put beside whatever else has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from polygait.report.names import ordered_methods, title_of, words_of
from polygait.study.statistics import best_members
from polygait.tasks.registry import task_defaults

TASKS = ("hopper", "walker", "ant", "minitaur")
OURS = "dir"
"""The method that is compared with the others."""
_ORDER = (
    *("broken-leg", "broken-ankle", "broken-foot", "broken-hip", "motor-failure"),
    *("foot-mass", "leg-mass", "foot-friction", "ankle-friction"),
    *("left-leg-sensor", "right-leg-sensor", *(f"leg-{leg}-sensor" for leg in (1, 2, 3, 4))),
)
"""The published conditions as the paper's tables have them, of all robots."""
_PUBLISHED = resources.files("polygait.report.study") / "published"
PUBLISHED = "published"
"""The label of what the paper's authors published."""
KEPT = (
    "Published: Multi, DvD and SMERL kept all ten members as they were when the best of them had its best "
    "single episode, DiR each member as it was in its own best; ours are kept by one rule in all methods. "
    "Published PG is DiR's first policy."
)
"""Which weights stand behind the numbers."""
_MASSES = (
    "after a mass is scaled, what follows from it is computed anew here (mj_setConst) and was not there, so "
    "that contacts and limits kept the softness of the unscaled robot"
)


class Difference(NamedTuple):
    """What our numbers of a task and the published ones do not have in common."""

    task: str
    conditions: tuple[str, ...]
    """Where it matters; () is everywhere."""
    words: str

    def __str__(self) -> str:
        return f"{title_of(self.task)}: {self.words}."


DIFFERENCES = (
    Difference("hopper", ("foot-mass",), _MASSES),
    Difference(
        "walker",
        (),
        "both feet have friction 1.9 here (Gymnasium v5), unless right_foot_friction is 0.9 as in the preset "
        "paper; there the right had 0.9, the left 1.9",
    ),
    Difference("walker", ("foot-mass",), _MASSES),
    Difference(
        "ant",
        (),
        "contact forces are observed and cost reward here, unless contact_forces is false as in the preset "
        "paper; there they were zeros",
    ),
    Difference(
        "ant",
        tuple(f"leg-{leg}-sensor" for leg in (1, 2, 3, 4)),
        "a failed leg sensor hides the leg's hip and ankle here; there it hid three numbers in a row, "
        "whoever's they were: 1 the orientation's w, x, y; 2 its z, hip 1, ankle 1; 3 hip 2, ankle 2, hip 3; "
        "4 ankle 3, hip 4, ankle 4",
    ),
    Difference(
        "ant",
        ("leg-mass",),
        "leg-mass scales all twelve bodies of the legs here; there four: front_left_leg, its ankle, aux_2, "
        "back_leg",
    ),
    Difference("ant", ("leg-mass",), _MASSES),
    Difference(
        "minitaur", (), "there in PyBullet, 10 episodes of 2000 steps; here in MuJoCo, with the study's own"
    ),
)
"""Between the protocol here and the published one, as its authors' code has it."""


NO_MESH = pl.DataFrame(schema={"task": pl.String, "method": pl.String, "seed": pl.Int64})


class Source(NamedTuple):
    """Where numbers come from."""

    label: str
    returns: pl.DataFrame
    diversity: pl.DataFrame
    """task, method, seed, score."""
    chosen_only: bool = False
    """Whether there is only the member that was chosen in each condition."""
    mesh: pl.DataFrame = NO_MESH
    """Every member in every condition of the mesh, with its episodes."""
    unforeseen: pl.DataFrame = NO_MESH
    """The same of damages that are unlike those of the mesh."""
    first_policies: tuple[str, ...] = ()
    """Methods whose only policy is the first member of DiR's population of the same seed."""

    @property
    def seeds(self) -> int:
        """The fewest that any method has on a robot."""
        counts = self.returns.group_by("task", "method").agg(pl.col("seed").n_unique())["seed"]
        return min(counts, default=0)


class Place(NamedTuple):
    """Where returns were measured."""

    task: str
    condition: str

    def __str__(self) -> str:
        return f"{title_of(self.task)} - {words_of(self.condition)}"


Values = dict[str, Float[np.ndarray, "_"]]
"""One value per seed, by method."""


def published() -> Source:
    """What the paper's authors published; its source is named in report/study/published/README.md."""
    with (_PUBLISHED / "returns.parquet").open("rb") as file:
        stored = pl.read_parquet(file.read())
    returns = stored.select(
        *(pl.col(name).cast(pl.String) for name in ("task", "condition", "method")),
        *(pl.col(name).cast(pl.Int64) for name in ("seed", "member")),
        scale=(pl.col("tenths").cast(pl.Float64) / 10).round(1),
        mean_return=(pl.col("hundredths").cast(pl.Float64) / 100).round(2),
    )
    with (_PUBLISHED / "diversity.csv").open("rb") as file:
        diversity = pl.read_csv(file.read())
    counted = returns.with_columns(member=pl.col("member") - 1)
    return Source(PUBLISHED, counted, diversity, first_policies=("pg",))


def first_policies(returns: pl.DataFrame) -> tuple[str, ...]:
    """Methods whose returns are, wherever both were measured, those of DiR's first member."""
    where = ["task", "condition", "scale", "seed"]
    first = returns.filter(pl.col("method") == OURS, pl.col("member") == 0).select(
        *where, first=pl.col("mean_return")
    )
    found = []
    for (method,), cells in by(returns.filter(pl.col("method") != OURS), "method"):
        beside = cells.join(first, on=where, nulls_equal=True)
        if cells["member"].max() == 0 and len(beside) and (beside["mean_return"] == beside["first"]).all():
            found.append(method)
    return tuple(found)


def differences(place: Place) -> list[Difference]:
    """All that must be known to compare our numbers and the published ones in one place."""
    return [
        one
        for one in DIFFERENCES
        if one.task == place.task and (not one.conditions or place.condition in one.conditions)
    ]


def sweep_differences(tasks: Iterable[str]) -> list[Difference]:
    """All that must be known to compare the published sweeps of masses and frictions with ours."""
    published = {task: task_defaults(task).paper_conditions or () for task in tasks if task in TASKS}
    places = [Place(task, condition) for task, conditions in published.items() for condition in conditions]
    swept = [place for place in places if place.condition.endswith(("-mass", "-friction"))]
    return list(dict.fromkeys(one for place in swept for one in differences(place)))


def are_compared(labels: Iterable[str]) -> bool:
    """Whether published numbers stand beside others."""
    return PUBLISHED in labels and set(labels) != {PUBLISHED}


def no_diversity() -> pl.DataFrame:
    """For numbers without a diversity score."""
    return pl.DataFrame(
        schema={"task": pl.String, "method": pl.String, "seed": pl.Int64, "score": pl.Float64}
    )


def kind_of(condition: str) -> str:
    """nominal, sensors or damage, by a condition's name; sweeps are known by their scale."""
    if condition == "nominal":
        return "nominal"
    return "sensors" if condition.endswith("-sensor") else "damage"


def best_values(returns: pl.DataFrame, kind: str) -> dict[Place, Values]:
    """The best member of each seed in every single condition of a kind, in the paper's order."""
    found: dict[Place, Values] = {}
    for (task, condition, method), cells in by(single_conditions(returns), "task", "condition", "method"):
        if kind_of(condition) == kind:
            found.setdefault(Place(task, condition), {})[method] = best_members(member_grid(cells))
    return {place: found[place] for place in sorted(found, key=paper_order)}


def score_values(diversity: pl.DataFrame) -> dict[str, Values]:
    """Diversity scores by task."""
    found: dict[str, Values] = {}
    for (task, method), cells in by(diversity, "task", "method"):
        found.setdefault(task, {})[method] = cells.sort("seed")["score"].to_numpy()
    return found


def single_conditions(returns: pl.DataFrame) -> pl.DataFrame:
    """Returns without those of sweeps."""
    return returns.filter(pl.col("scale").is_null())


def member_grid(cells: pl.DataFrame) -> Float[np.ndarray, "seed member"]:
    """Mean returns of one method in one condition."""
    return cells.sort("seed", "member")["mean_return"].to_numpy().reshape(cells["seed"].n_unique(), -1)


def by(frame: pl.DataFrame, *names: str) -> Iterable[tuple[tuple[str, ...], pl.DataFrame]]:
    """The parts of a frame that agree in some columns, all of them texts."""
    return frame.partition_by(*names, as_dict=True).items()  # type: ignore[return-value] - texts all


def ordered(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Known names in their order, then the others by name."""
    order = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def paper_order(place: Place) -> tuple[object, ...]:
    """A key that sorts tasks and conditions as the paper does, others behind."""
    known = _ORDER.index(place.condition) if place.condition in _ORDER else len(_ORDER)
    return (
        TASKS.index(place.task) if place.task in TASKS else len(TASKS),
        place.task,
        known,
        place.condition,
    )


def tasks_of(sources: Sequence[Source]) -> list[str]:
    """All tasks, in the paper's order."""
    return ordered((task for source in sources for task in source.returns["task"].unique()), TASKS)


def methods_of(*found: dict[Place, Values] | dict[str, Values]) -> list[str]:
    """All methods, in the paper's order."""
    return ordered_methods(method for one in found for values in one.values() for method in values)
