"""The command about trained populations that come with the package: zoo."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import tyro.conf

from polygait.commands.shared import Flat, Json, print_json
from polygait.config import ZooConfig
from polygait.errors import UserError
from polygait.zoo_console import print_card, print_cards

PopulationName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]


def zoo(name: PopulationName = "", /, *, options: Annotated[ZooConfig, Flat], json: Json = False) -> None:
    """Trained populations that come with polygait, or one's card; zoo:NAME is meant wherever a run is.

    Example: polygait zoo walker

    Args:
        name: The population whose card to show; all are listed when left out.

    """
    from polygait import zoo as shelf

    if options.copy is not None:
        _copy(name, options.copy)
        return
    cards = [shelf.card(one) for one in ([name] if name else shelf.names())]
    if json:
        print_json(cards[0].to_json() if name else [card.to_json() for card in cards])
    elif name:
        print_card(cards[0])
    elif cards:
        print_cards(cards)
    else:
        raise UserError("The zoo is empty.", "Install polygait again: pip install --force-reinstall polygait")


def _copy(name: str, out: str) -> None:
    from polygait import zoo as shelf
    from polygait.population.store import RunFolder
    from polygait.storage.files import START_AGAIN, write_atomically

    if not name:
        raise UserError("Which population is to be copied?", "Name it: polygait zoo walker --copy runs/mine")
    files = shelf.packaged_files(shelf.card(name))
    RunFolder.require_unused(out)
    for file, data in files.items():
        write_atomically(Path(out) / file, data, START_AGAIN)
    print(f"{out} is a run of your own: polygait extend {shlex.quote(out)} --members 5")
