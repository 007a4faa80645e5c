"""MuJoCo times every stage of every step. Nobody reads that here, and the clock costs an eighth of a step."""

from __future__ import annotations

import ctypes
import sys

import mujoco


def stop_timers() -> None:
    """Let MuJoCo simulate without looking at the clock, in the whole process, unless somebody gave it one.

    Python can exchange the clock (`mujoco.set_mjcb_time`) but not take it away, so the library's own pointer
    is cleared; where it cannot be found (Windows), steps stay correct and a little slower. Results are the
    same to the bit, only `MjData.timer` stays 0.
    """
    if mujoco.get_mjcb_time() is not None:
        return
    library = ctypes.CDLL(sys.modules["mujoco._functions"].__file__)
    try:
        ctypes.c_void_p.in_dll(library, "mjcb_time").value = None
    except ValueError:
        return
