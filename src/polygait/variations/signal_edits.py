"""Edits between policy and robot: sensors that lie, motors that do not hear, commands that lag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from polygait.errors import UserError
from polygait.variations.edits import Edit, Targeted, check_finite, check_mode, check_scale, check_share
from polygait.variations.effects import (
    ActionDrop,
    ActionGain,
    ActionLag,
    ActionPlay,
    Anatomy,
    Effect,
    SensorFault,
)


@dataclass(frozen=True)
class SensorFailure(Targeted):
    """Parts of the observation that lie.

    `zero` is the paper's; `freeze` repeats the value at the onset; `noise` adds Gaussian noise of the
    given standard deviation; `bias` adds a constant; `drift` adds so much more with every step; `drop` loses
    the parts' packet of a step with the given probability, and the last one that arrived stays. Reward and
    termination see the true state.
    """

    keyword = "sensor"
    kind = "sensor"
    modes: ClassVar = ("zero", "freeze", "noise", "bias", "drift", "drop")

    mode: str = "zero"
    amount: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.keyword, self.mode, self.modes)
        if self.mode == "noise":
            check_scale("sensor:noise", self.amount)
        elif self.mode in ("bias", "drift"):
            check_finite(f"A sensor's {self.mode}", self.amount, f"{self.mode}=0.1")
        elif self.mode == "drop":
            check_share("The probability of a lost packet", self.amount, "drop=0.2")
        elif self.amount is not None:
            raise UserError(
                f"Mode {self.mode!r} takes no number.", "Only noise=…, bias=…, drift=… and drop=… do."
            )

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [SensorFault(anatomy.state_indices(self.targets), self.mode, self.amount or 0.0)]

    def __str__(self) -> str:
        return self._text(self.targets, "" if self.mode == "zero" else self.mode, self.amount)


@dataclass(frozen=True)
class MotorFailure(Targeted):
    """Motors that no longer hear commands: their actions become 0.

    With `drop` they miss the commands of a step, all together, with the given probability, and keep the last.
    """

    keyword = "motor"
    kind = "action"
    modes: ClassVar = ("dead", "drop")

    mode: str = "dead"
    amount: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.keyword, self.mode, self.modes)
        if self.mode == "drop":
            check_share("The probability of a lost command", self.amount, "motor(foot_joint):drop=0.1")
        elif self.amount is not None:
            raise UserError(
                "A dead motor takes no number.", "Write motor(foot_joint), or drop=0.1 behind it."
            )

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        indices = anatomy.action_indices(self.targets)
        if self.mode == "drop":
            return [ActionDrop(indices, self.amount or 0.0)]
        return [ActionGain(indices, 0.0)]

    def __str__(self) -> str:
        return self._text(self.targets, "" if self.mode == "dead" else self.mode, self.amount)


@dataclass(frozen=True)
class Backlash(Targeted):
    """Play in a gear: commands in [−1, 1] must move through it before the motor follows.

    What arrives is the last that arrived, moved no further than to half a width from the command.
    """

    keyword = "backlash"
    kind = "action"

    width: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.keyword, self.width)

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ActionPlay(anatomy.action_indices(self.targets), self.width)]

    def __str__(self) -> str:
        return self._text(self.targets, value=self.width)


@dataclass(frozen=True)
class ActionDelay(Edit):
    """Actions that arrive late by some steps; until the first arrives the robot receives zeros."""

    keyword = "delay"
    steps: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.steps, bool) or not 1 <= self.steps <= 100 or self.steps != int(self.steps):
            raise UserError(f"A delay must be 1 to 100 whole steps, got {self.steps}.", "Write delay=2.")

    def effects(self, anatomy: Anatomy) -> list[Effect]:
        return [ActionLag(int(self.steps))]

    def __str__(self) -> str:
        return self._text(value=self.steps)
