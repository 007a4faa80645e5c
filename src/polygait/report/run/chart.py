"""What a chart of a run says about itself: all that the page and the files for papers need to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polygait.report.run.findings import Findings
from polygait.report.run.gallery import Gallery

MEMBERS = "Members"
CONDITIONS = "Conditions"
MESH = "Everything that may break"
TRAINING = "Training"


@dataclass(frozen=True)
class Shown:
    """What a chart is drawn from, and for whom."""

    findings: Findings
    gallery: Gallery
    on_page: bool = False
    """For a browser; otherwise for a paper, where nothing can be clicked."""

    @property
    def look(self) -> dict[str, Any]:
        """On a page the best member stands out, and a chart is as wide as its place."""
        return {"member": self.findings.best, "width": "container"} if self.on_page else {}


@dataclass(frozen=True)
class RunChart:
    """A chart; every module `charts_….py` lists its own in `CHARTS`, and nothing else names them all."""

    name: str
    """Of its files and of its place on the page, with a part's name behind it where there are several."""
    topic: str
    """The title of the page's section in which it stands."""
    draw: Callable[[Shown], Mapping[str, Any]]
    """Charts by the name of their part; empty where there is nothing to show."""
    caption: str | Callable[[Shown], str] = ""
    role: str | None = "choose"
    """What a click means to the page: `choose` a member, or nothing."""

    def caption_of(self, shown: Shown) -> str:
        """What stands below it."""
        return self.caption if isinstance(self.caption, str) else self.caption(shown)
