"""Manifests of earlier formats, brought step by step to the present one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_METHODS_0_1 = ("dir", "smerl", "dvd")
"""Sections of settings that every configuration of 0.1 had, whatever its method."""


def _to_format_2(manifest: dict[str, Any]) -> dict[str, Any]:
    """The settings of one learner and one method, not of all; an experiment beside its configuration."""
    config = dict(manifest["config"])
    if "experiment" in config:
        return {**manifest, "config": {}, "experiment": {"name": config.pop("experiment"), **config}}
    sections = {name: config.pop(name, {}) for name in _METHODS_0_1}
    config["learner"] = {"name": "ppo", **config.pop("ppo", {})}
    config["method_config"] = sections.get(config.get("method", ""), {})
    return {**manifest, "config": config}


MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _to_format_2}
"""From a format to the step that brings a manifest (its checksum taken off) to the next one."""


def migrated_state(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The state of a checkpoint under the names of today: 0.1 kept networks and normaliser side by side."""
    if not any(name.startswith(".normalizer") for name in tensors):
        return tensors
    renamed = {".learner": ".learner.networks", ".normalizer": ".learner.normalizer"}
    renamed[".kept.brain"] = ".kept.policies"
    return {
        next(
            (new + name.removeprefix(old) for old, new in renamed.items() if name.startswith(old)), name
        ): array
        for name, array in tensors.items()
    }
