"""The numbers that belong to a robot: what its file says for methods, learners and suites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PRESETS = ("robust", "paper")
"""`paper` follows the paper and its authors' choices; `robust` keeps the method and mends known flaws."""


@dataclass(frozen=True)
class TaskDefaults:
    """What a run on this robot begins with, before a user's own choices."""

    alpha: Mapping[str, float] = field(default_factory=dict)
    """The factor of a method's bonus on this robot, by the method's name."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings that this robot needs, per preset, such as {"robust": {"ppo.learn_std": True}}. Those of other
    methods and learners than a run's own are passed over; `task.NAME` is an option of the robot."""
    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """State parts that a preset's filter removes, where they are others than the robot's own."""
    paper_conditions: tuple[str, ...] | None = None
    """The published conditions, by name; None where the paper has no such robot."""


def for_all_presets(always: Mapping[str, Any], **presets: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The same settings in every preset, with a preset's own added."""
    return {name: {**always, **presets.get(name, {})} for name in PRESETS}
