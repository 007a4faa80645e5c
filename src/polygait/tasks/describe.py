"""What can be said about a task in names: parts, filter, conditions, joints and bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polygait.tasks.actions import law_of_task
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateLayout
from polygait.variations import FORMS


def describe_task(name: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A task as plain data, for a program or a table; options are the robot's own."""
    task = make_task(name, **(options or {}))
    kept = set(task.default_filter.kept)
    description: dict[str, Any] = {
        "name": name,
        "observation_size": task.observation_size,
        "action_size": task.action_size,
        "max_episode_steps": task.max_episode_steps,
        "feet": list(task.feet),
        "parts": [
            {
                "name": part,
                "size": len(indices),
                "numbers": [task.layout.names[index].removeprefix(f"{part}.") for index in indices],
                "kept": len(kept.intersection(indices)),
            }
            for part, indices in task.layout.groups.items()
        ],
        "removed": _coarsest(task.layout, set(task.default_filter.removed_names)),
        "edits": dict(FORMS),
        "conditions": dict(task.conditions),
        "joints": list(task.anatomy.joints),
        "motors": list(task.anatomy.actions),
        "bodies": list(task.anatomy.bodies),
        "geoms": list(task.anatomy.geoms),
    }
    law = law_of_task(task)
    description["actions"] = {"in_words": law.describe(), **law.to_json()}
    found = getattr(getattr(task, "robot", None), "found", None)
    if found is not None:
        description["found"] = found
    return description


def _coarsest(layout: StateLayout, names: set[str]) -> list[str]:
    """The fewest parts that cover exactly these numbers."""
    parts: list[str] = []
    for part, indices in layout.parts.items():
        covered = any(part.startswith(f"{coarser}.") for coarser in parts)
        if not covered and names.issuperset(layout.names[index] for index in indices):
            parts.append(part)
    return parts
