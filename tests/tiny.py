"""Runs so small that a test can train many of them, in this process and in others."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polygait as pg
from polygait import training
from polygait.diversity.registry import METHODS
from polygait.population.store import RunFolder
from polygait.resolving import is_foreign

SETTINGS = (
    "ppo.rollout_steps=64",
    "ppo.minibatch_size=32",
    "ppo.epochs=2",
    "ppo.learning_rate=3e-3",
    "ppo.policy_hidden=8",
    "ppo.critic_hidden=8",
    "sac.minibatch_size=16",
    "sac.updates_per_step=0.25",
    "sac.lag=8",
    "sac.warmup_steps=64",
    "sac.replay_size=1_000",
    "sac.policy_hidden=8",
    "sac.critic_hidden=8",
    "dir.hidden=8",
    "dir.minibatch_size=32",
    "smerl.hidden=8",
    "smerl.minibatch_size=32",
    "smerl.target_return=5",  # so little that the gate opens with the first episodes
)


def config(*overrides: str, iterations: int = 3, **options: Any) -> pg.TrainConfig:
    """A tiny DiR run on Hopper, but for what is wished otherwise."""
    method, learner = options.get("method", "dir"), options.get("learner", "ppo")
    usual = [one for one in SETTINGS if not is_foreign(one, method, learner)]
    small: dict[str, Any] = {
        "task": "hopper",
        "members": 2,
        "envs": 8,
        "steps": 64 * iterations,
        "alpha": 0.5 if METHODS.find(method).has_bonus else None,
    }
    return pg.TrainConfig(**{**small, **options, "overrides": (*usual, *overrides)})


def train(out: Path, *overrides: str, **options: Any) -> pg.Population:
    return pg.train(config(*overrides, **options), out)


class Killed(Exception):  # noqa: N818 - not an error of the program
    """Ends a training as a crash would: nothing is saved on the way out."""


def crash_at(count: int) -> Callable[[object], None]:
    """A report that ends training at its `count`-th line of steps."""
    seen = 0

    def report(line: object) -> None:
        nonlocal seen
        seen += not getattr(line, "phase", "")
        if seen == count:
            raise Killed

    return report


def save_every_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints without a pause, however long they take."""
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(training, "CHECKPOINT_SHARE", math.inf)


def crashed(out: Path, at: int, monkeypatch: pytest.MonkeyPatch, wanted: pg.TrainConfig) -> None:
    """Leave a run that crashed after `at` iterations, each of them saved but the last."""
    save_every_iteration(monkeypatch)
    with pytest.raises(Killed):
        pg.train(wanted, out, crash_at(at))


def digests(run: Path) -> dict[str, str]:
    """The checksum of every member file by its name."""
    files = sorted((run / "members").iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def contents(run: Path) -> dict[str, Any]:
    """All that a finished run holds, but for the times in its manifest."""
    folder = RunFolder.open(run)
    manifest = {name: part for name, part in folder.manifest.items() if name not in ("created", "updated")}
    return {
        "members": digests(run),
        "metrics": [
            repr(record) for record in folder.metrics()
        ],  # NaN differs from itself, its text does not
        "manifest": manifest,
        "files": sorted(str(file.relative_to(run)) for file in run.rglob("*") if file.is_file()),
    }


def assert_same_run(found: Path, expected: Path) -> None:
    ours, theirs = contents(found), contents(expected)
    for part in ours:
        assert ours[part] == theirs[part], part
    assert ours["manifest"]["complete"]


_PROGRAM = """
import sys
import polygait.training as training
training.CHECKPOINT_SECONDS = float(sys.argv.pop(1))
training.CHECKPOINT_SHARE = float("inf")
from polygait.cli import main
sys.argv[0] = "polygait"
main()
"""


class Terminal:
    """Starts polygait in processes of its own."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: object, checkpoint_seconds: float = 1000.0) -> subprocess.Popen[str]:
        """Begin a command, as the leader of a process group of its own."""
        command = [sys.executable, "-c", _PROGRAM, str(checkpoint_seconds), *map(str, words)]
        pipe = subprocess.PIPE
        child = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=self._environment, start_new_session=True
        )
        self._started.append(child)
        return child

    def run(self, *words: object, checkpoint_seconds: float = 1000.0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        child = self.start(*words, checkpoint_seconds=checkpoint_seconds)
        output, errors = child.communicate(timeout=300)
        return subprocess.CompletedProcess(child.args, child.returncode, output, errors)

    def close(self) -> None:
        for child in self._started:
            if child.poll() is None:
                child.kill()
            child.communicate()


def words(wanted: pg.TrainConfig, out: Path) -> list[str]:
    """The command that asks for a configuration."""
    command = ["train", wanted.task, "--out", str(out)]
    for name in ("method", "learner", "preset", "members", "steps", "seed", "envs"):
        command += [f"--{name}", str(getattr(wanted, name))]
    if wanted.alpha is not None:
        command += ["--alpha", str(wanted.alpha)]
    if wanted.remove is not None:
        command += ["--remove", *wanted.remove]
    if wanted.worlds is not None:
        command += ["--worlds", wanted.worlds]
    if wanted.curriculum is not None:
        command += ["--curriculum", str(wanted.curriculum)]
    for name in ("specialists", "against", "specialist_steps"):
        if getattr(wanted, name) is not None:
            command += [f"--{name.replace('_', '-')}", str(getattr(wanted, name))]
    return [*command, "--set", *wanted.overrides]


def wait_for_lines(child: subprocess.Popen[str], run: Path, count: int, timeout: float = 200.0) -> int:
    """Wait until a run has logged `count` lines or its process has ended; the lines there are."""
    until = time.monotonic() + timeout
    lines = 0
    while time.monotonic() < until:
        file = run / "metrics.jsonl"
        lines = file.read_bytes().count(b"\n") if file.exists() else 0
        if lines >= count or child.poll() is not None:
            return lines
        time.sleep(0.002)
    raise AssertionError(f"{run} has {lines} of {count} lines after {timeout} s.")


def group_is_gone(child: subprocess.Popen[str]) -> bool:
    """Whether no process is left of all that a command started."""
    try:
        os.killpg(child.pid, 0)
    except ProcessLookupError:
        return True
    return False
