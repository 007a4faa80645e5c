"""Faults in one environment: what breaks, when, and the truth about it."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from polygait.errors import UserError
from polygait.faults.live_model import LiveModel, find_model
from polygait.faults.signals import Actions, Observations
from polygait.tasks.anatomy import model_anatomy, motor_names
from polygait.tasks.faults import Faults
from polygait.tasks.randomness import CounterRandom
from polygait.tasks.schedule import NEVER, Schedule, Scheduled, of_kind
from polygait.tasks.state import StateLayout
from polygait.tasks.world import World
from polygait.variations import (
    PHYSICS,
    ActionLag,
    ActionPlay,
    Anatomy,
    Edit,
    Effect,
    SensorFault,
    TrainingWorlds,
    Variation,
    deals_parts,
    parse_variation,
)

_ROW = np.zeros(1, dtype=np.intp)
_ONSETS, _WORLDS = 2**21, 2**22  # what random numbers are for, as in the tasks of polygait


class FaultInjection(gymnasium.Wrapper, RecordConstructorArgs):
    """An environment in which parts break, in polygait's language of variations.

        env = FaultInjection(gym.make("Walker2d-v5"), "broken(foot_joint)@300..500")

    On environments that MuJoCo simulates, joints, bodies, geoms and motors go by their names in the model; on
    all others sensors (`state.0`) and motors (`action_0`) can fail. `worlds` is a mixture from which every
    episode draws its variation: "nominal*4, broken(any(*)), delay=0..2". What acts in a step is told in
    `info["fault"]` and never in the observation. `close` gives the model back as it was.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        variation: str | Variation | Edit | None = None,
        *,
        worlds: str | None = None,
        layout: StateLayout | None = None,
        seed: int = 0,
    ) -> None:
        RecordConstructorArgs.__init__(self, variation=variation, worlds=worlds, layout=layout, seed=seed)
        gymnasium.Wrapper.__init__(self, env)
        if variation is not None and worlds is not None:
            raise UserError(
                f"A variation ({variation}) and worlds ({worlds}) exclude each other.",
                "Give the one you mean.",
            )
        if worlds is not None and deals_parts(worlds):
            raise UserError(
                f"each(…) deals parts out to a population's members, got {worlds!r} for one environment.",
                "Write any(…): one of the parts in every episode.",
            )
        self._actions = Actions(env.action_space)
        self._observations = Observations(env.observation_space, layout)
        self._random = CounterRandom()
        self._key = np.array([seed % 2**64, 0], dtype=np.uint64)
        self._episode = -1
        self._step = np.zeros(1, dtype=np.int64)
        self._limit = getattr(env.spec, "max_episode_steps", None) or 1000
        self._bind()
        self._worlds = None if worlds is None else TrainingWorlds(worlds, {}, self.anatomy)
        for possible in self._worlds.extremes() if self._worlds is not None else ():
            self.set_variation(possible)  # what cannot be done here is refused now
        self.set_variation(variation)

    def _bind(self) -> None:
        """Get hold of the model, if there is one."""
        found = find_model(self.env)
        self._live = None if found is None else LiveModel(*found)
        self._world = None if self._live is None else World(self._live)
        self.anatomy = self._anatomy()
        self._faults = Faults(1, self._actions.size, self._observations.layout.size, self._generator)

    def _anatomy(self) -> Anatomy:
        """The names of the environment's parts."""
        layout = self._observations.layout
        numbered = [f"action_{index}" for index in range(self._actions.size)]
        if self._live is None:
            return Anatomy(
                {}, {}, {}, numbered, layout.select, numbered, has_model=False, state_parts=list(layout.parts)
            )
        motors = motor_names(self._live.model)
        actions = motors if len(motors) == self._actions.size else numbered
        return model_anatomy(self._live.model, layout, actions)

    def set_variation(self, variation: str | Variation | Edit | None) -> None:
        """Change the world from the next step on; None is the nominal world."""
        wanted = parse_variation(variation, {})
        schedule = Schedule(1, self.anatomy).with_variations([0], [wanted])
        effects = schedule.effects
        if of_kind(effects, PHYSICS) and self._world is None:
            raise UserError(
                f"{self._name} is not simulated by MuJoCo: its physics cannot be changed.",
                "Use sensor(state.0), motor(action_0), strength(action_0)=0.7 or delay=2 here.",
            )
        between = [one for one in effects if not isinstance(one.effect, (*PHYSICS, SensorFault))]
        if between and not self._actions.size:
            raise UserError(
                f"{self._name} has the action space {self.env.action_space}; faults of actions need a Box.",
                "Sensors and physics can still fail.",
            )
        self.variation = wanted
        self._texts = [str(edit) for edit in wanted]
        self._schedule, self._effects = schedule, effects
        self._acts_on_actions = bool(between)
        self._sees = bool(of_kind(effects, SensorFault))
        # A delay and a play remember actions also before they begin.
        self._remembers = bool(of_kind(effects, ActionLag) or of_kind(effects, ActionPlay))
        self._schedule.draw_onsets(_ROW, self._onset, self._limit)
        self._install()

    def _install(self) -> None:
        if self._world is not None:
            self._world.install(self._effects, self._step, _ROW)
        self._faults.install(self._effects, _ROW)
        self._now = int(self._step[0])
        self._quiet_until = self._next_change()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Begin a new episode, in the nominal model; faults that act from the beginning follow."""
        if self._world is not None:
            self._world.refresh(np.full(1, -1))
        observation, info = self.env.reset(seed=seed, options=options)
        found = find_model(self.env)
        if found is not None and self._live is not None and found[0] is not self._live.live:
            self._bind()  # the environment made another model
            self.set_variation(self.variation)
        self._episode += 1
        if seed is not None:
            self._key[0], self._episode = seed % 2**64, 0
        self._step[0] = self._now = 0
        if self._worlds is not None:
            self.set_variation(self._worlds.draw(self._generator(0, _WORLDS)))
        elif self._schedule.draw_onsets(_ROW, self._onset, self._limit):
            self._install()
        if self._world is not None:
            self._world.refresh(self._step, begun=_ROW)
        self._faults.forget(_ROW)
        self._quiet_until = self._next_change()
        if self._sees:
            observation = self._spoiled(observation)
        info["fault"] = self._truth()
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict]:
        """Act once in the world as it is now."""
        now = self._now
        if now < self._quiet_until:  # every name looked up here is paid for in each step without a fault
            self._now = now + 1
            result = self.env.step(action)
            result[4]["fault"] = "nominal"
            return result
        self._step[0] = self._now
        if self._world is not None:
            self._world.refresh(self._step)
        if self._acts_on_actions:
            arriving = self._faults.on_actions(self._actions.flat(action), self._step)
            action = self._actions.whole(arriving, action)
        truth = self._truth()
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._now += 1
        self._step[0] = self._now
        if self._sees:
            observation = self._spoiled(observation)
        info["fault"] = truth
        self._quiet_until = self._next_change()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Give the model back as it was found, and close the environment."""
        if self._live is not None:
            self._live.restore()
        self.env.close()

    @property
    def _name(self) -> str:
        return self.env.spec.id if self.env.spec else type(self.env.unwrapped).__name__

    def _spoiled(self, observation: Any) -> Any:
        row = self._observations.flat(observation)
        self._faults.on_observation(row, self._step, _ROW)
        return self._observations.whole(row)

    def _truth(self) -> str:
        """The edits that act now."""
        acting = {one.edit for one in self._effects if one.acts(self._step)[0]}
        return "+".join(self._texts[edit] for edit in sorted(acting)) or "nominal"

    def _next_change(self) -> int:
        """Up to which step nothing acts and nothing is remembered: until then a step costs nothing more."""
        if self._remembers:
            return 0
        # One step of grace: physics goes back to nominal in it, and a sensor acts on what comes after a step.
        return min((self._begins(one) for one in self._effects), default=NEVER) - 1

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
        step = 0 if purpose >= _ONSETS else int(self._step[0])
        return self._random.at(self._key, max(self._episode, 0), purpose, step)

    def _onset(self, row: int, edit: int) -> np.random.Generator:
        return self._generator(row, _ONSETS + edit)
