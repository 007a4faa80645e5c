"""Parts that pages share: what is missing and how to make it, numbers at a glance, settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polygait.errors import UserError
from polygait.report.web.html import Html, command, tag
from polygait.storage.files import write_atomically


class Gap(NamedTuple):
    """Something a page cannot show, why, and how to make it."""

    what: str
    why: str
    remedy: str
    """A command if it begins with `polygait`, otherwise a sentence."""


class Report(NamedTuple):
    """A page that was written."""

    path: Path
    size: int
    gaps: list[Gap]
    renderer: str | None
    """Who drew its pictures."""
    figures: list[Path]


def require_html(path: Path) -> None:
    """Say that a page cannot have another ending."""
    if path.suffix != ".html":
        raise UserError(f"A report is a page: {path.name!r} cannot hold it.", "End its name in .html.")


def write_page(path: Path, text: str) -> int:
    """Write a page; its size."""
    data = text.encode()
    write_atomically(path, data, "write the report again")
    return len(data)


def gap_list(gaps: Sequence[Gap]) -> Html | None:
    """What the page does not show, and how to make it."""
    if not gaps:
        return None
    lines = [
        tag(
            "li",
            tag("b", f"{gap.what}: "),
            f"{gap.why.removesuffix('.')}. ",
            command(gap.remedy) if gap.remedy.startswith("polygait ") else gap.remedy,
        )
        for gap in gaps
    ]
    damaged = any("cannot" in gap.what for gap in gaps)
    title = f"Not on this page ({len(gaps)}), and how to add it"
    return tag("details", tag("summary", title), tag("ul", *lines), open=damaged, class_="gaps")


def tiles(shown: Iterable[tuple[str, str, str]]) -> Html:
    """Numbers at a glance: a name, the number, and a few words about it."""
    return tag(
        "div",
        *(
            tag("div", tag("span", name), tag("b", value), tag("small", note), class_="tile")
            for name, value, note in shown
        ),
        class_="tiles",
    )


def flat(settings: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Settings inside settings as rows of section.name and value."""
    rows: list[tuple[str, str]] = []
    for name, value in settings.items():
        inner = isinstance(value, Mapping)
        rows += flat(value, f"{prefix}{name}.") if inner else [(f"{prefix}{name}", _words(value))]
    return rows


def _words(value: Any) -> str:
    if value is None:
        return "the robot's own"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
