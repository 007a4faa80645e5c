"""What every edit of the world has in common: a keyword, a time, perhaps names of parts; and Variation.

Every edit has a text form (`language.py` reads it back) and comes down to primitive effects on a
robot's anatomy. Scales multiply the nominal model, so they compose and never compound over resets.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from polygait.errors import UserError, unknown_name
from polygait.variations.effects import Anatomy, Effect, Names
from polygait.variations.timing import Timing, check_timing


@dataclass(frozen=True)
class Edit:
    """One change of the world, from step `onset` of every episode on."""

    keyword: ClassVar[str]
    unit: ClassVar[str] = ""
    """Of its number, where the language writes one."""

    _: KW_ONLY
    onset: int = 0
    duration: int | None = None
    """It ends after so many steps; None is with the episode."""
    latest: int | None = None
    """The onset is drawn for every episode, between `onset` and this step."""
    period: int | None = None
    """It comes back after so many steps."""

    def __post_init__(self) -> None:
        check_timing(self.timing, f"{self.keyword}…")

    @property
    def timing(self) -> Timing:
        """When in an episode the edit acts."""
        return Timing(self.onset, self.duration, self.latest, self.period)

    @abstractmethod
    def effects(self, anatomy: Anatomy) -> list[Effect]:
        """What to change on this robot; UserError when a name is not on it."""

    def __str__(self) -> str:
        """The edit in the language of variations."""
        return self._text()

    def _text(self, targets: Names = (), mode: str = "", value: float | None = None) -> str:
        names = f"({','.join(targets)})" if targets else ""
        chosen = f":{mode}" if mode else ""
        number = "" if value is None else f"={float(value)!r}{self.unit}"
        return f"{self.keyword}{names}{chosen}{number}{self.timing}"


@dataclass(frozen=True)
class Targeted(Edit):
    """An edit of parts that have names; globs work."""

    kind: ClassVar[str]
    """What kind of part it names: joint, body, geom, motor, action or sensor."""

    targets: Names

    def __post_init__(self) -> None:
        super().__post_init__()
        names = (self.targets,) if isinstance(self.targets, str) else tuple(self.targets)
        if not names or not all(name and not set(name) & set("(),+ ") for name in names):
            raise UserError(
                f"{self.keyword} needs names of parts, got {self.targets!r}.", f"Write {self.keyword}(NAME)."
            )
        object.__setattr__(self, "targets", names)


@dataclass(frozen=True)
class Variation:
    """A changed world: edits in order, none for the nominal world."""

    edits: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        edits = (self.edits,) if isinstance(self.edits, Edit) else self.edits
        if (
            isinstance(edits, str)
            or not isinstance(edits, Sequence)
            or not all(isinstance(edit, Edit) for edit in edits)
        ):
            raise UserError(
                f"A Variation is made of edits such as BrokenJoint('foot_joint'), got {self.edits!r}.",
                "A text such as 'broken-foot' is a variation by itself: give it as it is.",
            )
        object.__setattr__(self, "edits", tuple(edits))

    def __add__(self, other: Variation | Edit) -> Variation:
        if not isinstance(other, Variation | Edit):
            return NotImplemented
        return Variation(self.edits + (other.edits if isinstance(other, Variation) else (other,)))

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __str__(self) -> str:
        return "+".join(map(str, self.edits)) or "nominal"


def check_scale(keyword: str, scale: float | None) -> None:
    """A factor must be finite and above 0."""
    if scale is None or isinstance(scale, bool) or not math.isfinite(scale) or scale <= 0:
        raise UserError(
            f"{keyword} needs a finite scale above 0, got {'none' if scale is None else scale}.",
            f"Write for example {keyword}…=1.5; a motor without torque is broken(JOINT):limp.",
        )


def check_finite(what: str, number: float | None, example: str) -> None:
    """A number that may be negative must still be finite."""
    if number is None or isinstance(number, bool) or not math.isfinite(number):
        found = "none" if number is None else number
        raise UserError(f"{what} must be a finite number, got {found}.", f"Write {example}.")


def check_share(what: str, share: float | None, example: str) -> None:
    """A probability, or what is lost in a step, lies above 0 and is at most 1."""
    if share is None or isinstance(share, bool) or not 0 < share <= 1:
        found = "none" if share is None else share
        raise UserError(f"{what} must lie above 0 and be at most 1, got {found}.", f"Write {example}.")


def check_mode(keyword: str, mode: str, known: tuple[str, ...]) -> None:
    """A mode must be one that the keyword has."""
    if mode not in known:
        raise unknown_name(f"mode of {keyword}", mode, known)
