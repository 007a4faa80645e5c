"""What an evaluation in simulated damages says about members before the first trial."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from polygait.errors import UserError
from polygait.population.population import Population
from polygait.storage.file_names import file_name
from polygait.storage.files import read_bounded

_LARGEST_FILE = 2**30
_LEAST_WORLDS = 3


class Matrix(NamedTuple):
    """Members in worlds that were simulated."""

    worlds: tuple[str, ...]
    mean: Float[np.ndarray, "world member"]
    variance: Float[np.ndarray, "world member"]
    """Of single episodes; NaN where there is one only."""


def read_matrix(population: Population, suite: str, by: str) -> Matrix:
    """What these members did in a suite's worlds, by returns or progress; the longest measurement of each."""
    frame = _read(population, suite, by)
    weights = [population.weights(place) for place in range(len(population))]
    found: dict[tuple[str, int], list[float]] = {}
    for row in frame.iter_rows(named=True):
        place, values = (row["world"] or "nominal", row["member"]), row[by]
        known = 0 <= row["member"] < len(weights) and weights[row["member"]] == row["weights"]
        if known and values and len(values) >= len(found.get(place, ())):
            found[place] = values
    worlds = [
        world
        for world in dict.fromkeys(world for world, _ in found)
        if all((world, member) in found for member in range(len(weights)))
    ]
    if len(worlds) < _LEAST_WORLDS:
        raise _lacking(population, suite, f"holds {len(worlds)} worlds in which all of these members were")
    cells = [[np.array(found[world, member]) for member in range(len(weights))] for world in worlds]
    return Matrix(
        worlds=tuple(worlds),
        mean=np.array([[cell.mean() for cell in row] for row in cells]),
        variance=np.array([[cell.var(ddof=1) if len(cell) > 1 else np.nan for cell in row] for row in cells]),
    )


def _read(population: Population, suite: str, by: str) -> pl.DataFrame:
    path = population.path / "evaluations" / f"{file_name(suite)}.parquet"
    try:
        frame = pl.read_parquet(io.BytesIO(read_bounded(path, _LARGEST_FILE)))
    except FileNotFoundError:
        raise _lacking(population, suite, "is not there") from None
    except pl.exceptions.PolarsError:
        raise _lacking(population, suite, "cannot be read") from None
    needed: dict[str, Any] = {"member": pl.Int64, "world": pl.String, "weights": pl.String}
    needed[by] = pl.List(pl.Float64)
    if any(frame.schema.get(name) != kind for name, kind in needed.items()):
        raise _lacking(population, suite, f"has no column {by!r} as evaluations have")
    return frame


def _lacking(population: Population, suite: str, what: str) -> UserError:
    return UserError(
        f"An informed choice rests on what members do in simulated damages, but the evaluation of suite "
        f"{suite!r} in {population.path} {what}.",
        f"Make it with: polygait evaluate {population.path} --suite {suite}; or choose without it: "
        "`selector='racing'`.",
    )
