"""The sections of a study's page, in their order; every table and figure names its own."""

from __future__ import annotations

from collections.abc import Iterable

OVERVIEW = "At a glance"
DAMAGE = "After damage"
UNCHANGED = "Nothing wrong"
SENSORS = "Sensor failures"
DYNAMICS = "Dynamics"
MESH = "Everything that may break"
CHOOSING = "What choosing brings"
DIFFERENCE = "How members differ"
TRAINED = "What was trained"
ORDER = (OVERVIEW, DAMAGE, MESH, UNCHANGED, SENSORS, DYNAMICS, CHOOSING, DIFFERENCE, TRAINED)


def ordered_topics(found: Iterable[str]) -> list[str]:
    """Known topics in their order, others behind: nothing vanishes because nobody listed it."""
    topics = dict.fromkeys(found)
    return sorted(topics, key=lambda topic: ORDER.index(topic) if topic in ORDER else len(ORDER))
