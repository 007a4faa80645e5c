"""How a terminal tells what a population keeps when the world changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from polygait.progress import amount
from polygait.resilience import KEPT_SHARE, Resilience, resilience
from polygait.screen import print_table

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

_FEWEST_CONDITIONS = 2


def print_resilience(screen: Console, frame: pl.DataFrame) -> None:
    """What each further member adds, and how alike members fail; nothing for a single condition."""
    by_return, by_progress = resilience(frame, "return"), resilience(frame, "progress")
    if by_return.conditions < _FEWEST_CONDITIONS:
        return
    curves = {
        "survival, chosen by return": _shares(by_return.survival),
        "survival, chosen by progress": _shares(by_progress.survival),
        "return of the best": [amount(one) for one in by_return.best_return],
        "speed of the best (m/s)": _speeds(by_return.best_speed),
    }
    sizes = [str(size) for size in range(1, by_return.members + 1)]
    rows = [(name, *cells) for name, cells in curves.items() if any(cells)]
    title = f"With so many members, on average over {by_return.conditions} changed worlds"
    print_table(screen, title, ("members", *sizes), rows)
    for line in _explained(by_return):
        screen.print(line, style="dim")


def _explained(found: Resilience) -> list[str]:
    lines = []
    if not np.isnan(found.survival).any():
        speed = found.best_nominal_speed
        lines.append(
            f"Survival: the chosen member keeps at least {KEPT_SHARE * speed:.2f} m/s, half of the best "
            f"nominal speed ({speed:.2f} m/s); half of the episodes choose it, the others score it."
        )
    alike = [
        f"{value:.2f} ({word})"
        for word, value in (("returns", found.return_correlation), ("speeds", found.speed_correlation))
        if not math.isnan(value)
    ]
    if alike:
        lines.append(f"How alike members fail, their mean correlation over these worlds: {', '.join(alike)}.")
    return lines


def _shares(values: np.ndarray) -> list[str]:
    return [] if np.isnan(values).any() else [f"{100 * one:.0f} %" for one in values]


def _speeds(values: np.ndarray) -> list[str]:
    return [] if np.isnan(values).any() else [f"{one:.2f}" for one in values]
