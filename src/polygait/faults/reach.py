"""Which faults an environment can have, and what is said about the others before anything changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
from gymnasium.vector import VectorWrapper
from gymnasium.wrappers import TimeLimit

from polygait.errors import UserError
from polygait.tasks.state import StateLayout
from polygait.variations import (
    LAST_STEP,
    ActionDelay,
    Anatomy,
    Backlash,
    BrokenJoint,
    Edit,
    FadingStrength,
    MotorFailure,
    ScaleStrength,
    SensorFailure,
    Variation,
)

SENSORS, ACTIONS, PHYSICS = "sensors", "actions", "physics"
"""What an edit may be a fault of."""


class Refusal(NamedTuple):
    """Why an environment cannot have faults of a kind, and what to do."""

    problem: str
    remedy: str


class Reach(NamedTuple):
    """What can fail in an environment."""

    name: str
    anatomy: Anatomy
    refusals: Mapping[str, Refusal]
    """Of the kinds of faults that it cannot have."""
    limit: int | None
    """How many steps an episode has at most; None where nobody says."""

    def check(self, variation: Variation) -> None:
        """Refuse an edit that cannot be carried out here; names are checked by whoever looks them up."""
        for edit in variation:
            refusal = self.refusals.get(_kind(edit, self.anatomy.has_model))
            if refusal is not None:
                raise UserError(f"{edit}: {refusal.problem}", refusal.remedy)
            if edit.latest == LAST_STEP and self.limit is None:
                raise UserError(
                    f"{edit}: a random start is drawn among an episode's steps, and nothing says how many "
                    f"{self.name} has.",
                    "Write random(0..999) for random, or put a TimeLimit below: "
                    "FaultInjection(TimeLimit(env, 1000), …).",
                )


def refusals(
    name: str, anatomy: Anatomy, layout: StateLayout, actions: gymnasium.Space
) -> dict[str, Refusal]:
    """Of all kinds of faults that an environment with such parts cannot have."""
    possible = [f"sensor({layout.names[0]})"] if layout.size else []
    if anatomy.actions:
        possible += [f"motor({anatomy.actions[0]})", "delay=2"]
    if anatomy.has_model:
        possible += ["gravity=0.5"]
    remedy = f"What can fail here: {', '.join(possible)}." if possible else "Nothing can fail here."
    found = {}
    if not layout.size:
        problem = f"{name} has no sensors, which are the numbers of a Box, alone or in a Dict."
        found[SENSORS] = Refusal(problem, remedy)
    if not anatomy.actions:
        problem = f"{name} has the action space {actions}; faults of actions need a Box."
        found[ACTIONS] = Refusal(problem, remedy)
    if not anatomy.has_model:
        problem = f"{name} is not simulated by MuJoCo, and other physics cannot be changed."
        found[PHYSICS] = Refusal(problem, remedy)
    return found


def signal_anatomy(layout: StateLayout, actions: list[str]) -> Anatomy:
    """The names of an environment of which only sensors and actions can be reached."""
    parts = list(layout.parts)
    return Anatomy({}, {}, {}, actions, layout.select, actions, has_model=False, state_parts=parts)


def numbered_actions(size: int) -> list[str]:
    """Names of actions that nobody has named."""
    return [f"action_{index}" for index in range(size)]


def layers(env: Any) -> Iterator[Any]:
    """An environment and everything that it wraps."""
    yield env
    while isinstance(env, gymnasium.Wrapper | VectorWrapper):
        env = env.env
        yield env


def step_limit(env: Any) -> int | None:
    """How many steps an episode has at most, if any layer of an environment says so."""
    limits = [one._max_episode_steps for one in layers(env) if isinstance(one, TimeLimit)]
    return min(limits) if limits else getattr(env.spec, "max_episode_steps", None)


def name_of(env: Any) -> str:
    """What an environment is called."""
    return env.spec.id if env.spec else type(env.unwrapped).__name__


def _kind(edit: Edit, has_model: bool) -> str:
    """Where an edit acts; without a model, a motor is as strong as its action."""
    if isinstance(edit, SensorFailure):
        return SENSORS
    if isinstance(edit, MotorFailure | Backlash | ActionDelay):
        return ACTIONS
    weakens = isinstance(edit, ScaleStrength | FadingStrength) or (
        isinstance(edit, BrokenJoint) and edit.mode in ("limp", "weak")
    )
    return ACTIONS if weakens and not has_model else PHYSICS
