"""How MuJoCo tells that a simulation broke down: it counts a warning, and begins anew from the start."""

from __future__ import annotations

import logging
from typing import Any

import mujoco

BAD_STATE = slice(mujoco.mjtWarning.mjWARN_BADQPOS.value, mujoco.mjtWarning.mjWARN_BADQACC.value + 1)
"""The warnings of a bad state among all that MuJoCo counts."""
_LOGGER = logging.getLogger(__name__)


def divert_warnings() -> None:
    """Send MuJoCo's warnings to Python's logging instead of a file in the working directory.

    A diverged simulation is counted by its task, so its message is worth only a debug line; so is one that
    was told before, for every copy of a robot has the same to say about its model.
    """
    told: set[str] = set()

    def receive(message: str) -> None:
        matter = message.partition(" Time = ")[0]
        known = "simulation is unstable" in message or matter in told
        told.add(matter)
        _LOGGER.log(logging.DEBUG if known else logging.WARNING, message.strip())

    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(receive)


def broke_down(data: Any) -> bool:
    """Whether a simulation, if it is one of MuJoCo's, has broken down since its last reset."""
    return isinstance(data, mujoco.MjData) and bool(data.warning.number[BAD_STATE].any())
