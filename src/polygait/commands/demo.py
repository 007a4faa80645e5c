"""The tour: a trained population before and after damage, its page, and a small population of one's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from polygait.commands.shared import Flat
from polygait.commands.training import show_training
from polygait.config import DemoConfig, ReportConfig, TrainConfig
from polygait.console import print_adaptation, print_report
from polygait.screen import console

if TYPE_CHECKING:
    from polygait.adaptation import Adaptation
    from polygait.population.population import Population

_ZOO = "zoo:walker"
_EPISODES = 3
_OWN = TrainConfig(task="half-cheetah", method="multi", members=3, steps=100_000, envs=16)
"""A robot that runs after so few steps, where hoppers and walkers still fall or stand. In few environments
episodes end, and progress tells returns, early on."""
_OWN_DAMAGE = "broken-back-foot"


def demo(*, options: Annotated[DemoConfig, Flat]) -> None:
    """A tour in minutes: walkers that lose a joint, the gait that still works, a population of your own.

    Example: polygait demo
    """
    from polygait.population.population import load

    screen = console()
    population = load(_ZOO)
    steps = f"{population.config.steps:,} steps"
    screen.print(f"{len(population)} ways to walk for one robot, trained beforehand ({steps} each): {_ZOO}\n")
    usual = _tried(population, "nominal")
    print_adaptation(usual, population)
    damage = telling_damage(population, usual.best)
    screen.print(f"\nNow something breaks: {_in_words(damage)}.\n")
    changed = _tried(population, damage)
    print_adaptation(changed, population)
    screen.print(f"\n{_told(usual.best, changed)} Nothing was trained for that.\n")
    page = _page(Path(options.out) / "walker.html", options.browser)
    own = Path(options.out) / _OWN.task
    if options.train:
        _train_one(own)
    _farewell(damage, page, own if options.train else None)


def telling_damage(population: Population, usual: int) -> str:
    """The broken joint in which another member keeps most beyond the usual one, by the mesh."""
    from polygait.adaptation.knowledge import read_matrix
    from polygait.mesh import family_of

    measured = read_matrix(population, "mesh", "progress")
    gains = {
        world: metres.max() - metres[usual]
        for world, metres in zip(measured.worlds, measured.mean, strict=True)
        if family_of(world).startswith("joint(") and family_of(world) != "joint(*)"
    }
    return max(gains, key=lambda world: gains[world])


def _tried(population: Population, world: str) -> Adaptation:
    """Who comes farthest in a world, by a few trials of every member."""
    from polygait.adaptation import adapt
    from polygait.progress import Counter, finish

    found = adapt(population, world, Counter("trials"), by="progress", episodes=_EPISODES, held_out=_EPISODES)
    finish()
    return found


def _in_words(world: str) -> str:
    from polygait.report.condition_words import condition_words

    return f"{condition_words(world).label}, written {world}"


def _told(usual: int, changed: Adaptation) -> str:
    before, after = changed.speed_of(usual), changed.speed_of(changed.best)
    if usual == changed.best:
        return f"Member {usual}, the fastest before, is so still: {after:.2f} m/s."
    return (
        f"Member {usual}, the fastest before, now comes forward at {before:.2f} m/s; "
        f"member {changed.best} still does at {after:.2f} m/s."
    )


def _page(path: Path, browser: bool) -> Path:
    """The zoo's page, opened where somebody can look at it."""
    import webbrowser

    from polygait.progress import Counter, finish
    from polygait.report.run.page import write_report

    print("Drawing all of them on one page …", file=sys.stderr, flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = write_report(_ZOO, path, ReportConfig(), Counter("pieces"))
    finish()
    print_report(written._replace(gaps=[]))
    if not (browser and has_screen() and webbrowser.open(path.absolute().as_uri())):
        print(f"Open it in a browser: {path.absolute()}")
    return path


def has_screen() -> bool:
    """Whether a browser would have a window; a text browser would take the terminal over."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _train_one(path: Path) -> None:
    """A small population of the user's own, trained or trained to its end, and what a change does to it."""
    from polygait.population.population import load
    from polygait.runs import resume, train

    said = f"A population of your own: {_OWN.members} gaits of {_OWN.task}, {_OWN.steps:,} steps each."
    print(f"\n{said}", flush=True)
    if (path / "manifest.json").exists():
        show_training(str(path), lambda report: resume(path, None, report), tensorboard=False)
    else:
        show_training(str(path), lambda report: train(_OWN, path, report), tensorboard=False)
    population = load(path)
    console().print(f"\nThe same where something is broken: {_OWN_DAMAGE}.\n")
    print_adaptation(_tried(population, _OWN_DAMAGE), population)


def _farewell(damage: str, page: Path, own: Path | None) -> None:
    """What was seen, and what to try next."""
    seen = [
        f"A population keeps a gait for what breaks ({damage}); a few trials find it.",
        f"The page shows every gait, every damage and who was chosen: {page}",
    ]
    if own is not None:
        seen.append(f"{own}, trained just now, is a run like any other: adapt, extend and report take it.")
    tries = [
        "polygait zoo",
        f"polygait adapt {_ZOO} --variation gravity=1.4 --selector informed",
        "polygait train walker --members 5 --steps 1M --out runs/walker",
    ]
    screen = console()
    for title, lines in (("What you saw", seen), ("Try next", tries)):
        screen.print(f"\n{title}", style="bold")
        for line in lines:
            screen.print(f"  {line}", soft_wrap=True)
