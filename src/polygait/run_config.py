"""Every choice behind a run: what is stored with it and what training reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from polygait.config.settings import from_plain_record
from polygait.diversity.method import Method
from polygait.diversity.registry import METHODS
from polygait.errors import UserError
from polygait.learning.learner import Learner
from polygait.learning.registry import LEARNERS

_SPECIALISTS = ("specialists", "against", "specialist_steps")
_LATER_SETTINGS = {
    "learner": ("episodes_per_iteration", "critic_warmup"),
    "method_config": ("enough", "regulate"),
}
"""Of learners and methods, which do nothing at 0 and are not mentioned then."""


@dataclass(frozen=True)
class RunConfig:
    """Every choice made: what is stored with a run and what training reads."""

    task: str
    method: str
    members: int
    steps: int
    seed: int
    preset: str
    remove: tuple[str, ...] | None
    """None is the robot's default filter."""
    alpha: float
    """The paper's factor of the bonus, where `diversity` does not measure it."""
    envs: int
    keep: Literal["last", "validated", "best-episode"]
    """Which weights a member keeps: the last; the best in eight tests with mean actions in the last
    fifth of its training (validated); or those of the best single deterministic episode."""
    learner: Any
    """The settings of the learner, a record such as PPOConfig that knows its learner's name."""
    method_config: Any
    """The settings of the method."""
    task_options: dict[str, Any] = field(default_factory=dict)
    diversity: float | None = None
    """How far the bonus may move the reward, as a share of what the task pays; None where alpha counts."""
    fade: float = 0.0
    """The share of a member's training by which its bonus has faded away; 0 keeps it to the end."""
    guard: float = 0.0
    """The share of what the first member earned after as many steps: below it a later one's bonus shrinks. 0
    pays it whatever it costs."""
    variation: str | None = None
    """The changed world in which all of training happens; None is the nominal one."""
    worlds: str = ""
    """Of which every episode of the training draws one; empty is the nominal world."""
    curriculum: float = 0.0
    """The share of the training in which faulty worlds grow from none to as many as `worlds` says."""
    specialists: int = 0
    """How many of the members, the last ones, go on from an earlier one in a damage that nobody survives."""
    against: str = ""
    """The damages that they are for: a suite's name, or variations."""
    specialist_steps: int = 0

    def faulty_share(self, steps: int) -> float:
        """How many of the faulty worlds take place when a member has made so many steps, from 0 to 1."""
        rising = self.curriculum * self.iterations
        return min(1.0, steps / self.learner.steps_per_iteration / rising) if rising else 1.0

    @property
    def episodes_per_iteration(self) -> int:
        """Whole episodes in a rollout, for learners that count them; 0 where it has a number of steps."""
        return getattr(self.learner, "episodes_per_iteration", 0)

    @property
    def iterations(self) -> int:
        """Rollouts per member: its steps, rounded up. Whole episodes that end early make more of them."""
        return -(-self.steps // self.learner.steps_per_iteration)

    @property
    def steps_per_member(self) -> int:
        """The steps of whole rollouts; of whole episodes, after how many steps no more are begun."""
        if self.episodes_per_iteration:
            return self.steps
        return self.iterations * self.learner.steps_per_iteration

    @property
    def generalists(self) -> int:
        """How many members train from the beginning, in no damage of their own."""
        return self.members - self.specialists

    @property
    def total_steps(self) -> int:
        """Of all members together."""
        return self.steps_of_first(self.members)

    def steps_of_first(self, count: int) -> int:
        """Of the first so many members together."""
        rollout = 1 if self.episodes_per_iteration else self.learner.steps_per_iteration
        specialist = -(-self.specialist_steps // rollout) * rollout
        generalists = min(count, self.generalists)
        return generalists * self.steps_per_member + (count - generalists) * specialist

    @property
    def simultaneous(self) -> bool:
        """Whether all members train at once; a rollout of whole episodes is one member's alone."""
        return self.method_class.simultaneous and not self.episodes_per_iteration

    @property
    def method_class(self) -> type[Method]:
        """The method's class, with what it says about itself."""
        return METHODS.find(self.method)

    @property
    def learner_class(self) -> type[Learner]:
        """The learner's class, with what it says about itself."""
        return LEARNERS.find(self.learner.name)

    @property
    def sections(self) -> dict[str, Any]:
        """The records whose fields can be set one by one, by the name that stands before the point."""
        return {self.learner.name: self.learner, self.method: self.method_config}

    def with_section(self, name: str, record: Any) -> RunConfig:
        """The same with other settings of its learner or method."""
        owner = "learner" if name == self.learner.name else "method_config"
        return dataclasses.replace(self, **{owner: record})

    def to_json(self) -> dict[str, Any]:
        """The configuration as plain data; the learner's settings are tagged with its name.

        A nominal world is not mentioned, nor a guard, specialists or whole episodes where there are none:
        jobs of studies are named by this data, and keep their names.
        """
        plain = dataclasses.asdict(self)
        for section, names in _LATER_SETTINGS.items():
            for name in names:
                if not plain[section].get(name):
                    plain[section].pop(name, None)
        for name in ("variation", "worlds", "curriculum", "guard", *_SPECIALISTS):
            if not plain[name]:
                del plain[name]
        return {**plain, "learner": {"name": self.learner.name, **plain["learner"]}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunConfig:
        """The configuration that to_json() described; settings missing in an older run get defaults."""
        try:
            learner = dict(data["learner"])
            records = {
                "learner": from_plain_record(LEARNERS.find(learner.pop("name")).Config, learner),
                "method_config": from_plain_record(
                    METHODS.find(data["method"]).Config, data["method_config"]
                ),
            }
            return from_plain_record(cls, {**data, **records})
        except UserError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UserError(f"The run's configuration cannot be read: {error}.") from error
