"""Exported policies: how near they come to `Population.act`, how fast they act, and what they earn elsewhere.

    ./dev bench export RUN … [--drive Walker2d-v5]

Deviation: over states that a member visits when it is pushed about, the largest difference of an action, of
ONNX in onnxruntime and of the NumPy reader. Time: of one action by itself, on one thread. With --drive, a
process in an environment of its own, with onnxruntime, NumPy and Gymnasium alone, drives Gymnasium's own
robot with every member. Beside it what `Population.act` earns in our task from the very same starts, and what
`evaluate` measures from its own.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime

import polygait as pg
from benchmarks.train import ROOT
from polygait.episodes import Frame, Job, run_members
from polygait.exporting.reader import Policy
from polygait.tasks.mujoco import MujocoTask

DATA = ROOT / "tests" / "data"
DRIVER_HOME = ROOT / ".bench-venv-drive"
DRIVER_NEEDS = ("onnxruntime", "numpy", "gymnasium[mujoco]==1.4.*", "mujoco==4.0.*")
TIMED = 20_000
"""Actions."""


def visited(population: pg.Population, member: int, episodes: int) -> np.ndarray:
    """States of whole episodes with the noise of training."""
    seen: list[np.ndarray] = []

    def watch(frame: Frame) -> None:
        seen.append(frame.observation[frame.job >= 0])

    run_members(population, [Job(member, None, seed, True) for seed in range(episodes)], watch=watch)
    return np.concatenate(seen)


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def measure(population: pg.Population, folder: Path, episodes: int) -> None:
    """One row of the table."""
    files = pg.export(population, folder / "onnx", all=True).policies
    arrays = pg.export(population, folder / "numpy", all=True, format="numpy").policies
    deviations, count, states = {"onnx": 0.0, "numpy": 0.0}, 0, np.empty(0)
    for member, path in files.items():
        states = visited(population, member, episodes)
        expected = population.act(states, member)
        found = session(path).run(["actions"], {"obs": states.astype(np.float32)})[0]
        deviations["onnx"] = max(deviations["onnx"], float(np.abs(np.asarray(found) - expected).max()))
        found = Policy(arrays[member]).actions(states)
        deviations["numpy"] = max(deviations["numpy"], float(np.abs(found - expected).max()))
        count += len(states)
    policy, one = session(files[0]), states[:1].astype(np.float32)
    reader = Policy(arrays[0])
    acting = (lambda: policy.run(["controls"], {"obs": one}), lambda: reader(one))
    cells = [f"{deviation:.1e}" for deviation in deviations.values()]
    cells += [" / ".join(f"{1000 * part:.3f}" for part in _percentiles(act)) for act in acting]
    size = files[0].stat().st_size / 1024
    print(f"| {population.path.name} | {count:,} | {' | '.join(cells)} | {size:.0f} |", flush=True)


def _percentiles(act: Callable[[], object]) -> list[float]:
    """The median and the 99th percentile of a call's seconds."""
    seconds = np.empty(TIMED)
    for index in range(TIMED):
        start = time.perf_counter()
        act()
        seconds[index] = time.perf_counter() - start
    return np.percentile(seconds, [50, 99]).tolist()


def driver_python() -> str:
    """The Python of an environment without polygait and without JAX, made when it is first needed."""
    python = DRIVER_HOME / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(DRIVER_HOME)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *DRIVER_NEEDS], check=True)
    return str(python)


def drive(population: pg.Population, folder: Path, env_id: str, episodes: int) -> None:
    """What every member earns in Gymnasium's own environment, beside ours."""
    print(f"\n| member | {env_id}, onnxruntime alone | ours, same starts | largest difference | evaluate |")
    print("|---|---|---|---|---|")
    measured = pg.evaluate(population, suite="nominal", episodes=episodes)
    for member, path in pg.export(population, folder / "driven", all=True).policies.items():
        command = [driver_python(), "-P", str(ROOT / "benchmarks" / "_drive.py"), str(path), env_id]
        told = subprocess.run([*command, str(episodes)], stdout=subprocess.PIPE, text=True, check=True).stdout
        found = json.loads(told)
        if found["foreign"]:
            raise RuntimeError(f"The driver used {found['foreign']}.")
        theirs, ours = np.array(found["returns"]), from_starts(population, member, found["starts"])
        row = measured.filter(measured["member"] == member).row(0, named=True)
        cells = [f"{one.mean():,.1f} ± {one.std() / math.sqrt(episodes):,.0f}" for one in (theirs, ours)]
        cells += [f"{np.abs(theirs - ours).max():.2g}"]
        cells += [f"{row['mean_return']:,.1f} ± {row['std_return'] / math.sqrt(episodes):,.0f}"]
        print(f"| {member} | {' | '.join(cells)} |", flush=True)


def from_starts(
    population: pg.Population, member: int, starts: Sequence[Sequence[list[float]]]
) -> np.ndarray:
    """What a member earns in our task from given positions and velocities."""
    task = population.make_task(len(starts))
    assert isinstance(task, MujocoTask)
    qpos, qvel = (np.array(part) for part in zip(*starts, strict=True))
    observation, total = task.set_state(qpos, qvel), np.zeros(len(starts))
    running = np.ones(len(starts), bool)
    while running.any():
        step = task.step(population.act(observation, member))
        total += step.reward * running
        running &= ~(step.terminated | step.truncated)
        observation = step.observation
    return total


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench export", description=(__doc__ or "").splitlines()[0])
    runs = [DATA / "walker-dir", DATA / "hopper-dir"]
    parser.add_argument("runs", nargs="*", type=Path, default=runs, help="populations")
    parser.add_argument("--episodes", type=int, default=5, help="of every member, for states and returns")
    parser.add_argument("--drive", metavar="ENV_ID", help="drive this environment with the first population")
    options = parser.parse_args(arguments)
    print("| run | states | onnx: largest deviation | numpy | onnx: ms per action, p50 / p99 | numpy | KiB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for index, run in enumerate(options.runs):
            measure(pg.load(run), Path(folder) / str(index), options.episodes)
        if options.drive:
            drive(pg.load(options.runs[0]), Path(folder), options.drive, options.episodes)
