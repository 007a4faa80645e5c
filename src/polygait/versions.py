"""The versions that results depend on."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform

PACKAGES = ("polygait", "mujoco", "jax", "jaxlib", "gymnasium", "numpy", "equinox", "optax")
OPTIONAL = ("pybullet",)
"""Packages that count where they are installed."""


def versions() -> dict[str, str]:
    """Of Python and of every package that can change a result."""
    found = {"python": platform.python_version()}
    found |= {name: importlib.metadata.version(name) for name in PACKAGES}
    for name in OPTIONAL:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def differences(recorded: dict[str, str]) -> list[str]:
    """Which versions have changed since they were recorded, in words."""
    now = versions()
    return [
        f"{name} {recorded.get(name, 'missing')} → {version}"
        for name, version in now.items()
        if recorded.get(name) != version and (name in recorded or name not in OPTIONAL)
    ]
