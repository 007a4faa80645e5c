"""Runs to test on, and real processes that write them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygait.population.store import RunFolder

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def description() -> dict[str, Any]:
    return {
        "config": {"task": "walker", "steps": 1000, "alpha": 0.05, "limit": float("inf")},
        "task": "walker",
        "layout": ["torso.height", "leg.angle"],
        "filter": {"layout": ["torso.height", "leg.angle"], "kept": ["torso.height"]},
        "versions": {"polygait": "0.1.0"},
        "seeds": {"training": 2**63 + 1},
    }


@pytest.fixture
def tensors() -> dict[str, np.ndarray]:
    return {
        ".layers[0].weight": np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4),
        ".mean": np.array([1.0, -0.0, np.nan, np.inf]),
        ".count": np.array(7, dtype=np.int64),
        ".key": np.array([1, 2**32 - 1], dtype=np.uint32),
        ".alive": np.array([True, False]),
        ".nothing": np.zeros((0, 5)),
    }


@pytest.fixture
def run(tmp_path: Path, description: dict[str, Any]) -> RunFolder:
    return RunFolder.create(tmp_path / "run", description)


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python on a program text; whatever still runs at the end of the test is killed."""
    children: list[subprocess.Popen[str]] = []

    def begin(program: str, *arguments: object, wrapper: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        command = [*wrapper, sys.executable, "-c", program, *map(str, arguments)]
        pipe = subprocess.PIPE
        children.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return children[-1]

    yield begin
    for child in children:
        child.kill()
        child.communicate()
