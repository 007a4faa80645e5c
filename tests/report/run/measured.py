"""Made-up results of evaluations and adaptations, in the form in which real ones are kept."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from tests.report.conftest import TRAINED

import polygait as pg
from polygait.evaluation import SCHEMA
from polygait.population.results import save_bytes, save_result


@functools.cache
def weights(member: int) -> str:
    """The identity of a member of the trained run; beyond them come their twins."""
    trained = pg.load(TRAINED)
    return trained.weights(member % len(trained))


def row(member: int, condition: str, mean: float, scale: float | None = None, **other: Any) -> dict[str, Any]:
    episodes = other.get("episodes", 5)
    return {
        "member": member,
        "condition": condition,
        "scale": scale,
        "variation": condition if scale is None else f"{condition}={scale}",
        "world": condition,
        "mean_return": mean,
        "std_return": 1.0,
        "falls": 0.2,
        "mean_length": 900.0,
        "diverged": 0,
        "episodes": episodes,
        "seed": 0,
        "weights": weights(member),
        "made_with": "polygait",
        "returns": [mean] * episodes,
        **other,
    }


def keep_evaluation(run: Path, name: str, rows: Sequence[dict[str, Any]]) -> None:
    file = io.BytesIO()
    pl.DataFrame(rows, schema=SCHEMA).write_parquet(file)
    save_bytes(run / "evaluations", f"{name}.parquet", file.getvalue())


def keep_adaptation(
    run: Path, variation: str, returns: Sequence[Sequence[float | None]], best: int, **config: Any
) -> None:
    """As 0.1 kept it, under a name of its own; with `weights` as it is kept now."""
    members = {"weights": config.pop("weights")} if "weights" in config else {}
    answer = {
        **members,
        "variation": variation,
        "best": best,
        "config": {"on": None, "selector": "exhaustive", "episodes": len(returns[0]), **config},
        "returns": returns,
        "falls": [0] * len(returns),
        "diverged": [0] * len(returns),
        "held_out_returns": [1.0] * config.get("held_out", 0),
    }
    folder = run / "adaptations"
    save_result(folder, f"{variation}.{len(list(folder.glob('*.json')))}", answer)
