"""How much memory there is, and the refusal to begin what can never fit into it."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from polygait.errors import UserError

_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
NUMBER = 4
"""Bytes of a float32."""
_ROW = 1000
"""Bytes that every environment has, whatever it shows."""
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def machine_memory() -> int:
    """Bytes that this process can have: the machine's, or what a container or a limit leaves of them."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CONTAINER_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # there is none, or it says "max"
            found.append(int(Path(path).read_text()))
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min([*found, limit] if limit != resource.RLIM_INFINITY else found)


def environment_bytes(observation_size: int, action_size: int) -> int:
    """About what one simulated row of a task takes."""
    return _ROW + 4 * NUMBER * (2 * observation_size + action_size)


def require_memory(what: str, needed: int, remedy: str) -> None:
    """Refuse what needs more memory than there is: the system would end the process in the middle of it."""
    if needed > (most := machine_memory()):
        raise UserError(
            f"{what} would need about {size_text(needed)} of memory; this machine has {size_text(most)}.",
            remedy,
        )


def size_text(count: int) -> str:
    """A number of bytes for people: 830 B, 12 MB, 4.5 TB."""
    count = min(count, 1000**10)  # beyond, nobody counts
    power = min((len(str(count)) - 1) // 3, len(_UNITS) - 1)
    value = count / 1000**power
    return f"{value:,.1f} {_UNITS[power]}" if value < 9.95 and power else f"{value:,.0f} {_UNITS[power]}"
