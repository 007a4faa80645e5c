"""Made-up results of evaluations and adaptations, in the form in which real ones are kept."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from polygait.evaluation import SCHEMA
from polygait.population.results import save_bytes, save_result


def row(
    member: int, condition: str, mean: float, scale: float | None = None, episodes: int = 5
) -> dict[str, Any]:
    return {
        "member": member,
        "condition": condition,
        "scale": scale,
        "variation": condition if scale is None else f"{condition}={scale}",
        "mean_return": mean,
        "std_return": 1.0,
        "falls": 0.2,
        "mean_length": 900.0,
        "diverged": 0,
        "episodes": episodes,
        "seed": 0,
        "weights": "0123456789abcdef",
        "made_with": "polygait",
        "returns": [mean] * episodes,
    }


def keep_evaluation(run: Path, name: str, rows: Sequence[dict[str, Any]]) -> None:
    file = io.BytesIO()
    pl.DataFrame(rows, schema=SCHEMA).write_parquet(file)
    save_bytes(run / "evaluations", f"{name}.parquet", file.getvalue())


def keep_adaptation(
    run: Path, variation: str, returns: list[list[float | None]], best: int, on: str | None = None
) -> None:
    answer = {
        "variation": variation,
        "best": best,
        "config": {"on": on, "selector": "exhaustive"},
        "returns": returns,
        "falls": [0] * len(returns),
        "diverged": [0] * len(returns),
    }
    save_result(run / "adaptations", variation, answer)
