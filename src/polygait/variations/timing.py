"""When in an episode an edit acts: from a step on, for a while, again and again, or from a random step on.

    timing := "@" start [".." end]
    start  := STEP | "random" | "random(" STEP ".." STEP ")" | "every(" STEPS ")"
    end    := STEP | "+" STEPS

`@300..500` acts in the steps 300 to 499 and is over in step 500; `@300..+200` says the same. A random start
is drawn for every episode; `every(200)..+20` acts for 20 steps at step 200, 400, 600 and so on.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from polygait.errors import UserError

LAST_STEP = 10**9
"""No episode is longer; as the latest random start, it stands for the end of the episode."""
_WHEN = re.compile(
    r"(?:(?P<start>[0-9]{1,10})|(?P<random>random)(?:\((?P<low>[0-9]{1,10})\.\.(?P<high>[0-9]{1,10})\))?"
    r"|every\((?P<period>[0-9]{1,10})\))"
    r"(?:\.\.(?P<relative>\+)?(?P<end>[0-9]{1,10}))?"
)
_REMEDY = (
    "Write NAME@300, NAME@300..500, NAME@300..+200, NAME@random, NAME@random(100..400)..+50 or "
    "NAME@every(200)..+20."
)


class Timing(NamedTuple):
    """The steps of an episode in which an edit acts."""

    onset: int = 0
    """The first step, or the earliest one of a random start."""
    duration: int | None = None
    """For so many steps; None is to the end of the episode."""
    latest: int | None = None
    """The start is drawn between `onset` and this step, both included; LAST_STEP is the episode's last."""
    period: int | None = None
    """The edit comes back after so many steps."""

    def __str__(self) -> str:
        """The timing as the language writes it; nothing for a whole episode."""
        length = "" if self.duration is None else f"..+{self.duration}"
        if self.period is not None:
            return f"@every({self.period}){length}"
        if self.latest is not None:
            whole = self.onset == 0 and self.latest == LAST_STEP
            return f"@random{'' if whole else f'({self.onset}..{self.latest})'}{length}"
        if self.duration is not None:
            return f"@{self.onset}..{self.onset + self.duration}"
        return f"@{self.onset}" if self.onset else ""


def check_timing(timing: Timing, example: str) -> None:
    """Whole numbers, in an order that an episode can have; `example` is how the edit begins."""
    named = {"onset": 0, "duration": 1, "latest": 0, "period": 1}
    for name, least in named.items():
        value: Any = getattr(timing, name)
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= LAST_STEP
        if (value is not None or name == "onset") and not fits:
            raise UserError(
                f"An edit's {name} must be a whole number of steps from {least} to 10⁹, got {value!r}.",
                f"Write for example {example}@300 or {example}@300..500.",
            )
    if timing.latest is not None and (timing.latest < timing.onset or timing.period is not None):
        raise UserError(
            f"A random start lies between an earlier and a later step, got {timing.onset} and "
            f"{timing.latest}{'' if timing.period is None else ', and a period'}.",
            f"Write for example {example}@random(100..400).",
        )
    if timing.period is not None and (
        timing.duration is None or timing.duration >= timing.period or timing.onset != timing.period
    ):
        raise UserError(
            f"An edit that comes back every {timing.period} steps must last for fewer, "
            f"got {timing.duration or 'no end'}.",
            f"Write for example {example}@every(200)..+20.",
        )


def parse_timing(text: str, piece: str) -> Timing:
    """The timing behind an @, in the edit `piece`."""
    match = _WHEN.fullmatch(text.strip())
    if match is None:
        raise UserError(f"Cannot read the time {text!r} in {piece!r}.", _REMEDY)
    end = None if match["end"] is None else int(match["end"])
    if match["period"] is not None or match["random"] is not None:
        if end is not None and not match["relative"]:
            raise UserError(f"The end in {piece!r} must be counted from the start: ..+{end}.", _REMEDY)
        if match["period"] is not None:
            return Timing(onset=int(match["period"]), duration=end, period=int(match["period"]))
        return Timing(int(match["low"] or 0), end, int(match["high"] or LAST_STEP))
    start = int(match["start"])
    if end is None:
        return Timing(start)
    duration = end if match["relative"] else end - start
    if duration < 1:
        raise UserError(f"The end must come after the start, got {text!r} in {piece!r}.", _REMEDY)
    return Timing(start, duration)
