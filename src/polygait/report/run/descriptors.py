"""What a gait is like, in numbers: the axes of the population map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polygait.population.manifest import MemberEntry
from polygait.report.feet import foot_title
from polygait.report.pictures.recording import Recording
from polygait.report.run.charts_population import Descriptor
from polygait.report.run.evidence import UNKNOWN, Nominal
from polygait.tasks.state import StateLayout

_TORSO = ("torso.position", "torso.height")
"""State parts whose mean says how a robot carries itself; its orientation's numbers mean little alone."""


def describe(
    episodes: Mapping[int, Sequence[Recording]],
    entries: Sequence[MemberEntry],
    nominal: Nominal,
    layout: StateLayout,
) -> tuple[list[Descriptor], list[dict[str, Any]]]:
    """The descriptors that can be told for this robot, and their values in every episode."""
    novelty = {entry.index: float(entry.summary.get("novelty", np.nan)) for entry in entries}
    judged = {
        index: {"nominal_return": nominal.scores.get(index, UNKNOWN).mean, "novelty": novelty[index]}
        for index in novelty
    }
    rows = [
        {"member": member} | _values(one, layout) | judged[member]
        for member, recordings in episodes.items()
        for one in recordings
    ]
    feet = next((one.feet for recordings in episodes.values() for one in recordings), ())
    share, least = (0.0, 1.0), (0.0, np.inf)
    ground = "on the ground (share of time)"
    offered = [
        *(
            Descriptor(f"down_{i}", f"{foot_title(foot)} {ground}", ".1~%", share)
            for i, foot in enumerate(feet)
        ),
        *(
            Descriptor(f"strikes_{i}", f"{foot_title(foot)}: strikes per second", ".1f", least)
            for i, foot in enumerate(feet)
        ),
        Descriptor("air", f"no foot {ground}", ".1~%", share),
        Descriptor("speed", "forward speed (m/s)", ".1f"),
        *(Descriptor(f"state_{i}", f"{layout.names[i]} (mean)", ".2f") for i in _carriage(layout)),
        Descriptor("total_reward", "return of the episode", ",.0f"),
        Descriptor("nominal_return", "nominal return of the member", ",.0f"),
        Descriptor("novelty", "novelty when discovered (nats)", ".1f"),
        Descriptor("seconds", "length of the episode (s)", ".1f", least),
    ]
    told = [one for one in offered if any(np.isfinite(row.get(one.key, np.nan)) for row in rows)]
    return told, rows


def _values(recording: Recording, layout: StateLayout) -> dict[str, float]:
    values = {"total_reward": recording.total_reward, "speed": recording.speed, "seconds": recording.seconds}
    if recording.down.shape[1]:
        values["air"] = float((~recording.down.any(axis=1)).mean())
    for place in range(recording.down.shape[1]):
        down = recording.down[:, place]
        values[f"down_{place}"] = float(down.mean())
        values[f"strikes_{place}"] = float((down[1:] & ~down[:-1]).sum() / recording.seconds)
    return values | {f"state_{index}": float(recording.mean_state[index]) for index in _carriage(layout)}


def _carriage(layout: StateLayout) -> list[int]:
    return [index for part in _TORSO for index in layout.parts.get(part, ())]
