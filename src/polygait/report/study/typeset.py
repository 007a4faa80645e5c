"""A table as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from polygait.storage.file_names import file_name
from polygait.storage.files import START_AGAIN, write_atomically

NOTHING = "–"
_LATEX = {"±": r"\pm", "–": "--", "−": "-", "…": r"\dots", "×": r"\times"}
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "&%$#_{}"})


class Cell(NamedTuple):
    """One entry: what it says, whether it is marked."""

    text: str
    best: bool = False
    number: bool = False
    """Numbers stand to the right, and in LaTeX's mathematics."""


@dataclass(frozen=True)
class Table:
    """Something to print and to save."""

    name: str
    """Of its files."""
    topic: str
    """Of the section of the page in which it stands."""
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    """A row whose first cell is empty belongs to the one above."""
    note: str
    data: Sequence[Mapping[str, Any]]
    """The same numbers unrounded, for programs."""

    def to_text(self) -> str:
        """For a terminal: columns aligned, the best of a row after ▸."""
        shown = [[_plain(cell) for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.columns, *shown, strict=True)]
        right = self._numeric()
        line = "  ".join("─" * width for width in widths)
        body = [self._aligned(row, widths, right) for row in shown]
        parts = [self.title, "", self._aligned(self.columns, widths, right), line, *self._ruled(body, line)]
        return "\n".join([*parts, "", *([self.note, ""] if self.note else [])])

    def to_markdown(self) -> str:
        """For a README; the best of a row is bold."""
        right = self._numeric()
        body = ["| " + " | ".join(map(_markdown, row)) + " |" for row in self.rows]
        head = "| " + " | ".join(self.columns) + " |"
        rule = "|" + "|".join("---:" if numeric else "---" for numeric in right) + "|"
        parts = [f"**{self.title}**", "", head, rule, *body, ""]
        return "\n".join([*parts, *([self.note, ""] if self.note else [])])

    def to_latex(self) -> str:
        """For a paper that loads booktabs; the best of a row is bold."""
        layout = "".join("r" if numeric else "l" for numeric in self._numeric())
        body = [" & ".join(map(_latex, row)) + r" \\" for row in self.rows]
        head = " & ".join(map(_latex_text, self.columns)) + r" \\"
        inner = [r"\toprule", head, r"\midrule", *self._ruled(body, r"\midrule"), r"\bottomrule"]
        table = [rf"\begin{{tabular}}{{{layout}}}", *(f"  {line}" for line in inner), r"\end{tabular}"]
        caption = rf"\caption{{{_latex_text(f'{self.title}. {self.note}'.strip())}}}"
        return "\n".join([r"\begin{table}", r"\centering", *table, caption, r"\end{table}", ""])

    def to_csv(self) -> str:
        """The unrounded numbers."""
        return pl.DataFrame(self.data, infer_schema_length=None).write_csv()

    def save(self, folder: Path) -> list[Path]:
        """Write all four forms."""
        forms = {
            ".txt": self.to_text(),
            ".md": self.to_markdown(),
            ".tex": self.to_latex(),
            ".csv": self.to_csv(),
        }
        files = [folder / f"{file_name(self.name)}{ending}" for ending in forms]
        for file, text in zip(files, forms.values(), strict=True):
            write_atomically(file, text.encode(), START_AGAIN)
        return files

    def _numeric(self) -> list[bool]:
        return [any(cell.number for cell in column) for column in zip(*self.rows, strict=True)]

    def _aligned(self, words: Sequence[str], widths: list[int], right: list[bool]) -> str:
        columns = zip(words, widths, right, strict=True)
        return "  ".join(
            word.rjust(width) if numeric else word.ljust(width) for word, width, numeric in columns
        ).rstrip()

    def _ruled(self, lines: list[str], rule: str) -> list[str]:
        """A rule before every row that begins a group, which is one whose first cell says something."""
        ruled: list[str] = []
        grouped = any(not row[0].text for row in self.rows)
        for number, (row, line) in enumerate(zip(self.rows, lines, strict=True)):
            ruled += [rule] * (grouped and number > 0 and bool(row[0].text))
            ruled.append(line)
        return ruled


def grouped(label: str, rows: Iterable[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """Rows under one label, which only the first of them shows."""
    return [(Cell("" if number else label), *row) for number, row in enumerate(rows)]


def _plain(cell: Cell) -> str:
    return f"{'▸ ' if cell.best else ''}{cell.text}"


def _markdown(cell: Cell) -> str:
    text = cell.text.replace("|", "\\|")
    return f"**{text}**" if cell.best and text else text


def _latex(cell: Cell) -> str:
    if not cell.number or cell.text == NOTHING:
        text = _latex_text(cell.text)
        return rf"\textbf{{{text}}}" if cell.best else text
    text = _with_latex_signs(cell.text.translate(_SPECIAL))
    return rf"$\mathbf{{{text}}}$" if cell.best else f"${text}$"


def _latex_text(text: str) -> str:
    return _with_latex_signs(text.translate(_SPECIAL), "$")


def _with_latex_signs(text: str, around: str = "") -> str:
    for sign, command in _LATEX.items():
        inner = command if command == "--" else f"{around}{command}{around}" if around else f"{command} "
        text = text.replace(sign, inner)
    return text
