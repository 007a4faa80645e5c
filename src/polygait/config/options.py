"""What a user asks for: each command's options, which are also its command line and its documentation.

tyro makes an option of every field, and its help of the sentence below it; a field is annotated only where
the command line spells it otherwise than Python.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tyro import conf

from polygait.config.checks import count_problems, seed_problems
from polygait.counts import LARGEST

_SET = conf.arg(name="set")
DAMAGES, SPECIALIST_STEPS = "mesh", 200_000
"""What specialists are for, and how long they learn."""


@dataclass(frozen=True)
class TrainConfig:
    """A population to grow. `None` leaves a choice to robot and preset; run_config.py fills it in."""

    task: Annotated[Any, conf.Positional, conf.arg(metavar="TASK", constructor=str)]
    """The robot, gym:ENV-ID, go2.xml, my_robot.py:MyRobot or a module:MyRobot; in Python also a Robot."""
    method: str = "dir"
    """dir, smerl, dvd, multi or pg."""
    members: int | None = None
    """How many different ways to find, 10 if left out; pg finds one, with the steps of so many."""
    steps: int = 2_000_000
    """Environment steps per member, rounded up to whole rollouts."""
    seed: int = 0
    """All randomness follows from it."""
    preset: str = "robust"
    """robust mends the known flaws; paper follows the paper and its authors."""
    learner: str = "ppo"
    """How policies improve: ppo or sac."""
    remove: Sequence[str] | None = None
    """State parts in which members may differ, such as "right_leg.*"; the robot's own if left out."""
    alpha: float | None = None
    """The paper's factor of the diversity bonus; multi and pg have none."""
    diversity: float | None = None
    """The same without units: how far the bonus may move the reward, as a share of what the task pays, such
    as 0.2; the method's own strength if both are left out."""
    envs: int | None = None
    """Environments per member; the learner's own number if left out."""
    threads: int | None = None
    """Physics threads, all cores if left out; results do not depend on it."""
    overrides: Annotated[Sequence[str], _SET] = ()
    """Any other setting, such as ppo.epochs=5 dir.bound=none; all are in docs/settings.md."""
    layout: str | tuple[str, ...] | None = None
    """A TOML file that names what a gym:ENV-ID shows, in Python also the names in order; the environment's
    own names if left out."""
    worlds: str | None = None
    """Worlds of which every training episode draws one, such as "nominal*4, broken(any(*)), delay=0..2"; the
    nominal world if left out. The policy is not told which."""
    curriculum: float | None = None
    """The share of the training, up to 1, in which faulty worlds grow from none to as many as `worlds` says;
    0 if left out: as many from the beginning."""
    specialists: int | None = None
    """How many of the members, the last ones, go on from an earlier one in a damage that nobody survives."""
    against: str | None = None
    """The damages that specialists are for: damage, dynamics, sensors, paper, mesh, or variations such as
    "broken(foot_joint), delay=2"; the mesh if left out."""
    specialist_steps: int | None = None
    """Environment steps per specialist, 200k if left out."""


def specialist_problems(options: Any) -> list[str]:
    """What is said about specialists where there are none."""
    if options.specialists:
        return []
    given = [name for name in ("against", "specialist_steps") if getattr(options, name) is not None]
    return [f"`{name}` is about specialists: say how many, such as `specialists=5`." for name in given]


@dataclass(frozen=True)
class Extension:
    """How far to extend a population."""

    members: int | None = None
    """How many more; beside another limit at most so many, 100 if left out."""
    until_novelty: float | None = None
    """Go on until a new member is less novel than this, in nats."""
    max_hours: float | None = None
    """Begin no new member after so many hours."""
    max_members: int | None = None
    """At most so many more, beside another limit: the same as members."""
    specialists: int | None = None
    """So many members that each go on from an earlier one in a damage that nobody survives, and no others."""
    against: str | None = None
    """The damages that specialists are for, as in training; the mesh if left out."""
    specialist_steps: int | None = None
    """Environment steps per specialist, 200k if left out."""

    @property
    def most(self) -> int:
        """How many new members at most."""
        given = (self.specialists, self.members, self.max_members)
        return next((count for count in given if count is not None), 100)

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = count_problems(self, {"members": 1, "max_members": 1, "specialists": 1})
        found += count_problems(self, {"specialist_steps": 1}, most=LARGEST)
        limits = {name: getattr(self, name) for name in ("members", "until_novelty", "max_hours")}
        others = [name for name, value in limits.items() if value is not None]
        if not others and self.specialists is None:
            found.append(
                "How far to extend? Give `members=5`, `until_novelty=2`, `max_hours=3` or `specialists=5`."
            )
        if self.specialists is not None and (others or self.max_members is not None):
            others += ["max_members"] * (self.max_members is not None)
            found.append(f"`specialists` says how many: leave `{'`, `'.join(others)}` out.")
        found += specialist_problems(self)
        if self.members is not None and self.max_members is not None:
            found.append("`members` and `max_members` exclude each other. Give the one you mean.")
        if self.max_hours is not None and not self.max_hours > 0:
            found.append(f"`max_hours` must be above 0, got {self.max_hours}.")
        if self.until_novelty is not None and math.isnan(self.until_novelty):
            found.append("`until_novelty` must be a number, got nan.")
        return found


def specialist_choices(options: TrainConfig | Extension) -> dict[str, Any]:
    """What a run remembers about its specialists."""
    if not options.specialists:
        return {}
    return {
        "specialists": options.specialists,
        "against": (options.against or DAMAGES).strip(),
        "specialist_steps": options.specialist_steps or SPECIALIST_STEPS,
    }


@dataclass(frozen=True)
class FinetuneConfig:
    """How a member goes on learning in a changed world."""

    member: int | str = "auto"
    """Which member; auto is the one that comes farthest in this world and does not stand still there; by
    return where the simulator does not tell how far."""
    steps: int = 200_000
    """Environment steps, rounded up to whole rollouts."""
    seed: int = 0
    """All randomness follows from it."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""
    overrides: Annotated[tuple[str, ...], _SET] = ()
    """Any other setting of the learner, for example ppo.learning_rate=1e-4; all others are the run's own."""


@dataclass(frozen=True)
class ExportConfig:
    """Which members to write for other runtimes, and how."""

    member: int | None = None
    """Which member; may be left out where there is only one."""
    all: bool = False
    """Every member, into a folder."""
    format: str = "onnx"
    """onnx; or numpy, an .npz file with a reader beside it that needs NumPy alone."""


@dataclass(frozen=True)
class AdaptConfig:
    """How to find the member that still works."""

    selector: str = "exhaustive"
    """exhaustive tries every member as often (the paper's Algorithm 2), racing spends a budget of trials,
    informed also knows what members did in simulated damages (evaluate --suite mesh)."""
    episodes: int | None = None
    """Episodes per member, for exhaustive; 20 if left out."""
    trials: int | None = None
    """Episodes of all members together; if left out, racing has four per member, informed 10."""
    max_falls: int | None = None
    """A member that has fallen so often is tried no more, for racing and informed."""
    settings: Annotated[tuple[str, ...], _SET] = ()
    """A selector's further options, such as prior=damage."""
    by: str = "return"
    """What the member is chosen by: return, or progress, the metres it comes forward."""
    held_out: int = 20
    """Fresh episodes on which the chosen member is scored; 0 for none."""
    seed: int = 0
    """All starts follow from it."""
    on: str | None = None
    """Another task with the same state and actions, such as another simulator."""
    threads: int | None = None
    """Physics threads, all cores if left out; results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = seed_problems(self.seed)
        found += count_problems(
            self, {"episodes": 1, "trials": 1, "max_falls": 1, "threads": 1, "held_out": 0}
        )
        if self.by not in ("return", "progress"):
            found.append(f"`by` must be 'return' or 'progress', got {self.by!r}.")
        return found


@dataclass(frozen=True)
class EvaluateConfig:
    """What to measure; in Python a suite may be a list of variations or a mapping from names to them too."""

    suite: str | Sequence[Any] | Mapping[str, Any] = "paper"
    """nominal, damage, dynamics, sensors, paper, mesh, unforeseen (other kinds of damage than the mesh's), or
    a TOML file with variations = ["broken-foot"]."""
    episodes: int = 20
    """Episodes per member and condition."""
    seed: int = 0
    """All starts follow from it."""
    on: str | None = None
    """Another task with the same state and actions, such as another simulator."""
    threads: int | None = None
    """Physics threads, all cores if left out; results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        return seed_problems(self.seed) + count_problems(self, {"episodes": 1, "threads": 1})


@dataclass(frozen=True)
class FiltersConfig:
    """What to ask about filters."""

    remove: tuple[str, ...] = ()
    """Candidate filters, each the parts to remove joined by commas; each part alone if left out."""
    member: int | None = None
    """Whose actions to read; all members' together if left out."""
    episodes: int = 8
    """Episodes per member, with the noise of training; a quarter is held out."""
    epochs: int = 100
    """Passes of each model through its data, at most; it stops when it has learned what it can."""
    seed: int = 0
    """All starts and all first weights follow from it."""
    threads: int | None = None
    """Physics threads, all cores if left out; results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        return seed_problems(self.seed) + count_problems(self, {"episodes": 3, "epochs": 1, "threads": 1})


@dataclass(frozen=True)
class BehaviourConfig:
    """How closely to look at what members do; the defaults are the paper's."""

    states: int = 2000
    """Random states on which members' actions are compared."""
    episodes: int = 20
    """Episodes per member in which feet are watched."""
    transitions: int = 20_000
    """Steps per member, at least, from which variance and information are estimated."""
    seed: int = 0
    """All randomness follows from it."""
    threads: int | None = None
    """Physics threads, all cores if left out; results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = seed_problems(self.seed) + count_problems(self, {"states": 1, "episodes": 1, "threads": 1})
        return found + count_problems(self, {"transitions": 1}, most=100_000_000)


@dataclass(frozen=True)
class MotivationConfig:
    """The experiment behind the paper's Figure 1; the defaults are the paper's."""

    steps: int = 1_000_000
    """Environment steps of the Soft Actor-Critic agent that walks, rounded up to whole blocks."""
    seed: int = 0
    """All randomness follows from it."""
    episodes: int = 30
    """Of the finished agent, about which the models are asked."""
    updates_per_step: float = 1.0
    """Gradient steps per environment step; fewer are faster and learn less."""
    threads: int | None = None
    """Physics threads, all cores if left out; results do not depend on it."""
    overrides: Annotated[tuple[str, ...], _SET] = ()
    """Any other setting of the agent and the models, such as motivation.model_hidden=64,64."""


@dataclass(frozen=True)
class StudyRunConfig:
    """Where a study's jobs run."""

    engine: Literal["local", "ray"] = "local"
    """local runs one process per core here, ray runs on a cluster (needs the extra "ray")."""
    jobs: int | None = None
    """How many jobs at once; as many as there are cores for if left out. Not with --address."""
    retries: int = 2
    """How often a job that crashed is tried again, from its last checkpoint."""
    address: str | None = None
    """Ray: the cluster of this machine, auto or HOST:6379; without it one is started here."""
    cpus_per_job: int | None = None
    """Ray: cores that a job asks for and whose threads its physics uses; 1 if left out."""
    shared: bool = False
    """Ray: all nodes see --out under the same path, so nothing needs to be copied."""

    @property
    def given(self) -> dict[str, Any]:
        """What was chosen otherwise than it is anyway."""
        return {name: one for name, one in vars(self).items() if one != getattr(StudyRunConfig, name)}
