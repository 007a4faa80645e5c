"""What a gait is like, in numbers: the axes of the population map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polygait.population.manifest import MemberEntry
from polygait.report.feet import foot_title
from polygait.report.pictures.recording import Recording
from polygait.report.run.evidence import UNKNOWN, Nominal
from polygait.report.run.findings import Findings
from polygait.report.run.gallery import Gallery
from polygait.tasks.state import StateLayout

_TORSO = ("torso.position", "torso.height")
"""State parts whose mean says how a robot carries itself; its orientation's numbers mean little alone."""
_MARGIN = 0.07  # of an axis, beyond the first and the last episode


class Descriptor(NamedTuple):
    """One thing that can be said about a gait in a number."""

    key: str
    title: str
    """With its unit, as an axis says it."""
    format: str = ",.2f"
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """What the number can be at all: no axis goes beyond."""

    @property
    def step(self) -> float:
        """The least difference that its format shows: ticks closer than that would read alike."""
        digits = int(self.format.rstrip("f%~").rpartition(".")[2])
        return 10.0 ** -(digits + 2 * self.format.endswith("%"))

    def domain(self, episodes: Sequence[Mapping[str, Any]]) -> list[float]:
        """From where to where an axis goes that shows all episodes."""
        told = np.array([row.get(self.key, math.nan) for row in episodes], dtype=np.float64)
        told = told[np.isfinite(told)]
        low, high = (float(told.min()), float(told.max())) if len(told) else (0.0, 0.0)
        margin = _MARGIN * (high - low) or 0.1 * abs(high) or 1.0
        return [max(low - margin, self.bounds[0]), min(high + margin, self.bounds[1])]


def described_axes(findings: Findings, gallery: Gallery) -> tuple[list[Descriptor], list[dict[str, Any]]]:
    """The descriptors of this run, best axes first, and their values."""
    if findings.population is None:
        return [], []
    return describe(gallery.episodes, findings.entries, findings.nominal, findings.population.layout)


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
        {"member": member} | _values(recording, layout) | judged[member]
        for member, recordings in episodes.items()
        for recording in recordings
    ]
    feet = next((recording.feet for recordings in episodes.values() for recording in recordings), ())
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
    told = [
        descriptor
        for descriptor in offered
        if any(np.isfinite(row.get(descriptor.key, np.nan)) for row in rows)
    ]
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
