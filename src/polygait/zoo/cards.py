"""A population's card: what it is, what it does, what made it, and how to know that its files are whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from polygait.storage.strict_json import canonical, parse

FORMAT = 1
_SPECIALISTS = ("specialists", "specialist_steps")


@dataclass(frozen=True)
class Card:
    """What is known of a population of the zoo; figures are of its evaluation on the mesh."""

    name: str
    robot: str
    method: str
    members: int
    steps: int
    """Of each member that is no specialist."""
    seed: int
    best_return: float
    """Of the best member when nothing is wrong."""
    mean_return: float
    best_speed: float
    """Of the fastest member when nothing is wrong, in metres per second."""
    mean_speed: float
    conditions: int
    """Changed worlds in the mesh."""
    episodes: int
    """Of every member in each of them."""
    chosen_survival: float
    """The share of them in which the member chosen there keeps half of the best nominal speed."""
    single_survival: float
    """The same of the one member that survives most of them."""
    command: str
    """What makes it again."""
    versions: Mapping[str, str]
    """Of polygait and the packages that trained it."""
    trained: str
    """The day on which its training ended."""
    licence: str
    files: Mapping[str, str]
    """SHA-256 of every file of the population, by its path."""
    specialists: int = 0
    """How many of the members, the last ones, went on from an earlier one in a damage."""
    specialist_steps: int = 0
    """Of each of these."""

    @property
    def seal(self) -> str:
        """The checksum of everything on the card, the files' checksums among it."""
        return hashlib.sha256(canonical(self.to_json())).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data; of specialists only where there are some."""
        plain = asdict(self)
        return (
            plain if self.specialists else {name: plain[name] for name in plain if name not in _SPECIALISTS}
        )


def encode_card(card: Card) -> bytes:
    """A card as readable JSON under its format and checksum."""
    sealed = {"format": FORMAT, "sha256": card.seal, **card.to_json()}
    return json.dumps(sealed, indent=1, allow_nan=False).encode() + b"\n"


def decode_card(data: bytes) -> Card:
    """The card in a file; ValueError in words where it is not what was written."""
    plain = parse(data)
    if not isinstance(plain, dict) or plain.pop("format", None) != FORMAT:
        raise ValueError("it is of no known format")
    seal = plain.pop("sha256", None)
    if plain.keys() | set(_SPECIALISTS) != {field.name for field in fields(Card)}:
        raise ValueError("it has not the fields of a card")
    card = Card(**plain)
    if card.seal != seal:
        raise ValueError("its checksum does not fit")
    return card
