"""Trained populations that come with the package: `zoo:walker` is meant wherever a run folder is.

    populations/walker/card.json     what the population is and does, and the checksum of every other file
    populations/walker/…             a run folder without what only training needs

The package stays as it was installed: what commands find out about a population is kept in a copy of it, one
per user and version of the population, which is an ordinary run folder.
"""

from polygait.zoo.cards import Card, encode_card
from polygait.zoo.shelf import CARD, PREFIX, card, is_zoo, names, own_copy, packaged_files, spoken

__all__ = [
    "CARD",
    "PREFIX",
    "Card",
    "card",
    "encode_card",
    "is_zoo",
    "names",
    "own_copy",
    "packaged_files",
    "spoken",
]
