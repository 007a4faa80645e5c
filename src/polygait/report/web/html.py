"""HTML from Python: everything is escaped unless it is HTML already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

_EMPTY = ("img", "input", "meta")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """An element. `class_` is class, `aria_label` is aria-label; True stands alone, None is left out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        words.append(word if value is True else f'{word}="{html.escape(str(value))}"')
    opened = f"<{' '.join(words)}>"
    return Html(opened if name in _EMPTY else f"{opened}{joined(children)}</{name}>")


def joined(children: Iterable[str | None]) -> Html:
    """Several pieces one after another."""
    return Html(
        "".join(child if isinstance(child, Html) else html.escape(child) for child in children if child)
    )


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str | None = None,
    numeric: Sequence[bool] = (),
) -> Html:
    """A table that scrolls sideways where it does not fit; the first cell of a row is its name.

    Where the first cells of some rows are empty, those belong to the row above.
    """
    classes = ["number" if is_number else None for is_number in numeric] or [None] * len(columns)
    head = tag(
        "tr",
        *(tag("th", column, scope="col", class_=kind) for column, kind in zip(columns, classes, strict=True)),
    )
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, class_=kind) for cell, kind in zip(row[1:], classes[1:], strict=True)),
            class_=None if row[0] else "more",
        )
        for row in rows
    ]
    told = tag("caption", caption) if caption else None
    inner = tag("table", told, tag("thead", head), tag("tbody", *body))
    return tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption or columns[0])


def script_data(name: str, value: Any) -> Html:
    """Data for the page's program; nothing in it can end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')


def command(text: str) -> Html:
    """A command to be copied."""
    return tag(
        "span",
        tag("code", text),
        tag("button", "copy", type="button", class_="copy", aria_label=f"copy: {text}"),
        class_="command",
    )
