"""Starts the Ray engine with jobs that fit and with jobs that do not, and where Ray is used already."""

import os

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

from ray.cluster_utils import Cluster

from polygait.errors import UserError
from polygait.study.ray_engine import RayEngine


def refused(**options: object) -> None:
    """Print why."""
    try:
        RayEngine(**options)  # type: ignore[arg-type]
    except UserError as error:
        print(error)


if __name__ == "__main__":
    ours = RayEngine(jobs=2, cpus_per_job=3)
    print(f"2 jobs of 3 cores: {ours.slots} slots")
    ours.stop()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    refused(address=cluster.address, cpus_per_job=2)
    engine = RayEngine(cluster.address)
    refused()
    print(f"{engine.slots} slots after that")
    engine.stop()
    cluster.shutdown()
