"""How what was found is shown: options of pictures and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from tyro import conf

from polygait.config.checks import seed_problems

Renderer = Literal["auto", "egl", "osmesa", "rays"]
MOST_FRAMES = 100


@dataclass(frozen=True)
class TasksConfig:
    """What to do with a robot instead of describing it."""

    picture: str | None = None
    """Draw the robot with the names of its joints, bodies and feet into this .svg or .png."""
    check: bool = False
    """Try the robot out and say what is wrong with it; the exit code is 1 if anything is."""
    write: str | None = None
    """Write the robot of a model file out as this .py file, to be edited."""
    settings: Annotated[tuple[str, ...], conf.arg(name="set")] = ()
    """Options of the robot, such as task.forward="'y'" task.speed=1.0."""


@dataclass(frozen=True)
class ZooConfig:
    """What to do with a population of the zoo instead of showing its card."""

    copy: str | None = None
    """Write the population into this new run folder, which is yours: to extend it, or to give it away."""


@dataclass(frozen=True)
class DemoConfig:
    """What the tour does."""

    out: str = "demo"
    """The folder for its page and for the population that it trains; a stopped tour goes on there."""
    train: bool = True
    """Also train a small population, which takes about a minute on two cores."""
    browser: bool = True
    """Open the page in a browser, where there is one."""


@dataclass(frozen=True)
class RenderConfig:
    """What to draw, and how."""

    variation: str = "nominal"
    """What changed, such as broken-foot or "foot-mass=1.5+broken-leg@300"."""
    seed: int = 0
    """Of the episode's start."""
    seconds: float | None = None
    """Film: at most so much of the episode; a .gif or .webp has 6 if left out. Strip: the stretch it shows,
    1.2 if left out."""
    frames: int | None = None
    """Strip: how many pictures, 8 if left out."""
    speed: float | None = None
    """Film: 0.5 is half as fast as life."""
    size: tuple[int, int] | None = None
    """Width and height of one picture, even numbers."""
    on: str | None = None
    """Another task with the same state and actions."""
    renderer: Renderer = "auto"
    """egl, osmesa or rays; auto takes the first of them that works."""
    story: bool = False
    """Film: three scenes side by side: the best nominal member before the change, the same one after it, and
    after it the chosen one: --member, or the one that adapt chose."""

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
        if suffix != ".png" and self.frames is not None:
            found.append("`frames` is of a strip (.png): give `speed` or `seconds` for a film.")
        if suffix == ".png" and self.speed is not None:
            found.append("`speed` is of a film: give `frames` or `seconds` for a strip (.png).")
        if suffix == ".png" and self.story:
            found.append("`story` is a film: end the file's name in .mp4, .gif or .webp.")
        if self.story and self.variation == "nominal":
            found.append("`story` needs a `variation`: what changes after the first scene?")
        return found


@dataclass(frozen=True)
class WatchConfig:
    """What to show on the screen, and how."""

    variation: str = "nominal"
    """What changed, such as broken-foot or "foot-mass=1.5+broken-leg@300"."""
    seed: int = 0
    """Of the first episode's start; the next ones have the next seeds."""
    speed: float = 1.0
    """0.5 is half as fast as life."""
    episodes: int | None = None
    """How many to show; if left out, one after another until the window is closed."""
    on: str | None = None
    """Another task with the same state and actions."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words."""
        found = seed_problems(self.seed)
        if not 0 < self.speed < float("inf"):
            found.append(f"`speed` must be above 0 and finite, got {self.speed}.")
        if self.episodes is not None and self.episodes < 1:
            found.append(f"`episodes` must be at least 1, got {self.episodes}.")
        return found


@dataclass(frozen=True)
class ReportConfig:
    """What the page of a run holds, and where its charts go beside it."""

    pictures: bool = True
    """Draw members and robot of a run; without, the page is made faster."""
    video: bool = False
    """Also put a film of every member on the page of a run."""
    renderer: Renderer = "auto"
    """egl, osmesa or rays; auto takes the first of them that works."""
    figures: str | None = None
    """Also write every chart as SVG and PNG into this folder."""
