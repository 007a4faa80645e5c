"""Runs a study on two Ray nodes with private folders, and kills one in the middle of its job.

python lost_node.py STUDY.toml OUT SCRATCH
"""

import contextlib
import os
import sys
from pathlib import Path

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

from ray.cluster_utils import Cluster

from polygait.study import ray_engine
from polygait.study.engines import run_jobs
from polygait.study.grid import read_study
from polygait.study.jobs import JobFolder


def begun_cluster() -> Cluster:
    """A head; Ray gives up in seconds on a busy machine, so ask again."""
    for _ in range(3):
        with contextlib.suppress(Exception):
            return Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    raise RuntimeError("Ray does not start.")


def main() -> None:
    """Whatever happened, the last line says which node was lost when."""
    path, out, scratch = map(Path, sys.argv[1:])
    jobs = read_study(path).jobs()
    victim = JobFolder.of(out, jobs[0])
    cluster = begun_cluster()
    nodes = {}
    for name in ("one", "two"):
        private = scratch / name
        private.mkdir()
        nodes[private] = cluster.add_node(num_cpus=1, env_vars={"TMPDIR": str(private)})
    ray_engine.SYNC_SECONDS = 0.3
    engine = ray_engine.RayEngine(cluster.address)
    killed = []

    def watch() -> None:
        log = victim.run / "metrics.jsonl"
        if killed or not log.exists() or not list(victim.run.glob("checkpoints/*")):
            return
        if (lines := log.read_bytes().count(b"\n")) >= 5:
            where = next(private for private in nodes if list(private.glob(f"polygait-{victim.path.name}-*")))
            cluster.remove_node(nodes[where], allow_graceful=False)
            killed.append(f"{where.name} after {lines} lines")

    outcome = run_jobs(jobs, out, engine, watch=watch)
    left = [file for private in nodes for file in private.glob("polygait-*")]
    cluster.shutdown()
    print(f"lost {killed}, done {len(outcome.done)}, failed {outcome.failed}, left {len(left)}")


if __name__ == "__main__":
    main()
