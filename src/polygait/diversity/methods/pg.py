"""PG: one policy with the steps of a whole population; what a population must be better than."""

from __future__ import annotations

from polygait.diversity.methods.multi import Multi


class PG(Multi):
    """Multi with one member."""

    name = "pg"
    title = "PG"
    colour = "#E69F00"
    rank = 0
    single = True
