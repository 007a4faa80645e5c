"""The choices behind a run, per preset and task, as data; and how a user's wishes are filled in with them."""

from __future__ import annotations

import contextlib
import dataclasses
import tomllib
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Literal

from polygait.config import (
    DirConfig,
    DvdConfig,
    PPOConfig,
    SmerlConfig,
    TrainConfig,
    is_whole,
    seed_problems,
)
from polygait.errors import UserError, did_you_mean

METHODS = ("dir", "smerl", "dvd", "multi", "pg")
COMPARING = ("smerl", "dvd")
"""Methods that compare members while these train together, and so need two of them at once."""
WITHOUT_BONUS = ("multi", "pg")
"""Methods that pay for the task alone."""
PRESETS = ("robust", "paper")
MEMBERS = 10
"""The paper's population."""

ALPHA = {"hopper": 0.05, "walker": 0.05, "ant": 0.01, "minitaur": 0.0005, "minitaur-bullet": 0.0005}
"""The paper's trade-off coefficient of DiR (Appendix C.3)."""
OTHER_ALPHA = 0.05
"""For robots the paper does not have."""
DVD_ALPHA = {"hopper": 0.1, "walker": 0.1, "ant": 0.01, "minitaur": 0.001, "minitaur-bullet": 0.001}
OTHER_DVD_ALPHA = 0.1
SMERL_ALPHA = 10.0
TARGET_RETURN = {
    "hopper": 3000.0,
    "walker": 3000.0,
    "ant": 2500.0,
    "minitaur": 30.0,
    "minitaur-bullet": 30.0,
}
"""SMERL's R* in the authors' code. Minitaur's is beyond every published return, so its gate stays shut."""

ROBUST_PPO: dict[str, dict[str, Any]] = {"ant": {"learn_std": True}}
"""What a robot needs to learn well. Ant pays for noise in every joint: after 500k steps it reached 1347 with
a learned standard deviation, 901 with the fixed one (docs/results.md)."""

PAPER_PPO: dict[str, Any] = {
    "entropy_coefficient": 0.1,
    "normalize_observations": False,
    "scale_rewards": False,
    "bootstrap_truncation": False,
    "value_target": "monte-carlo",
    "rollout_steps": 20_000,  # 10 workers × 2 episodes of at most 1000 steps
}
PAPER_DIR: dict[str, Any] = {
    "bound": "none",
    "weight_decay": 0.01,
    "epochs": 10,
    "normalize_inputs": False,
}
PAPER_SMERL: dict[str, Any] = {"floor": 1e-6, "epochs": 10, "normalize_inputs": False}
PAPER_DVD: dict[str, Any] = {"form": "exponential"}
PAPER_TASK_OPTIONS: dict[str, dict[str, Any]] = {
    "ant": {"contact_forces": False},
    "minitaur": {"max_episode_steps": 2000},
    "minitaur-bullet": {"max_episode_steps": 2000},
}
PAPER_REMOVED = {"ant": ("leg_*", "torso.orientation")}
"""The paper's "leg k (R³)" are the orientation and the joints in threes, so its filter drops both."""


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
    envs: int
    keep: Literal["last", "best-episode"]
    """Which weights a member keeps: the last, or those of the best single deterministic episode."""
    task_options: dict[str, Any] = field(default_factory=dict)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    dir: DirConfig = field(default_factory=DirConfig)
    smerl: SmerlConfig = field(default_factory=SmerlConfig)
    dvd: DvdConfig = field(default_factory=DvdConfig)

    @property
    def iterations(self) -> int:
        """Rollouts per member: its steps, rounded up."""
        return -(-self.steps // self.ppo.rollout_steps)

    def to_json(self) -> dict[str, Any]:
        """The configuration as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunConfig:
        """The configuration that to_json() described; sections missing in an older run get defaults."""
        try:
            parts = {
                name: _built(kind, data[name])
                for name, kind in SECTIONS.items()
                if name in data or name not in LATER_SECTIONS
            }
            return _built(cls, {**data, **parts})
        except (AttributeError, KeyError, TypeError) as error:
            raise UserError(f"The run's configuration cannot be read: {error}.") from error


SECTIONS: dict[str, type] = {"ppo": PPOConfig, "dir": DirConfig, "smerl": SmerlConfig, "dvd": DvdConfig}
"""The parts of a RunConfig that are records of their own; a setting's name begins with its section's."""
LATER_SECTIONS = ("smerl", "dvd")
"""Sections that the first runs were made without."""


def resolve(config: TrainConfig) -> RunConfig:
    """Fill in what the user left open, check everything at once."""
    config = _plain(config)
    problems = _problems(config)
    paper = config.preset == "paper"
    members = _members(config)
    remove = config.remove
    if remove is None and paper:
        remove = PAPER_REMOVED.get(config.task)
    run = RunConfig(
        task=config.task,
        method=config.method,
        members=1 if config.method == "pg" else members,
        steps=config.steps,
        seed=config.seed,
        preset=config.preset,
        remove=None if remove is None else tuple(remove),
        alpha=_alpha(config),
        envs=config.envs or (20 if paper else 64),
        keep="best-episode" if paper else "last",
        task_options=PAPER_TASK_OPTIONS.get(config.task, {}) if paper else {},
        ppo=PPOConfig(**(PAPER_PPO if paper else ROBUST_PPO.get(config.task, {}))),
        dir=DirConfig(**(PAPER_DIR if paper else {})),
        smerl=SmerlConfig(TARGET_RETURN.get(config.task), **(PAPER_SMERL if paper else {})),
        dvd=DvdConfig(**(PAPER_DVD if paper else {})),
    )
    for text in config.overrides:
        run, problem = _overridden(run, text)
        problems += [problem] if problem else []
    for section in SECTIONS:
        problems += getattr(run, section).problems()
    if run.method == "smerl" and run.smerl.target_return is None:
        problems.append(
            f"smerl does not know what an able {run.task} earns; set smerl.target_return to a number or to "
            "the folder of a run of pg."
        )
    if run.ppo.rollout_steps > 0:
        problems += _size_problems(run)
        if run.method == "pg":  # the same whole rollouts as so many members together
            run = dataclasses.replace(run, steps=members * run.iterations * run.ppo.rollout_steps)
        named = {text.partition("=")[0].strip() for text in config.overrides}
        if not paper and "ppo.anneal_iterations" not in named:
            run = dataclasses.replace(run, ppo=dataclasses.replace(run.ppo, anneal_iterations=run.iterations))
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    return run


def _plain(config: TrainConfig) -> TrainConfig:
    """NumPy's whole numbers as Python's, and a single text where several may stand as a list of one."""
    found: dict[str, Any] = {}
    problems = []
    for name in ("members", "steps", "seed", "envs", "threads"):
        value = getattr(config, name)
        if is_whole(value):
            found[name] = int(value)
        elif value is not None:
            problems.append(f"{name} must be a whole number, got {value!r}.")
    for name in ("remove", "overrides"):
        if (value := getattr(config, name)) is not None:
            found[name] = (value,) if isinstance(value, str) else tuple(value)
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    return dataclasses.replace(config, **found)


def _members(config: TrainConfig) -> int:
    """How many members are asked for; of pg, whose steps its one policy gets."""
    if config.members is not None:
        return config.members
    return 1 if config.method == "pg" else MEMBERS


def _alpha(config: TrainConfig) -> float:
    if config.alpha is not None:
        return config.alpha
    of_method = {
        "dir": ALPHA.get(config.task, OTHER_ALPHA),
        "smerl": SMERL_ALPHA,
        "dvd": DVD_ALPHA.get(config.task, OTHER_DVD_ALPHA),
    }
    return of_method.get(config.method, 0.0)


def _size_problems(run: RunConfig) -> list[str]:
    """Numbers that are possible alone but not together."""
    steps, found = run.ppo.rollout_steps, []
    if run.envs > 0 and steps % run.envs:
        found.append(f"ppo.rollout_steps {steps} is not a multiple of envs {run.envs}.")
    for name, part, samples in (("dir", run.dir, steps), ("smerl", run.smerl, steps * run.members)):
        if run.method == name and part.minibatch_size > part.epochs * samples:
            found.append(
                f"{name}.minibatch_size {part.minibatch_size} exceeds {name}.epochs × {samples} samples."
            )
    return found


def _problems(config: TrainConfig) -> list[str]:
    found = seed_problems(config.seed)
    for name in ("steps", "members", "envs", "threads"):
        value = getattr(config, name)
        if value is not None and value < 1:
            found.append(f"{name} must be at least 1, got {value}.")
    for kind, name, known in (("method", config.method, METHODS), ("preset", config.preset, PRESETS)):
        if name not in known:
            found.append(f"Unknown {kind}: {name!r}. {did_you_mean(name, known)}")
    if config.alpha is not None and not 0 <= config.alpha < float("inf"):
        found.append(f"alpha must be a finite number, at least 0, got {config.alpha}.")
    if config.alpha is not None and config.method in WITHOUT_BONUS:
        found.append(f"alpha is the factor of a bonus that {config.method} does not have.")
    found += [
        f"{text} is for {text.partition('.')[0]}; the method is {config.method}."
        for text in config.overrides
        if is_foreign(text, config.method)
    ]
    if config.method in COMPARING and config.members == 1:
        found.append(f"{config.method} makes members differ from each other and needs at least 2, got 1.")
    return found


def _overridden(run: RunConfig, text: str) -> tuple[RunConfig, str]:
    """One `section.field=value` applied, or what is wrong with it; `task` holds the robot's own options."""
    path, equals, value = text.partition("=")
    section, _, name = path.strip().partition(".")
    if section == "task" and name.isidentifier() and equals:
        return _with_task_option(run, name, value.strip())
    fields = {
        f"{part}.{one.name}": one for part in SECTIONS for one in dataclasses.fields(getattr(run, part))
    }
    fields["keep"] = next(one for one in dataclasses.fields(RunConfig) if one.name == "keep")
    if not equals or path.strip() not in fields:
        return run, f"Unknown setting: {text!r}. {did_you_mean(path, fields)}"
    owner = run if not name else getattr(run, section)
    kind = typing.get_type_hints(type(owner))[name or section]
    try:
        read = _value(kind, value.strip())
    except ValueError:
        return run, f"{path.strip()} cannot be {value.strip()!r}; it is a {_kind_name(kind)}."
    if not name:
        return dataclasses.replace(run, **{section: read}), ""
    return dataclasses.replace(run, **{section: dataclasses.replace(owner, **{name: read})}), ""


def _with_task_option(run: RunConfig, name: str, text: str) -> tuple[RunConfig, str]:
    """The task itself knows which options it has; it is asked before anything starts."""
    try:
        read = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return run, f"task.{name} cannot be {text!r}; give a number, true, false or a quoted text."
    return dataclasses.replace(run, task_options={**run.task_options, name: read}), ""


def setting_text(value: Any) -> str:
    """A setting's value as --set takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def is_foreign(setting: str, method: str) -> bool:
    """Whether a setting belongs to another method."""
    return setting.partition(".")[0] in {*METHODS} - {method}


def _value(kind: Any, text: str) -> Any:
    if isinstance(kind, types.UnionType):
        return _first_that_reads(typing.get_args(kind), text)
    if typing.get_origin(kind) is Literal:
        if text not in typing.get_args(kind):
            raise ValueError(text)
        return text
    if typing.get_origin(kind) is tuple:
        words = [one for one in text.strip("()").split(",") if one.strip()]
        kinds = typing.get_args(kind)
        if Ellipsis not in kinds and len(words) != len(kinds):
            raise ValueError(text)
        return tuple(_value(kinds[0], one.strip()) for one in words)
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    return int(text.replace("_", "")) if kind is int else kind(text)


def _first_that_reads(kinds: tuple[Any, ...], text: str) -> Any:
    """A number where the text is one, otherwise the text itself."""
    for kind in kinds:
        with contextlib.suppress(ValueError):
            return _value(kind, text)
    raise ValueError(text)


def _kind_name(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return " or ".join(map(repr, typing.get_args(kind)))
    return str(kind) if isinstance(kind, types.GenericAlias) else getattr(kind, "__name__", str(kind))


def _built(kind: Any, data: dict[str, Any]) -> Any:
    """A dataclass from JSON, which has lists where the class has tuples."""
    hints = typing.get_type_hints(kind)
    values = {}
    for name, value in data.items():
        if name not in hints:
            raise KeyError(name)
        values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)
