"""What can be chosen about a robot that is made from a model file alone."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polygait.config import checked_kinds
from polygait.errors import UserError, unknown_name
from polygait.tasks.actions import LAWS

DIRECTIONS = {"x": (0, 1.0), "-x": (0, -1.0), "y": (1, 1.0), "-y": (1, -1.0)}
"""Which coordinate of the world grows forward, and its sign."""
AUTO, MODEL = "auto", "model"


@dataclass(frozen=True)
class ModelOptions:
    """Everything a model file does not say, with defaults that suit a legged robot."""

    forward: str = "x"
    """Which way is forward in the world: x, -x, y or -y."""
    feet: tuple[str, ...] | Mapping[str, Any] | None = None
    """Geoms or bodies that are feet, or names with their geoms; found by the lowest geoms if left out."""
    healthy: str | Callable[..., Any] = "upright"
    """When an episode goes on: upright (least_height, largest_tilt), always, a function of Physics."""
    reward: str | Callable[..., Any] = "locomotion"
    """locomotion (the weights below), or a function of a Motion."""
    actions: str = AUTO
    """What actions do: torque, position, velocity, or model: the file's own actuators over their ranges. auto
    puts position servos around a home keyframe in place of plain motors, else takes the model's own."""
    action_scale: float | None = None
    """Of position servos: how far an action of 1 moves the target from home; 0.5 rad around a keyframe, else
    the whole range."""
    stiffness: float | None = None
    """kp of position servos in N·m/rad; a motor's largest torque at 0.5 rad if left out."""
    damping: float | None = None
    """kd of position servos, or the gain of velocity servos; 1/40 of the stiffness if left out."""
    keyframe: str | None = None
    """The model's keyframe in which episodes begin; home, stand or the only one if left out."""
    rate: float = 50.0
    """Actions per second, as near as the model's time step allows."""
    max_episode_steps: int = 1000
    """Actions in an episode that nothing ends before."""
    start_noise: float = 0.02
    """How far joints and velocities at the start are from home, evenly drawn."""
    least_height: float | None = None
    """Of the base in m, below which an episode ends; half its height in the home pose if left out."""
    largest_tilt: float = 60.0
    """Of the base in degrees, beyond which an episode ends."""
    speed: float | None = None
    """In m/s; going faster earns no more. No limit if left out."""
    forward_weight: float = 1.0
    """What a metre per second is worth, per step."""
    alive_weight: float = 0.2
    """What a step without falling is worth."""
    control_weight: float = 0.05
    """What the mean square of the actions costs."""
    posture_weight: float = 0.2
    """What leaning (sin² of the tilt) and leaving the home pose (mean square in rad) cost."""

    def __post_init__(self) -> None:
        if isinstance(self.feet, str):
            object.__setattr__(self, "feet", (self.feet,))
        checked_kinds(self)
        for name, known in (
            ("forward", tuple(DIRECTIONS)),
            ("actions", (AUTO, MODEL, *LAWS)),
            ("healthy", ("upright", "always")),
            ("reward", ("locomotion",)),
        ):
            value = getattr(self, name)
            if isinstance(value, str) and value not in known:
                raise unknown_name(f"value of {name}", value, known)
        for name in ("action_scale", "stiffness", "damping", "rate", "max_episode_steps", "speed"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"{name} must be above 0, got {value}.", f"Leave {name} out for its default.")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ModelOptions:
        """Options by name; one that does not exist is told with its near matches."""
        kinds = {field.name: str(field.type) for field in dataclasses.fields(cls)}
        chosen = dict(options)
        for name, value in options.items():
            if name not in kinds:
                raise unknown_name("option of a robot from a model file", name, kinds)
            if "float" in kinds[name] and value is not None:
                if isinstance(value, bool) or not isinstance(value, numbers.Real):
                    raise UserError(
                        f"{name} must be a number, got {value!r}.", f"Leave {name} out, or give one."
                    )
                chosen[name] = float(value)
            elif isinstance(value, list):
                chosen[name] = tuple(value)
        return cls(**chosen)
