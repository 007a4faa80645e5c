"""Steps/s of a study's local engine on all cores, against one single-threaded job alone."""

import argparse
import json
import tempfile
import time
from pathlib import Path

from polygait.population.store import RunFolder
from polygait.study.engines import LocalEngine, available_cores
from polygait.study.grid import StudyJob, read_study
from polygait.study.jobs import JobFolder

FILE = """
methods = ["multi"]
tasks = ["{task}"]
seeds = {seeds}
members = 1
steps = 100_000_000
"""
WARM_UP_LINES = 3


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench study", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--task", default="walker")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    cores = available_cores()
    print(f"{options.task}, {options.rounds} rounds of {options.seconds:.0f} s, steps/s")
    ratios = []
    for _ in range(options.rounds):
        alone, together = (pace(options.task, jobs, options.seconds) for jobs in (1, cores))
        ratios.append(together / alone)
        print(f"one job {alone:,.0f}   {cores} jobs {together:,.0f}   ratio {ratios[-1]:.2f}", flush=True)
    print(f"median ratio {sorted(ratios)[len(ratios) // 2]:.2f}")


def pace(task: str, count: int, seconds: float) -> float:
    """Steps per second of so many jobs at once, after all have warmed up."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "bench.toml"
        path.write_text(FILE.format(task=task, seeds=json.dumps(list(range(count)))))
        jobs = read_study(path).jobs()
        engine = LocalEngine(count)
        try:
            for job in jobs:
                folder = JobFolder.of(Path(scratch), job)
                folder.prepare(job)
                engine.start(job, folder)
            while (
                min(steps(job, scratch) for job in jobs) < WARM_UP_LINES * jobs[0].run.learner.rollout_steps
            ):
                time.sleep(0.05)
            begun, before = time.perf_counter(), sum(steps(job, scratch) for job in jobs)
            time.sleep(seconds)
            return (sum(steps(job, scratch) for job in jobs) - before) / (time.perf_counter() - begun)
        finally:
            engine.stop()


def steps(job: StudyJob, scratch: str) -> int:
    """How many a job has made so far."""
    run = JobFolder.of(Path(scratch), job).run
    lines = RunFolder.open(run).metrics() if (run / "manifest.json").exists() else []
    return lines[-1]["steps"] if lines else 0
