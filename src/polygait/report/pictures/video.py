"""Members in motion: a film, or a strip of single pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polygait.config import seed_problems
from polygait.episodes import Job, world_of
from polygait.errors import UserError, unknown_name
from polygait.population.files import write_atomically
from polygait.population.population import Population
from polygait.report.pictures.images import mp4, png
from polygait.report.pictures.painters import Painter, make_painter
from polygait.report.pictures.recording import Recording, record
from polygait.report.pictures.scene import Stage, changed_geoms, require_drawable
from polygait.tasks.mujoco import MujocoTask
from polygait.variations import parse_variation

FILM_SIZE = (480, 360)
STRIP_SIZE = (220, 260)
FRAMES_PER_SECOND = 30
STRIP_FRAMES, MOST_FRAMES = 8, 100
STRIP_SECONDS = 1.2
"""How much of an episode a strip shows: two or three strides."""
_GAP = 3  # white pixels between the pictures of a strip


@dataclass(frozen=True)
class RenderConfig:
    """What to draw, and how."""

    variation: str = "nominal"
    """The world in which the member acts."""
    seed: int = 0
    """Of the episode's start."""
    seconds: float | None = None
    """Film: at most so much of the episode. Strip: the stretch it shows, 1.2 when left out."""
    frames: int | None = None
    """Strip: how many pictures, 8 when left out."""
    speed: float | None = None
    """Film: 0.5 is half as fast as life."""
    size: tuple[int, int] | None = None
    """Width and height of one picture; even numbers."""
    on: str | None = None
    """Another task with the same state and actions."""
    renderer: str = "auto"
    """egl, osmesa, rays, or the first of them that works."""

    def problems(self, suffix: str) -> list[str]:
        """Every rule these values break for a file with this ending, in words."""
        found = seed_problems(self.seed)
        for name in ("seconds", "frames", "speed"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                found.append(f"`{name}` must be above 0 and finite, got {value}.")
        if self.size is not None and (
            len(self.size) != 2 or any(side % 2 or not 16 <= side <= 4096 for side in self.size)
        ):
            found.append(f"`size` must be two even numbers from 16 to 4096, got {self.size}.")
        if self.frames is not None and self.frames > MOST_FRAMES:
            found.append(f"`frames` must be at most {MOST_FRAMES}, got {self.frames}.")
        if suffix == ".mp4" and self.frames is not None:
            found.append("`frames` is of a strip (.png): give `speed` or `seconds` for a film.")
        if suffix == ".png" and self.speed is not None:
            found.append("`speed` is of a film (.mp4): give `frames` or `seconds` for a strip.")
        return found


class Rendered(NamedTuple):
    """What was drawn."""

    path: Path
    recording: Recording
    renderer: str


def render(
    population: Population, member: int, out: str | Path, config: RenderConfig | None = None
) -> Rendered:
    """Draw a member in a world: a film for a name that ends in .mp4, a strip of pictures for .png."""
    config, out = config or RenderConfig(), Path(out)
    if out.suffix not in (".mp4", ".png"):
        raise UserError(
            f"Cannot draw into {out.name!r}.", "End its name in .mp4 for a film or in .png for a strip."
        )
    if problems := config.problems(out.suffix):
        raise UserError("\n".join(problems))
    if not 0 <= member < len(population):
        raise unknown_name("member", str(member), [str(one.index) for one in population.members])
    make = world_of(population, config.on, None)
    task = require_drawable(make(1))
    task.set_variation(config.variation)
    (recording,) = record(population, [Job(member, config.variation, config.seed)], make)
    film = out.suffix == ".mp4"
    with Studio(task, config.size or (FILM_SIZE if film else STRIP_SIZE), config.renderer) as studio:
        if film:
            speed, longest = config.speed or 1.0, config.seconds or recording.seconds
            data = mp4(studio.film(recording, speed, longest), FRAMES_PER_SECOND)
        else:
            window = strip_window(recording, config.seconds or STRIP_SECONDS)
            data = png(studio.strip(recording, window, config.frames or STRIP_FRAMES))
        write_atomically(out, data, "draw again")
        return Rendered(out, recording, studio.renderer)


class Studio:
    """Draws the episodes of one robot."""

    def __init__(self, task: MujocoTask, size: tuple[int, int], renderer: str = "auto") -> None:
        self._task = task
        self._stage = Stage(task.robot, size)
        self._painter: Painter = make_painter(self._stage, renderer)

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self._painter.close()

    @property
    def renderer(self) -> str:
        """Who draws: egl, osmesa or rays."""
        return self._painter.name

    def pictures(self, recording: Recording, moments: Sequence[int]) -> Iterator[np.ndarray]:
        """The robot at some steps of an episode; what its world has changed by then is red."""
        variation = parse_variation(recording.job.variation, self._task.conditions)
        for moment in moments:
            self._stage.pose(recording.qpos[moment], changed_geoms(self._task, variation, moment))
            yield self._painter.paint()

    def film(self, recording: Recording, speed: float, longest: float) -> Iterator[np.ndarray]:
        """An episode from its start, at most so many seconds of it."""
        seconds = np.arange(0.0, min(longest, recording.seconds), speed / FRAMES_PER_SECOND)
        moments = np.minimum(seconds / recording.seconds_per_step, len(recording) - 1).astype(int)
        return self.pictures(recording, moments.tolist())

    def strip(self, recording: Recording, window: tuple[int, int], frames: int) -> np.ndarray:
        """Pictures side by side, evenly spread over a stretch of the episode."""
        moments = np.linspace(*window, frames).round().astype(int)
        return side_by_side(list(self.pictures(recording, moments.tolist())))


def side_by_side(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Pictures in a row with white between them."""
    gap = np.full((pictures[0].shape[0], _GAP, 3), 255, dtype=np.uint8)
    return np.concatenate([part for one in pictures for part in (gap, one)][1:], axis=1)


def strip_window(recording: Recording, seconds: float) -> tuple[int, int]:
    """First and last step that a strip shows.

    The middle of the episode, where a gait has settled; the end of one that ends in a fall.
    """
    last = len(recording) - 1
    length = min(last, round(seconds / recording.seconds_per_step))
    begin = last - length if recording.fell else (last - length) // 2
    return begin, begin + length
