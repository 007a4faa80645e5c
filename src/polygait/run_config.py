"""Every choice behind a run: what a user asked for, filled in from preset, robot, learner and method."""

from __future__ import annotations

import contextlib
import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from polygait.config import TrainConfig, checked_kinds, count_problems, seed_problems, with_whole_numbers
from polygait.config.settings import from_plain_record, with_setting
from polygait.counts import LARGEST, read_count
from polygait.diversity.method import Method
from polygait.diversity.registry import METHODS
from polygait.errors import UserError, did_you_mean
from polygait.learning.learner import Learner
from polygait.learning.registry import LEARNERS
from polygait.tasks.defaults import PRESETS, TaskDefaults
from polygait.tasks.gym_layout import given_layout
from polygait.tasks.registry import GYM_PREFIX, task_defaults, task_name

MEMBERS = 10
"""The paper's population."""


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
    learner: Any
    """The settings of the learner, a record such as PPOConfig that knows its learner's name."""
    method_config: Any
    """The settings of the method."""
    task_options: dict[str, Any] = field(default_factory=dict)

    @property
    def iterations(self) -> int:
        """Rollouts per member: its steps, rounded up."""
        return -(-self.steps // self.learner.steps_per_iteration)

    @property
    def steps_per_member(self) -> int:
        """The steps of whole rollouts."""
        return self.iterations * self.learner.steps_per_iteration

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
        """The configuration as plain data; the learner's settings are tagged with its name."""
        plain = dataclasses.asdict(self)
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


def resolve(config: TrainConfig) -> RunConfig:
    """Fill in what the user left open, check everything at once."""
    config = checked_kinds(_plain(dataclasses.replace(config, task=task_name(config.task))))
    problems = _problems(config)
    if unknown := _unknown_names(config):  # whose settings nobody knows either
        raise UserError("\n".join(problems + unknown), "Nothing was started.")
    problems += _problems_of_method(config)
    method, learner = METHODS.find(config.method), LEARNERS.find(config.learner)
    robot, preset = task_defaults(config.task), config.preset
    members = config.members if config.members is not None else 1 if method.single else MEMBERS
    run = RunConfig(
        task=config.task,
        method=config.method,
        members=1 if method.single else members,
        steps=config.steps,
        seed=config.seed,
        preset=preset,
        remove=robot.removed.get(preset) if config.remove is None else tuple(config.remove),
        alpha=_alpha(config, method, robot),
        envs=config.envs or learner.envs[preset],
        keep="best-episode" if preset == "paper" else "last",
        learner=learner.Config(**learner.presets.get(preset, {})),
        method_config=method.Config(**method.presets.get(preset, {})),
    )
    run = _with_defaults(run, robot.settings.get(preset, {}))
    if config.layout is not None:
        run = dataclasses.replace(run, task_options={**run.task_options, "layout": list(config.layout)})
    for text in config.overrides:
        problem = _foreign(text, config)
        if not problem:
            run, problem = _overridden(run, text)
        problems += [problem] if problem else []
    for section in run.sections.values():
        problems += section.problems()
    if not problems:
        problems += _problems_together(run, method, learner)
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    if method.single:  # the same whole rollouts as so many members together
        run = dataclasses.replace(run, steps=members * run.steps_per_member)
    return dataclasses.replace(run, learner=run.learner.for_run(run.iterations))


def is_foreign(setting: str, method: str, learner: str = TrainConfig.learner) -> bool:
    """Whether a setting belongs to another method or another learner."""
    section = setting.partition(".")[0]
    return section not in (method, learner) and section in (*METHODS.names(), *LEARNERS.names())


def _plain(config: TrainConfig) -> TrainConfig:
    """Counts as Python's whole numbers, and a single text where several may stand as a list of one."""
    found: dict[str, Any] = {}
    for name in ("remove", "overrides"):
        if (value := getattr(config, name)) is not None:
            several = (value,) if isinstance(value, str) else value
            found[name] = tuple(several) if isinstance(several, Iterable) else several
    if config.layout is not None:  # a file may be another one tomorrow
        found["layout"] = given_layout(config.layout).names
    return dataclasses.replace(with_whole_numbers(config), **found)


def _problems(config: TrainConfig) -> list[str]:
    """What is wrong with a user's numbers, each by itself."""
    found = seed_problems(config.seed)
    found += count_problems(config, {"steps": 1}, most=LARGEST)
    found += count_problems(config, {"members": 1, "envs": 1, "threads": 1})
    if config.layout is not None and not config.task.startswith(GYM_PREFIX):
        found.append(f"`layout` names what a gym:ENV-ID shows; {config.task} has names of its own.")
    if config.alpha is not None and not 0 <= config.alpha < float("inf"):
        found.append(f"`alpha` must be a finite number, at least 0, got {config.alpha}.")
    return found


def _unknown_names(config: TrainConfig) -> list[str]:
    """What to say of names that do not exist."""
    named = (
        ("method", config.method, METHODS.names()),
        ("learner", config.learner, LEARNERS.names()),
        ("preset", config.preset, PRESETS),
    )
    return [
        f"Unknown {kind}: {name!r}. {did_you_mean(name, known)}"
        for kind, name, known in named
        if name not in known
    ]


def _problems_of_method(config: TrainConfig) -> list[str]:
    """Choices that the method does not go with."""
    method, found = METHODS.find(config.method), []
    if config.alpha is not None and not method.has_bonus:
        found.append(f"`alpha` is the factor of a bonus that {config.method} does not have: leave it out.")
    if method.needs_peers and config.members == 1:
        found.append(f"{config.method} makes members differ from each other and needs at least 2, got 1.")
    return found


def _foreign(text: str, config: TrainConfig) -> str:
    """What to say of a setting that belongs to another method or learner; nothing of one's own."""
    if not is_foreign(text, config.method, config.learner):
        return ""
    section = text.partition(".")[0]
    kind, own = ("method", config.method) if section in METHODS.names() else ("learner", config.learner)
    return f"{text} is for {section}; the {kind} is {own}."


def _problems_together(run: RunConfig, method: type[Method], learner: type[Learner]) -> list[str]:
    """Choices that are possible alone but not together."""
    steps, found = run.learner.steps_per_iteration, []
    if steps % run.envs:
        more = steps + -steps % run.envs
        found.append(
            f"`envs` {run.envs} cannot share the {steps} steps of {learner.name} between two updates evenly; "
            f"{more} steps could be shared."
        )
    if learner.off_policy and method.has_bonus and not method.is_stationary(run.method_config):
        found.append(
            f"{learner.name} learns again and again from remembered rewards, but the bonus of {run.method} "
            "with these settings changes while members train; choose another learner, or multi."
        )
    return found + method.problems(run.method_config, run.members, steps)


def _alpha(config: TrainConfig, method: type[Method], robot: TaskDefaults) -> float:
    if config.alpha is not None:
        return config.alpha
    return robot.alpha.get(config.method, method.default_alpha) if method.has_bonus else 0.0


def _with_defaults(run: RunConfig, settings: Mapping[str, Any]) -> RunConfig:
    """A robot's own values; those for other methods and learners are passed over."""
    for path, value in settings.items():
        section, _, name = path.partition(".")
        if section == "task":
            run = dataclasses.replace(run, task_options={**run.task_options, name: value})
        elif section in run.sections:
            run = run.with_section(section, dataclasses.replace(run.sections[section], **{name: value}))
    return run


def _overridden(run: RunConfig, text: str) -> tuple[RunConfig, str]:
    """One `section.field=value` applied, or what is wrong with it; `task` holds the robot's own options."""
    path, equals, value = (part.strip() for part in text.partition("="))
    section, _, name = path.partition(".")
    if section == "task" and name.isidentifier() and equals:
        return _with_task_option(run, name, value)
    known = [
        f"{part}.{one.name}" for part, record in run.sections.items() for one in dataclasses.fields(record)
    ]
    if not equals or path not in (*known, "keep"):
        return run, f"Unknown setting: {text!r}. {did_you_mean(path, (*known, 'keep'))}"
    try:
        if path == "keep":
            return with_setting(run, "keep", value), ""
        return run.with_section(section, with_setting(run.sections[section], name, value)), ""
    except ValueError as error:
        return run, f"{path} must be {error}, got {value!r}."


def _with_task_option(run: RunConfig, name: str, text: str) -> tuple[RunConfig, str]:
    """The task itself knows which options it has; it is asked before anything starts."""
    for read in (_toml_value, read_count) if "." in text else (read_count, _toml_value):  # 1e3 is 1000
        with contextlib.suppress(ValueError):
            return dataclasses.replace(run, task_options={**run.task_options, name: read(text)}), ""
    return run, f"task.{name} must be a number, true, false or a quoted text, got {text!r}."


def _toml_value(text: str) -> Any:
    return tomllib.loads(f"value = {text}")["value"]
