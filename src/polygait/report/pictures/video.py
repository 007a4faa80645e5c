"""Members in motion: a film, or a strip of single pictures."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from polygait.config import RenderConfig
from polygait.episodes import Job, task_factory
from polygait.errors import UserError, unknown_name
from polygait.population.population import Population
from polygait.progress import Count, silent
from polygait.report.pictures.images import FRAMES_PER_SECOND, film, png, require_av
from polygait.report.pictures.painters import Painter, make_painter
from polygait.report.pictures.rays import RayPainter
from polygait.report.pictures.recording import Recording, record
from polygait.report.pictures.scene import DrawableTask, Stage, changed_geoms, require_drawable
from polygait.storage.files import write_atomically
from polygait.study.engines import available_cores
from polygait.variations import parse_variation

FILM_SIZE = (480, 360)
STRIP_SIZE = (220, 260)
MOVING_SECONDS = 6.0
"""How much of an episode a moving picture shows: it is looked at again and again, and lies in memory."""
STRIP_FRAMES = 8
STRIP_SECONDS = 1.2
"""How much of an episode a strip shows: two or three strides."""
_GAP = 3  # white pixels between the pictures of a strip


class Rendered(NamedTuple):
    """What was drawn."""

    path: Path
    recording: Recording
    renderer: str


def render(
    population: Population,
    member: int,
    out: str | Path,
    config: RenderConfig | None = None,
    report: Count = silent,
) -> Rendered:
    """Draw a member in a world: a film (.mp4), a moving picture (.gif, .webp), a strip of pictures (.png).

    `report` is told how many of how many pictures are drawn.
    """
    config, out = config or RenderConfig(), Path(out)
    require_drawn_form(out, config)
    if not 0 <= member < len(population):
        raise unknown_name("member", str(member), [str(known.index) for known in population.members])
    make = task_factory(population, config.on, None)
    task = require_drawable(make(1))
    task.set_variation(config.variation)
    (recording,) = record(population, [Job(member, config.variation, config.seed)], make)
    moving = out.suffix in FRAMES_PER_SECOND
    with Studio(task, config.size or (FILM_SIZE if moving else STRIP_SIZE), config.renderer) as studio:
        if moving:
            longest = config.seconds or (recording.seconds if out.suffix == ".mp4" else MOVING_SECONDS)
            moments = film_moments(recording, (config.speed or 1.0) / FRAMES_PER_SECOND[out.suffix], longest)
        else:
            window = strip_window(recording, config.seconds or STRIP_SECONDS)
            moments = strip_moments(window, config.frames or STRIP_FRAMES)
        with closing(studio.pictures(recording, moments)) as drawn:
            told = counted_pictures(drawn, len(moments), report)
            data = film(told, out) if moving else png(side_by_side(list(told)))
        write_atomically(out, data, "draw again")
        return Rendered(out, recording, studio.renderer)


def require_drawn_form(out: Path, config: RenderConfig) -> None:
    """Say what can be drawn to who asks for something else."""
    if out.suffix not in (*FRAMES_PER_SECOND, ".png"):
        raise UserError(
            f"Cannot draw into {out.name!r}.",
            "End its name in .mp4 for a film, in .gif or .webp for a moving picture, in .png for a strip.",
        )
    if problems := config.problems(out.suffix):
        raise UserError("\n".join(problems))
    if out.suffix != ".png":
        require_av()


class _Pose(NamedTuple):
    """How a robot stands, and which of its geoms are red."""

    qpos: np.ndarray
    changed: tuple[int, ...]


class _Easel(NamedTuple):
    """A stage and who draws it; only one picture can be drawn on it at a time."""

    stage: Stage
    painter: Painter

    def draw(self, pose: _Pose) -> np.ndarray:
        self.stage.pose(*pose)
        return self.painter.paint()


class Studio:
    """Draws the episodes of one robot: with rays on every core, with OpenGL in the one thread that may."""

    def __init__(self, task: DrawableTask, size: tuple[int, int], renderer: str = "auto") -> None:
        self._task = task
        stage = Stage(task.body, size)
        painter = make_painter(stage, renderer)
        self._easels = [_Easel(stage, painter)]
        if isinstance(painter, RayPainter):  # MuJoCo casts rays without Python's lock
            twins = [stage.twin() for _ in range(available_cores() - 1)]
            self._easels += [_Easel(twin, painter.on(twin)) for twin in twins]

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        for easel in self._easels:
            easel.painter.close()

    @property
    def renderer(self) -> str:
        """Who draws: egl, osmesa or rays."""
        return self._easels[0].painter.name

    def pictures(self, recording: Recording, moments: Sequence[int]) -> Generator[np.ndarray, None, None]:
        """The robot at some steps of an episode; what its world has changed by then is red."""
        variation = parse_variation(recording.job.variation, self._task.conditions)
        poses = (
            _Pose(recording.qpos[moment], changed_geoms(self._task, variation, moment)) for moment in moments
        )
        if len(self._easels) == 1:
            yield from map(self._easels[0].draw, poses)
        else:
            yield from self._drawn_at_once(poses)

    def _drawn_at_once(self, poses: Iterable[_Pose]) -> Iterator[np.ndarray]:
        """Pictures in their order, some of them drawn ahead; a film never lies in memory as a whole."""
        free: SimpleQueue[_Easel] = SimpleQueue()
        for easel in self._easels:
            free.put(easel)

        def draw(pose: _Pose) -> np.ndarray:
            easel = free.get()
            try:
                return easel.draw(pose)
            finally:
                free.put(easel)

        waiting: deque[Future[np.ndarray]] = deque()
        pool = ThreadPoolExecutor(len(self._easels), "painter")
        try:
            for pose in poses:
                waiting.append(pool.submit(draw, pose))
                if len(waiting) > 2 * len(self._easels):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def counted_pictures(pictures: Iterable[np.ndarray], total: int, report: Count) -> Iterator[np.ndarray]:
    """The same pictures, each of them counted."""
    report(0, total)
    for done, picture in enumerate(pictures, start=1):
        yield picture
        report(done, total)


def film_moments(recording: Recording, pause: float, longest: float) -> list[int]:
    """The steps that a film shows: an episode from its start, a picture every so many seconds of it."""
    seconds = np.arange(0.0, min(longest, recording.seconds), pause)
    return np.minimum(seconds / recording.seconds_per_step, len(recording) - 1).astype(int).tolist()


def strip_moments(window: tuple[int, int], frames: int) -> list[int]:
    """The steps that a strip shows, evenly spread over a stretch of the episode."""
    return np.linspace(*window, frames).round().astype(int).tolist()


def side_by_side(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Pictures in a row with white between them."""
    gap = np.full((pictures[0].shape[0], _GAP, 3), 255, dtype=np.uint8)
    return np.concatenate([part for picture in pictures for part in (gap, picture)][1:], axis=1)


def strip_window(recording: Recording, seconds: float) -> tuple[int, int]:
    """First and last step that a strip shows.

    The middle of the episode, where a gait has settled; the end of one that ends in a fall.
    """
    last = len(recording) - 1
    length = min(last, round(seconds / recording.seconds_per_step))
    begin = last - length if recording.fell else (last - length) // 2
    return begin, begin + length
