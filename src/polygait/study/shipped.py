"""The studies that come with the package, by name."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "studies"


def study_names() -> list[str]:
    """Every study; the suites that some of them use lie beside them and are none."""
    return sorted(file.stem for file in _FOLDER.glob("*.toml") if "\nmethods = " in file.read_text("utf-8"))


def study_path(named: str | Path) -> Path:
    """The file that is meant: a path, or the name of a study that comes with the package."""
    ours = str(named) in study_names() and not Path(named).is_file()
    return _FOLDER / f"{named}.toml" if ours else Path(named)


def study_purpose(name: str) -> str:
    """The first sentence that a study says about itself."""
    lines = study_path(name).read_text("utf-8").splitlines()
    said = itertools.takewhile(lambda line: line.startswith("#"), lines)
    text = " ".join(line.removeprefix("#").strip() for line in said)
    return re.split(r"(?<=[.?!])\s", text, maxsplit=1)[0]
