"""The versions that results depend on."""

from __future__ import annotations

import importlib.metadata
import platform

PACKAGES = ("polygait", "mujoco", "jax", "jaxlib", "gymnasium", "numpy", "equinox", "optax")


def versions() -> dict[str, str]:
    """Of Python and of every package that can change a result."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in PACKAGES
    }


def differences(recorded: dict[str, str]) -> list[str]:
    """Which versions have changed since they were recorded, in words."""
    now = versions()
    return [
        f"{name} {recorded.get(name, 'missing')} → {version}"
        for name, version in now.items()
        if recorded.get(name) != version
    ]
