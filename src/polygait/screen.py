"""Tables and texts that fit where they go: a terminal of any width, or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Row = Sequence["str | Text"]
_NARROW = 20
"""To so many characters a table's column may be squeezed; one that is wider breaks its texts."""
_BETWEEN = 3
"""Characters between two columns of a table."""
_ENDLESS = 10_000
"""Characters in a line of a file."""


def print_table(
    screen: Console, title: str, columns: Sequence[str], rows: Iterable[Row], keys: int = 1
) -> None:
    """A plain table with a title; what is to be coloured comes as a styled text.

    One that is too wide for the terminal goes on below, where the first `keys` columns name its rows again.
    Empty columns are left out.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    if title:
        screen.print(title, style="bold")
    filled = [*rows]
    for places in _blocks(columns, filled, keys, screen.width):
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for place in places:
            table.add_column(columns[place], overflow="fold")
        for row in filled:
            table.add_row(*(row[place] for place in places))
        screen.print(table)


def _blocks(columns: Sequence[str], rows: Sequence[Row], keys: int, width: int) -> list[list[int]]:
    """Which columns stand beside each other: as many as the terminal has room for."""
    from rich.cells import cell_len

    widths = [max(cell_len(str(row[place])) for row in (columns, *rows)) for place in range(len(columns))]
    needed = [min(one, _NARROW) + _BETWEEN for one in widths]
    named = sum(needed[:keys])
    further = [place for place in range(keys, len(columns)) if any(str(row[place]) for row in rows)]
    blocks: list[list[int]] = [[]]
    for place in further:
        if blocks[-1] and named + sum(needed[one] for one in (*blocks[-1], place)) > width:
            blocks.append([])
        blocks[-1].append(place)
    return [[*range(keys), *block] for block in blocks]


def console() -> Console:
    """Where results go; a text is shown as it is, whatever brackets, colons or numbers are in it.

    A terminal breaks lines where it ends, a file nowhere.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else _ENDLESS
    return Console(highlight=False, markup=False, emoji=False, width=width)


def styled(text: str, style: str = "") -> Text:
    """A text in a colour or in bold."""
    from rich.text import Text

    return Text(text, style)
