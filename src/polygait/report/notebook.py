"""Populations and adaptations as notebooks show them: a table, and every member in a few pictures."""

from __future__ import annotations

import math

from polygait.adaptation import Adaptation
from polygait.episodes import Job
from polygait.errors import UserError
from polygait.population.population import Population
from polygait.report.pictures.images import png
from polygait.report.pictures.recording import Recording, record
from polygait.report.pictures.scene import require_drawable
from polygait.report.pictures.video import STRIP_SECONDS, Studio, side_by_side, strip_moments, strip_window
from polygait.report.run.members import picture_rows
from polygait.report.web.html import Html, joined, table, tag
from polygait.screen import without_empty

MOST_PICTURED = 12
"""Members whose pictures are drawn; a cell of a notebook is no page."""
_SIZE, _FRAMES = (110, 130), 6


def population_html(population: Population) -> str:
    """A population's table, and a strip of every member where its robot can be drawn."""
    columns, rows = without_empty(*population.table())
    return tag("div", tag("p", tag("strong", population.title)), table(columns, rows), _strips(population))


def adaptation_html(adaptation: Adaptation) -> str:
    """Every member's trials, and who was chosen."""
    columns, rows = without_empty(*adaptation.table())
    title = tag("p", tag("strong", adaptation.title))
    return tag("div", title, table(columns, rows), tag("p", adaptation.verdict))


def _strips(population: Population) -> Html:
    """Every member in a nominal episode; what stands in the way of pictures is said instead."""
    shown = population.members[:MOST_PICTURED]
    try:
        task = require_drawable(population.make_task(1))
        recordings = record(population, [Job(member.index, None, 0) for member in shown])
    except UserError as error:
        return tag("p", f"No pictures: {error.problem}")
    strips = []
    with Studio(task, _SIZE, "rays") as studio:  # whether OpenGL works would take seconds to find out
        for member, recording in zip(shown, recordings, strict=True):
            moments = strip_moments(strip_window(recording, STRIP_SECONDS), _FRAMES)
            image = png(side_by_side(list(studio.pictures(recording, moments))))
            told = f"{member.title}: {_does(recording)}"
            strips.append(tag("figure", tag("figcaption", told), picture_rows([image], told)))
    more = len(population) - len(shown)
    return joined([*strips, tag("p", f"and {more} more") if more > 0 else None])


def _does(recording: Recording) -> str:
    """How fast an episode was, where it is known, and how it ended."""
    speed = [] if math.isnan(recording.speed) else [f"{recording.speed:.2f} m/s"]
    return ", ".join([*speed, f"{'falls' if recording.fell else 'up'} after {recording.seconds:.1f} s"])
