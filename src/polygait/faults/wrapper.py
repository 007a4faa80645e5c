"""Faults in one environment: what breaks, when, and the truth about it."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import Autoreset

from polygait.errors import UserError
from polygait.faults.live_model import LiveModel, find_model
from polygait.faults.reach import (
    Reach,
    layers,
    name_of,
    numbered_actions,
    refusals,
    signal_anatomy,
    step_limit,
)
from polygait.faults.script import Script, seeds_per_row
from polygait.faults.signals import Actions, Observations
from polygait.tasks.anatomy import model_anatomy, motor_names
from polygait.tasks.faults import Faults
from polygait.tasks.schedule import NEVER, Scheduled
from polygait.tasks.world import World
from polygait.variations import Anatomy, Edit, Effect, Variation, parse_variation

_ROW = np.zeros(1, dtype=np.intp)
_NOBODY = np.zeros(0, dtype=np.intp)


class FaultInjection(gymnasium.Wrapper, RecordConstructorArgs):
    """An environment in which parts break, in polygait's language of variations.

        env = FaultInjection(gym.make("Walker2d-v5"), "broken(foot_joint)@300..500")

    On environments that MuJoCo simulates, joints, bodies, geoms and motors go by their names in the model; on
    all others sensors (`state.0`) and motors (`action_0`) can fail; `anatomy` holds all names. `worlds` is a
    mixture from which every episode draws its variation: "nominal*4, broken(any(*)), delay=0..2". What acts
    in a step is told in `info["fault"]` and never in the observation. `close` gives the model back as it was.

    What is random follows from `seed`, or from that of the last `reset(seed=…)`, and from the number of
    episodes since; without either, every wrapper has random numbers of its own.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        variation: str | Variation | Edit | None = None,
        *,
        worlds: str | None = None,
        layout: Any = None,
        seed: int | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, variation=variation, worlds=worlds, layout=layout, seed=seed)
        gymnasium.Wrapper.__init__(self, env)
        _check_layers(env)
        self._actions = Actions(env.action_space)
        self._observations = Observations(env.observation_space, layout)
        found = find_model(env)
        self._live = None if found is None else LiveModel(*found)
        self._world = None if self._live is None else World(self._live)
        self._script = Script(self._reach(), seeds_per_row(seed, 1))
        self._script.open(None if variation is None else [parse_variation(variation, {})], worlds)
        self._faults = Faults(1, self._actions.size, self._observations.layout.size, self._generator)
        self._now = 0
        self._install(_NOBODY)  # the model changes with the first reset or step

    @property
    def anatomy(self) -> Anatomy:
        """The names of everything that can fail: `list(env.anatomy.joints)`, `.bodies`, `.state_parts`, …."""
        return self._script.reach.anatomy

    @property
    def variation(self) -> Variation:
        """What breaks in this episode."""
        return self._script.variations[0]

    def set_variation(self, variation: str | Variation | Edit | None) -> None:
        """Change the world from the next step on, in place of worlds too; None is the nominal world."""
        self._script.give([parse_variation(variation, {})])
        self._install(_ROW)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Begin a new episode, in the nominal model; faults that act from the beginning follow."""
        if self._world is not None:
            self._world.refresh(np.full(1, -1))
        observation, info = self.env.reset(seed=seed, options=options)
        self._now = 0
        is_bound_anew = self._bind_anew()
        if self._script.begin(_ROW, [seed]).size or is_bound_anew:
            self._install(_ROW)
        if self._world is not None:
            self._world.refresh(self._step, begun=_ROW)
        self._faults.forget(_ROW)
        self._quiet_until = self._next_change()
        if self._script.spoils:
            observation = self._spoiled(observation)
        info["fault"] = self._script.truth(self._step, self._step)[0]
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict]:
        """Act once in the world as it is now."""
        now = self._now
        if now < self._quiet_until:  # every name looked up here is paid for in each step without a fault
            self._now = now + 1
            result = self.env.step(action)
            result[4]["fault"] = "nominal"
            return result
        before = self._step
        if self._world is not None:
            self._world.refresh(before)
        if self._script.meddles:
            sent = self._actions.flat(action)
            action = self._actions.whole(action, sent, self._faults.on_actions(sent, before))
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._now = now + 1
        if self._script.spoils:
            observation = self._spoiled(observation)
        info["fault"] = self._script.truth(before, self._step)[0]
        self._quiet_until = self._next_change()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Give the model back as it was found, and close the environment."""
        if self._live is not None:
            self._live.restore()
        self.env.close()

    def __getstate__(self) -> dict[str, Any]:
        """All but the hold on the model: a copy of the environment has a model of its own."""
        held = None
        if self._live is not None and self._world is not None:
            held = self._live.model, self._world.snapshot()
        return self.__dict__ | {"_live": None, "_world": None, "_held": held}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take hold of the copy's model, nominal first, and let act on it what acts on the original's."""
        held = state.pop("_held")
        self.__dict__.update(state)
        found = find_model(self.env)
        if held is None or found is None:
            return
        nominal, remembered = held
        self._live = LiveModel(*found, nominal)
        self._live.restore()
        self._world = World(self._live)
        self._world.install(self._script.effects, self._step, _ROW)
        self._world.restore(remembered, self._step)

    def _bind_anew(self) -> bool:
        """Take hold of the model and the data again where the environment has made others."""
        found = find_model(self.env)
        if self._live is None or found is None:
            return False
        model, data = found
        is_same_model = model is self._live.live
        if is_same_model and data is self._live.data:
            return False
        self._live = LiveModel(model, data, self._live.model if is_same_model else None)
        self._world = World(self._live)
        if not is_same_model:
            self._script.move(self._reach())
        return True

    def _reach(self) -> Reach:
        """What can fail here, by which names."""
        layout, actions = self._observations.layout, numbered_actions(self._actions.size)
        if self._live is None:
            anatomy = signal_anatomy(layout, actions)
        else:
            motors = motor_names(self._live.model)
            named = motors if len(motors) == len(actions) else actions
            anatomy = model_anatomy(self._live.model, layout, named)
        name = name_of(self.env)
        refused = refusals(name, anatomy, layout, self.env.action_space)
        return Reach(name, anatomy, refused, step_limit(self.env))

    def _install(self, changed: np.ndarray) -> None:
        """Let the effects of the script act, from now on where the row counts as changed."""
        if self._world is not None:
            self._world.install(self._script.effects, self._step, changed)
        self._faults.install(self._script.effects, changed)
        self._quiet_until = self._next_change()

    @property
    def _step(self) -> np.ndarray:
        """The count of steps, of the one row; while nothing acts only `_now` is kept."""
        return np.array([self._now])

    def _spoiled(self, observation: Any) -> Any:
        true = self._observations.flat(observation)
        seen = true.copy()
        self._faults.on_observation(seen, self._step, _ROW)
        return self._observations.whole(observation, true, seen)

    def _next_change(self) -> int:
        """Up to which step nothing acts and nothing is remembered: until then a step costs nothing more."""
        if self._script.remembers:
            return 0
        # One step of grace: physics goes back to nominal in it, and a sensor acts on what comes after a step.
        return min((self._begins(one) for one in self._script.effects), default=NEVER) - 1

    def _begins(self, one: Scheduled[Effect]) -> int:
        """The step in which an effect acts next, which may be the present one or, for its end, the last."""
        age = self._now - int(one.begins[0])
        period, lasts = int(one.period[0]), int(one.lasts[0])
        if age < 0:
            return int(one.begins[0])
        if age % period <= lasts:  # also in the step after its end, which must undo it
            return 0
        return NEVER if period == NEVER else self._now - age % period + period

    def _generator(self, row: int, purpose: int) -> np.random.Generator:
        return self._script.random(row, purpose, self._now)


def _check_layers(env: gymnasium.Env) -> None:
    for one in layers(env):
        if isinstance(one, FaultInjection):
            raise UserError(
                f"{env} has a FaultInjection already; two would undo each other's changes.",
                'Use one, with the texts of both joined by +: "mass(torso)=2+delay=1".',
            )
        if isinstance(one, Autoreset):
            raise UserError(
                f"{env} begins episodes by itself, unseen by FaultInjection, which counts their steps.",
                "Put Autoreset above: Autoreset(FaultInjection(env, text)).",
            )
