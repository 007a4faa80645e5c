"""How the cards of the zoo look on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polygait.progress import amount
from polygait.screen import console, print_table, styled

if TYPE_CHECKING:
    from polygait.zoo import Card


def print_cards(cards: Sequence[Card]) -> None:
    """Every population with a line of its own."""
    rows = [
        (
            styled(f"zoo:{card.name}", "bold"),
            card.robot,
            _members(card),
            card.method,
            f"{amount(card.best_return)} / {amount(card.mean_return)}",
            f"{card.best_speed:.2f} / {card.mean_speed:.2f}",
            f"{_share(card.chosen_survival)} / {_share(card.single_survival)}",
            card.licence,
        )
        for card in cards
    ]
    columns = (
        "population",
        "robot",
        "members",
        "method",
        "return best / mean",
        "m/s best / mean",
        "survives chosen / single",
        "licence",
    )
    screen = console()
    print_table(screen, "Trained populations that come with polygait", columns, rows)
    for line in (
        _MEANING,
        "One card in full: polygait zoo NAME. zoo:NAME is meant wherever a run folder is:",
    ):
        screen.print(line, style="dim")
    screen.print(f"  polygait adapt zoo:{cards[-1].name} --variation gravity=1.4", soft_wrap=True)


def print_card(card: Card) -> None:
    """All that is known of one population."""
    screen = console()
    mesh = f"{card.conditions} changed worlds, {card.episodes} episodes of every member in each"
    rows = [
        ("robot", card.robot),
        ("members", _told_members(card)),
        ("method", f"{card.method}, seed {card.seed}"),
        ("return", f"{amount(card.best_return)} of the best member, {amount(card.mean_return)} on average"),
        ("speed", f"{card.best_speed:.2f} m/s of the fastest, {card.mean_speed:.2f} m/s on average"),
        ("measured in", mesh),
        ("chosen member", f"survives {_share(card.chosen_survival)} of them"),
        ("best single one", f"survives {_share(card.single_survival)} of them"),
        ("made by", card.command),
        ("with", ", ".join(f"{name} {version}" for name, version in card.versions.items())),
        ("on", card.trained),
        ("licence", card.licence),
        ("files", f"{len(card.files)}, sealed by SHA-256 ({card.seal[:12]})"),
    ]
    screen.print(f"zoo:{card.name}", style="bold")
    width = max(len(name) for name, _ in rows)
    for name, told in rows:
        screen.print(f"  {name:<{width}}  {told}", soft_wrap=True)
    screen.print(_MEANING, style="dim")


_MEANING = (
    "Survives: keeps half of the best nominal speed. One half of the episodes chooses each world's member, "
    "the other half scores it; the single one is the member that survives most worlds when nobody chooses."
)


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _members(card: Card) -> str:
    first = f"{card.members - card.specialists} × {_steps(card.steps)}"
    return f"{first}, {card.specialists} × {_steps(card.specialist_steps)}" if card.specialists else first


def _told_members(card: Card) -> str:
    told = f"{card.members - card.specialists}, trained for {card.steps:,} steps each"
    if not card.specialists:
        return told
    return (
        f"{told}, and {card.specialists} specialists that went on for {card.specialist_steps:,} in a damage"
    )


def _steps(steps: int) -> str:
    return f"{steps / 1e6:g}M" if steps >= 1_000_000 else f"{steps / 1e3:g}k"
