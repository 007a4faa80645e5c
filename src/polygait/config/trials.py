"""What a user asks for who makes trials on a robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro import conf

from polygait.config.options import count_problems


@dataclass(frozen=True)
class TrialsConfig:
    """How to spend trials that somebody makes, on a robot or elsewhere."""

    name: str = "robot"
    """What the trials are kept under; trials of that name go on where they ended."""
    selector: str | None = None
    """Who says what to try next: informed (if left out), racing or exhaustive."""
    budget: int | None = None
    """Trials of all members together, at most; 10 if left out."""
    settings: Annotated[tuple[str, ...], conf.arg(name="set")] = ()
    """Options of the selector, such as max_falls=2 or by=progress."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        return count_problems(self, {"budget": 1}) + ([] if self.name else ["`name` must not be empty."])
