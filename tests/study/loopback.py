"""Starts the Ray engine, and prints every address on which it or a process below it listens."""

import os
from pathlib import Path

from polygait.study.ray_engine import RayEngine


def descendants() -> set[int]:
    """This process and all below it."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def sockets(process: int) -> set[str]:
    """The inodes of a process's sockets."""
    try:
        targets = [str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()]
    except OSError:
        return set()
    return {target[8:-1] for target in targets if target.startswith("socket:[")}


def listening() -> list[str]:
    """The addresses, as the kernel spells them."""
    ours = {inode for process in descendants() for inode in sockets(process)}
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in ours:
                found.append(words[1].split(":")[0])
    return found


if __name__ == "__main__":
    engine = RayEngine(jobs=1)
    print(*listening(), os.environ["RAY_USAGE_STATS_ENABLED"], engine.slots)
    engine.stop()
