"""The model behind a running environment, as tasks.world wants it: one simulation, changed in place."""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import MODEL_FIELDS


class LiveModel:
    """One MuJoCo model with its data, both in use by someone else."""

    nsim = 1

    def __init__(self, live: Any, data: Any, nominal: Any = None) -> None:
        self.live = live
        self.data = data
        self.model = copy.copy(live) if nominal is None else nominal
        """As it was found."""
        self._scratch: Any = None

    def expand(self, name: str) -> np.ndarray:
        """A field of the live model, to be written, behind an axis for the one simulation."""
        owner, attribute = (self.live.opt, name[4:]) if name.startswith("opt.") else (self.live, name)
        return getattr(owner, attribute)[None]

    def bind(self, name: str) -> np.ndarray:
        """A field of the data, to be read or written, behind an axis for the one simulation."""
        return getattr(self.data, name)[None]

    def set_const(self, ids: np.ndarray) -> None:
        """Compute anew what follows from the model's fields; the environment's own data are left alone."""
        if self._scratch is None:
            self._scratch = mujoco.MjData(self.live)
        mujoco.mj_setConst(self.live, self._scratch)

    def restore(self) -> None:
        """Give the model back as it was found, to the last bit."""
        for name in MODEL_FIELDS:
            ours, theirs = (
                getattr(one.opt, name[4:]) if name.startswith("opt.") else getattr(one, name)
                for one in (self.model, self.live)
            )
            if isinstance(theirs, np.ndarray) and not np.array_equal(ours, theirs):
                theirs[:] = ours


def find_model(env: Any) -> tuple[Any, Any] | None:
    """The MuJoCo model and data of an environment of Gymnasium or dm_control; None where there are none."""
    inner = env.unwrapped
    model, data = getattr(inner, "model", None), getattr(inner, "data", None)
    if isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData):
        return model, data
    for owner in (inner, getattr(inner, "_env", None)):
        physics = getattr(owner, "physics", None)
        model = getattr(getattr(physics, "model", None), "ptr", None)
        data = getattr(getattr(physics, "data", None), "ptr", None)
        if isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData):
            return model, data
    return None
