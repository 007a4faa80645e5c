"""Studies so small that a test can run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import tiny

from polygait.study.grid import Study, read_study
from polygait.study.jobs import JobFolder

FILE = """
methods = {methods}
tasks = {tasks}
seeds = {seeds}
members = 2
envs = 8
alpha = 0.5
steps = {steps}
settings = {settings}

[measure]
suites = ["damage"]
episodes = 2
held_out = 2
diversity_states = 20
contact_episodes = 1
"""


def write(folder: Path, name: str = "small", more: str = "", **options: Any) -> Path:
    """A study's file: DiR and Multi on Hopper, but for what is wished otherwise."""
    filled = {
        "methods": ["dir", "multi"],
        "tasks": ["hopper"],
        "seeds": [0],
        "steps": 64 * 3,
        "settings": list(tiny.SETTINGS),
    } | options
    path = folder / f"{name}.toml"
    path.write_text(FILE.format(**{key: json.dumps(value) for key, value in filled.items()}) + more)
    return path


def study(folder: Path, **options: Any) -> Study:
    return read_study(write(folder, **options))


class Terminal(tiny.Terminal):
    """Starts polygait in processes of its own, whose workers save at every turn."""

    def __init__(self, **environment: str) -> None:
        super().__init__()
        self._environment |= environment
        quick = str(Path(__file__).parent / "quick_checkpoints")
        self._environment["PYTHONPATH"] = os.pathsep.join([quick, os.environ.get("PYTHONPATH", "")])

    def run(self, *words: object, checkpoint_seconds: float = 1000.0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; a whole study on a busy machine takes its time."""
        child = self.start(*words, checkpoint_seconds=checkpoint_seconds)
        output, errors = child.communicate(timeout=3000)
        return subprocess.CompletedProcess(child.args, child.returncode, output, errors)

    def start_script(self, *words: object) -> subprocess.Popen[str]:
        """Begin a Python script."""
        pipe = subprocess.PIPE
        command = [sys.executable, *map(str, words)]
        child = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=self._environment, start_new_session=True
        )
        self._started.append(child)
        return child


def results(wanted: Study, out: Path) -> dict[str, bytes]:
    """The results of all jobs, byte for byte."""
    return {job.name: JobFolder.of(out, job).result.read_bytes() for job in wanted.jobs()}
