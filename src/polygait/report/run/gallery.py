"""Everything of a report that must be acted out: episodes of every member, pictures, films.

Members are called by their index in the run; a population without damaged members has them elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from polygait.config import ReportConfig
from polygait.episodes import Job
from polygait.errors import UserError
from polygait.population.population import Population
from polygait.progress import Count, silent
from polygait.report.pictures.cards import robot_card
from polygait.report.pictures.images import FRAMES_PER_SECOND, mp4, png, require_av
from polygait.report.pictures.recording import Recording, record
from polygait.report.pictures.scene import (
    DrawableTask,
    changed_geoms,
    drawable_twin,
    is_drawable,
    not_drawable,
)
from polygait.report.pictures.video import (
    STRIP_FRAMES,
    STRIP_SECONDS,
    STRIP_SIZE,
    Studio,
    film_moments,
    side_by_side,
    strip_moments,
    strip_window,
)
from polygait.report.run.evidence import ChosenMember, does
from polygait.report.run.findings import Findings
from polygait.report.web.parts import Gap
from polygait.tasks.mujoco import MujocoTask
from polygait.variations import parse_variation

EPISODES = 5
"""Of every member, for the population map."""
MOST_STORIES = 8
FILM_SECONDS = 6.0
FILM_SIZE = (400, 300)
_ROW = 4  # pictures in one image: a strip has two rows, a story one


class Story(NamedTuple):
    """A damage, the member that was chosen for it, and the one that a user without a choice would have."""

    condition: str
    variation: str
    choice: ChosenMember
    chosen: Recording
    usual: Recording
    measured: Mapping[int, float]
    """Mean returns of members in this world."""
    does: Mapping[int, str]
    """What members do there, where it is known: their speed, or that they stand still."""
    source: str
    """Of these returns."""


@dataclass
class Gallery:
    """What was acted out and drawn."""

    episodes: dict[int, list[Recording]] = field(default_factory=dict)
    stories: list[Story] = field(default_factory=list)
    strips: dict[Job, list[bytes]] = field(default_factory=dict)
    """PNG images of a few pictures each, by the job that they show."""
    films: dict[int, bytes] = field(default_factory=dict)
    card: str | None = None
    renderer: str | None = None
    gaps: list[Gap] = field(default_factory=list)


def open_gallery(findings: Findings, options: ReportConfig, report: Count = silent) -> Gallery:
    """Run and draw all that a page shows of a run."""
    if options.video:
        require_av()
    gallery = Gallery()
    population = findings.population
    if population is None:
        gallery.gaps.append(
            Gap("Nothing can be acted out", "no member's file is whole", "Restore the run from a copy.")
        )
        return gallery
    try:
        task = population.make_task(1)
    except UserError as error:
        gallery.gaps.append(Gap("Nothing can be acted out", error.problem, error.remedy))
        return gallery
    told = _stories(findings, task) if is_drawable(task) else []
    indices = [member.index for member in population.members]
    nominal = [Job(index, None, seed) for index in indices for seed in range(EPISODES)]
    usual = findings.best
    damaged = [
        Job(member, variation, 0) for _, variation, choice in told for member in (choice.member, usual)
    ]
    jobs = list(dict.fromkeys([*nominal, *damaged]))
    recordings = dict(zip(jobs, _record(population, jobs), strict=True))
    gallery.episodes = {
        index: [recordings[job] for job in nominal if job.member == index] for index in indices
    }
    for condition, variation, choice in told:
        chosen, other = (recordings[Job(member, variation, 0)] for member in (choice.member, usual))
        here = [cell for cell in findings.cells if (cell["where"], cell["variation"]) == ("", variation)]
        measured = {cell["member"]: cell["mean_return"] for cell in here}
        words = {cell["member"]: does([cell], findings.nominal.best_speed) for cell in here}
        story = Story(condition, variation, choice, chosen, other, measured, words, here[0]["source"])
        gallery.stories.append(story)
    if not is_drawable(task):
        refusal, twin = not_drawable(task), drawable_twin(task.name)
        drawn = f"polygait render {findings.path} --on {twin} --out gait.mp4" if twin else refusal.remedy
        gallery.gaps.append(Gap("There are no pictures", refusal.problem, drawn))
    elif options.pictures or options.video:
        _draw(gallery, task, options, report)
    if not options.video and is_drawable(task):
        gallery.gaps.append(
            Gap(
                "There are no films",
                "they take longer than pictures",
                f"polygait report {findings.path} --video",
            )
        )
    return gallery


def _record(population: Population, jobs: Sequence[Job]) -> list[Recording]:
    """Recordings by members' indices instead of their places in the population."""
    place = {member.index: place for place, member in enumerate(population.members)}
    found = record(population, [job._replace(member=place[job.member]) for job in jobs])
    return [replace(recording, job=job) for recording, job in zip(found, jobs, strict=True)]


def _stories(findings: Findings, task: DrawableTask) -> list[tuple[str, str, ChosenMember]]:
    """Condition, variation and choice of every damage that can be seen."""
    stories = []
    whole = {member.index for member in findings.population.members} if findings.population else set()
    for (where, variation, condition), choice in findings.choices().items():
        try:
            seen = changed_geoms(task, parse_variation(variation, task.conditions), 10**9)
        except UserError:
            continue
        if seen and not where and {choice.member, findings.best} <= whole:
            stories.append((condition, variation, choice))
    return stories[:MOST_STORIES]


def _draw(gallery: Gallery, task: DrawableTask, options: ReportConfig, report: Count) -> None:
    shown = [recordings[0] for recordings in gallery.episodes.values()]
    damaged = [recording for story in gallery.stories for recording in (story.chosen, story.usual)]
    strips = {recording.job: recording for recording in [*shown, *damaged]} if options.pictures else {}
    films = shown if options.video else []
    total, done = len(strips) + len(films) + 1, 0

    def step() -> None:
        nonlocal done
        done += 1
        report(done, total)

    report(0, total)
    with Studio(task, STRIP_SIZE, options.renderer) as studio:
        gallery.renderer = studio.renderer
        for job, recording in strips.items():
            gallery.strips[job] = _strip(studio, recording, STRIP_FRAMES if job.variation is None else _ROW)
            step()
    if films:
        with Studio(task, FILM_SIZE, options.renderer) as studio:
            for recording in films:
                rate = FRAMES_PER_SECOND[".mp4"]
                pictures = studio.pictures(recording, film_moments(recording, 1 / rate, FILM_SECONDS))
                gallery.films[recording.job.member] = mp4(pictures, rate)
                step()
    if isinstance(task, MujocoTask):
        gallery.card = robot_card(task, options.renderer)
    step()


def _strip(studio: Studio, recording: Recording, frames: int) -> list[bytes]:
    moments = strip_moments(strip_window(recording, STRIP_SECONDS), frames)
    pictures = list(studio.pictures(recording, moments))
    return [png(side_by_side(pictures[first : first + _ROW])) for first in range(0, len(pictures), _ROW)]
