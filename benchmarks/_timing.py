"""Rounds of competing loops, one after another, so that noise falls on all alike."""

import statistics
import time
from collections.abc import Callable, Mapping


def rates(loops: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    """Steps per second of every loop in every round; a loop returns how many steps it made."""
    measured: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            begin = time.perf_counter()
            steps = loop()
            measured[name].append(steps / (time.perf_counter() - begin))
    return measured


def ratio(measured: Mapping[str, list[float]], ours: str, theirs: str) -> float:
    """The median over rounds of one rate divided by another of the same round."""
    return statistics.median(a / b for a, b in zip(measured[ours], measured[theirs], strict=True))
