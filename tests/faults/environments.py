"""Environments of others, in which faults are tried."""

from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.spaces import Box, Discrete
from mujoco.batch import MODEL_FIELDS

from polygait.faults import FaultInjection

SPAWNED = {"context": "spawn"}
"""For vectors of processes: a process in which JAX runs must not fork."""
WALKER = str(Path(gymnasium.__file__).parent / "envs/mujoco/assets/walker2d_v5.xml")


def walker(variation=None, **options):
    return FaultInjection(gymnasium.make("Walker2d-v5"), variation, **options)


def model_arrays(env):
    model = env.unwrapped.model
    arrays = {name: getattr(model, name) for name in MODEL_FIELDS if not name.startswith("opt.")}
    return {name: np.array(values) for name, values in arrays.items()} | {"gravity": model.opt.gravity.copy()}


def assert_same_model(found, expected):
    assert not [name for name in expected if not np.array_equal(found[name], expected[name])]


class OwnWalker(gymnasium.Env):
    """A walker whose copies go on where it was, unlike Gymnasium's; its data are new in every episode."""

    observation_space = Box(-np.inf, np.inf, (18,), np.float64)
    action_space: Any = Box(-1, 1, (6,))

    def __init__(self):
        self.model: Any = mujoco.MjModel.from_xml_path(WALKER)
        self.data: Any = mujoco.MjData(self.model)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.data = mujoco.MjData(self.model)
        return self.shown(), {}

    def step(self, action):
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data, 4)
        return self.shown(), float(self.data.qvel[0]), False, False, {}

    def shown(self):
        return np.concatenate([self.data.qpos, self.data.qvel])


class ButtonWalker(OwnWalker):
    """The same with two buttons."""

    action_space = Discrete(2)


class Mirror(gymnasium.Env):
    """Shows the same at all times, and keeps the action that arrived."""

    def __init__(self, shown, space, actions=None):
        self.shown = shown
        self.observation_space = space
        self.action_space = Box(-1, 1, (1,)) if actions is None else actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.shown, {}

    def step(self, action):
        self.arrived = action
        return self.shown, 0.0, False, False, {}


class Counters(gymnasium.vector.VectorEnv):
    """Environments that show their step and their action, and end after four."""

    num_envs = 2
    single_observation_space = Box(-np.inf, np.inf, (2,))
    single_action_space: Any = Box(-1, 1, (1,))

    def __init__(self):
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def reset(self, *, seed=None, options=None):
        self.count = np.zeros(2)
        return np.zeros((2, 2), np.float32), {}

    def step(self, actions):
        begins = self.count == 4
        self.count = np.where(begins, 0, self.count + 1)
        seen = np.stack([self.count, np.where(begins, 0, actions[:, 0])], axis=1).astype(np.float32)
        return seen, np.zeros(2), self.count == 4, np.zeros(2, bool), {}
