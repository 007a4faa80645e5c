"""A change in three scenes side by side: before it, after it, and after it with the chosen member."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from contextlib import ExitStack, closing
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polygait.charts import FONT
from polygait.config import RenderConfig
from polygait.episodes import Job, task_factory
from polygait.errors import UserError
from polygait.population.population import Population
from polygait.progress import Count, silent
from polygait.report.condition_words import condition_words
from polygait.report.pictures.images import FRAMES_PER_SECOND, film, require_av
from polygait.report.pictures.recording import Recording, record
from polygait.report.pictures.scene import require_drawable
from polygait.report.pictures.video import (
    MOVING_SECONDS,
    Studio,
    counted_pictures,
    film_moments,
    require_drawn_form,
    side_by_side,
)
from polygait.report.run.findings import gather
from polygait.resilience import stands_still
from polygait.storage.files import write_atomically
from polygait.variations import parse_variation

SCENE_SIZE = (288, 240)
_BAND = 50  # pixels above every scene, for its caption
_INK, _PALE = "#1f2933", "#52606d"


class Scene(NamedTuple):
    """An episode and what stands above it."""

    recording: Recording
    title: str
    fastest: float
    """The speed before the change, beside which one sees who stands still."""

    @property
    def outcome(self) -> str:
        """Who acts, and what became of it."""
        recording = self.recording
        if recording.fell:
            does = f"falls after {recording.seconds:.1f} s"
        elif math.isnan(recording.speed):
            does = f"up after {recording.seconds:.1f} s"
        elif stands_still(recording.speed, 0.0, self.fastest):
            does = "stands still"
        else:
            does = f"{recording.speed:.1f} m/s"
        return f"member {recording.job.member}: {does}"


class Told(NamedTuple):
    """A story that was written."""

    path: Path
    scenes: Sequence[Scene]
    renderer: str


def render_story(
    population: Population,
    out: str | Path,
    config: RenderConfig,
    member: int | None = None,
    report: Count = silent,
) -> Told:
    """Draw what a change does to the best nominal member, and what the chosen one makes of it.

    Chosen is `member`; if left out, the one that an adaptation to this variation chose.
    """
    out = Path(out)
    require_drawn_form(out, config)
    make = task_factory(population, config.on, None)
    task = require_drawable(make(1))
    task.set_variation(config.variation)
    usual, chosen = _who(population, config, member)
    worlds = ((usual, None), (usual, config.variation), (chosen, config.variation))
    recordings = record(population, [Job(*world, config.seed) for world in worlds], make)
    changed = condition_words(str(parse_variation(config.variation, task.conditions))).label
    titles = ("before", f"{changed}: its old gait", f"{changed}: the chosen gait")
    scenes = [Scene(*pair, recordings[0].speed) for pair in zip(recordings, titles, strict=True)]
    longest = config.seconds or MOVING_SECONDS
    pause = (config.speed or 1.0) / FRAMES_PER_SECOND[out.suffix]
    moments = [film_moments(scene.recording, pause, longest) for scene in scenes]
    length = max(map(len, moments))
    size = config.size or SCENE_SIZE
    captions = [caption(scene, size[0]) for scene in scenes]
    with ExitStack() as opened:
        studios = [opened.enter_context(Studio(task, size, config.renderer)) for _ in scenes]
        drawn = [
            opened.enter_context(closing(studio.pictures(scene.recording, _held(steps, length))))
            for studio, scene, steps in zip(studios, scenes, moments, strict=True)
        ]
        frames = (
            _even(side_by_side([np.concatenate(pair) for pair in zip(captions, pictures, strict=True)]))
            for pictures in zip(*drawn, strict=True)
        )
        data = film(counted_pictures(frames, length, report), out)
    write_atomically(out, data, "draw again")
    return Told(out, scenes, studios[0].renderer)


def _who(population: Population, config: RenderConfig, member: int | None) -> tuple[int, int]:
    """The best nominal member and the one that is to be shown as chosen."""
    findings = gather(population)
    if member is not None:
        population.require_member(member)
        return findings.best, member
    choice = findings.choice(config.on or "", config.variation)
    if choice is None:
        raise UserError(
            f"Nobody has chosen a member for {config.variation} yet.",
            f"Choose one with polygait adapt {population.path} --variation {config.variation!r}, "
            "or name one with --member.",
        )
    return findings.best, choice.member


def _held(moments: Sequence[int], length: int) -> list[int]:
    """An episode that ended early stays at its end."""
    return [*moments, *[moments[-1]] * (length - len(moments))]


def _even(picture: np.ndarray) -> np.ndarray:
    """Films need even sides: a white column more where there is one too few."""
    return np.pad(
        picture, ((0, picture.shape[0] % 2), (0, picture.shape[1] % 2), (0, 0)), constant_values=255
    )


def caption(scene: Scene, width: int) -> np.ndarray:
    """What stands above a scene, as wide as it is."""
    import vl_convert

    lines = (
        (scene.title, 20, 15, "bold", _INK),
        (scene.outcome, 40, 14, "normal", _PALE),
    )
    words = "".join(
        f'<text x="{width / 2}" y="{y}" text-anchor="middle" font-family="{FONT}" font-size="{size}" '
        f'font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
        for text, y, size, weight, colour in lines
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_BAND}">'
        f'<rect width="{width}" height="{_BAND}" fill="#ffffff"/>{words}</svg>'
    )
    with require_av().open(io.BytesIO(vl_convert.svg_to_png(svg, scale=1)), "r") as container:
        (frame,) = container.decode(video=0)
        return frame.to_ndarray(format="rgb24")
