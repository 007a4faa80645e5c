"""Tables and texts that fit where they go: a terminal of any width, or a file."""

from __future__ import annotations

import sys
import textwrap
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
    blocks = _blocks(columns, filled, keys, screen.width)
    if len(blocks) > 1:  # less so with narrow heads
        columns = [_narrowed(head, [row[place] for row in filled]) for place, head in enumerate(columns)]
        blocks = _blocks(columns, filled, keys, screen.width)
    for places in blocks:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for place in places:
            table.add_column(columns[place], overflow="fold")
        for row in filled:
            table.add_row(*(row[place] for place in places))
        screen.print(table)


def without_empty(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """A table without the columns of which nothing is known."""
    whole = [*rows]
    places = [place for place in range(len(columns)) if any(row[place] for row in whole)]
    return [columns[place] for place in places], [[row[place] for place in places] for row in whole]


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as a few lines of text, for whoever prints an object."""
    head, body = without_empty(columns, rows)
    widths = [max(map(len, cells)) for cells in zip(head, *body, strict=True)]
    lines = (
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *body)
    )
    return "\n".join(lines)


def _blocks(columns: Sequence[str], rows: Sequence[Row], keys: int, width: int) -> list[list[int]]:
    """Which columns stand beside each other: as many as the terminal has room for."""
    needed = [
        min(max(_width(row[place]) for row in (columns, *rows)), _NARROW) + _BETWEEN
        for place in range(len(columns))
    ]
    named = sum(needed[:keys])
    further = [place for place in range(keys, len(columns)) if any(str(row[place]) for row in rows)]
    blocks: list[list[int]] = [[]]
    for place in further:
        if blocks[-1] and named + sum(needed[column] for column in (*blocks[-1], place)) > width:
            blocks.append([])
        blocks[-1].append(place)
    return [[*range(keys), *block] for block in blocks]


def _narrowed(head: str, cells: Sequence[str | Text]) -> str:
    """A column's head in lines no longer than what stands below it."""
    widest = max((_width(cell) for cell in cells), default=0)
    return "\n".join(textwrap.wrap(head, max(widest, 1), break_long_words=False, break_on_hyphens=False))


def _width(text: str | Text) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, str(text).split("\n")))


def console(aside: bool = False) -> Console:
    """Where results go, or what is said aside; a text is shown as it is, whatever is in it.

    A terminal breaks lines where it ends, a file nowhere.
    """
    from rich.console import Console

    stream = sys.stderr if aside else sys.stdout
    width = None if stream.isatty() else _ENDLESS
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=width)


def styled(text: str, style: str = "") -> Text:
    """A text in a colour or in bold."""
    from rich.text import Text

    return Text(text, style)
