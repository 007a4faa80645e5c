"""From what a user asked for to every choice: filled in from preset, robot, learner and method; checked."""

from __future__ import annotations

import contextlib
import dataclasses
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polygait.config import (
    FinetuneConfig,
    TrainConfig,
    checked_kinds,
    count_problems,
    seed_problems,
    specialist_choices,
    specialist_problems,
    with_whole_numbers,
)
from polygait.config.settings import with_setting
from polygait.counts import LARGEST, read_count
from polygait.diversity.method import Method
from polygait.diversity.registry import METHODS
from polygait.errors import UserError, did_you_mean
from polygait.learning.learner import Learner
from polygait.learning.registry import LEARNERS
from polygait.run_config import RunConfig
from polygait.tasks.defaults import PRESETS, TaskDefaults
from polygait.tasks.gym_layout import given_layout
from polygait.tasks.registry import GYM_PREFIX, task_defaults, task_name

_OWN = ("keep", "fade", "guard")
"""Settings of a run that belong to no section."""
MEMBERS = 10
"""The paper's population."""


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
    diversity = _diversity(config, method, learner)
    relative = {} if diversity is None else method.relative.get(preset, {})
    run = RunConfig(
        task=config.task,
        method=config.method,
        members=1 if method.single else members,
        steps=config.steps,
        seed=config.seed,
        preset=preset,
        remove=robot.removed.get(preset) if config.remove is None else tuple(config.remove),
        alpha=_alpha(config, method, robot),
        diversity=diversity,
        envs=config.envs or learner.envs[preset],
        keep="best-episode" if preset == "paper" else "validated",
        learner=_learner_settings(learner, method, preset),
        method_config=method.Config(**{**method.presets.get(preset, {}), **relative}),
        worlds="" if config.worlds is None else config.worlds.strip(),
        curriculum=config.curriculum or 0.0,
        **specialist_choices(config),
    )
    run = _with_defaults(run, robot.settings.get(preset, {}))
    if config.layout is not None:
        run = dataclasses.replace(run, task_options={**run.task_options, "layout": list(config.layout)})
    run = _with_overrides(run, config.overrides, problems)
    if method.single:  # the same whole rollouts as so many members together
        run = dataclasses.replace(run, steps=members * run.steps_per_member)
    return dataclasses.replace(run, learner=run.learner.for_run(run.iterations))


def resolve_specialist(origin: RunConfig, variation: str) -> RunConfig:
    """The choices of one of a run's specialists."""
    run = _going_on(origin, origin.specialist_steps, variation)
    return dataclasses.replace(run, learner=run.learner.for_run(run.iterations))


def resolve_finetuning(origin: RunConfig, config: FinetuneConfig, variation: str | None) -> RunConfig:
    """The choices of a run that goes on from one member of another."""
    learner, run = origin.learner_class, _going_on(origin, config.steps, variation)
    run = dataclasses.replace(run, members=1, specialists=0, against="", specialist_steps=0, seed=config.seed)
    problems = seed_problems(config.seed)
    problems += count_problems(config, {"steps": 1}, most=LARGEST) + count_problems(config, {"threads": 1})
    run = _with_overrides(run, config.overrides, problems)
    if run.learner.network_widths((1, 1)) != origin.learner.network_widths((1, 1)):
        raise UserError(
            "A member keeps the layers of its networks when it goes on.",
            f"Leave {learner.name}.policy_hidden and {learner.name}.critic_hidden out. Nothing was started.",
        )
    return dataclasses.replace(run, learner=run.learner.for_run(run.iterations))


def _going_on(origin: RunConfig, steps: int, variation: str | None) -> RunConfig:
    """A run's choices for a member that goes on from another: its own, but for these.

    No bonus: the member should become able, not different.
    """
    method = METHODS.find("multi")
    return dataclasses.replace(
        origin,
        method=method.name,
        method_config=method.Config(),
        alpha=0.0,
        diversity=None,
        fade=0.0,
        guard=0.0,
        worlds="",  # nor any world but the changed one
        curriculum=0.0,
        steps=steps,
        learner=origin.learner_class.to_go_on(origin.learner),
        variation=variation,
    )


def _with_overrides(run: RunConfig, overrides: Iterable[str], problems: list[str]) -> RunConfig:
    """The run with a user's settings, or one error for these and all earlier problems."""
    for text in overrides:
        problem = _foreign(text, run)
        if not problem:
            run, problem = _overridden(run, text)
        problems += [problem] if problem else []
    for section in run.sections.values():
        problems += section.problems()
    if not problems:
        problems += _problems_together(run)
    if problems:
        raise UserError("\n".join(problems), "Nothing was started.")
    return run


def is_foreign(setting: str, method: str, learner: str = TrainConfig.learner) -> bool:
    """Whether a setting belongs to another method or another learner."""
    section = setting.partition(".")[0]
    return section not in (method, learner) and section in (*METHODS.names(), *LEARNERS.names())


def _plain(config: TrainConfig) -> TrainConfig:
    """Counts as Python's whole numbers, and a single text where several may stand as a list of one."""
    found: dict[str, Any] = {}
    for name in ("remove", "overrides"):
        value = getattr(config, name)
        if isinstance(value, Iterable):
            found[name] = (value,) if isinstance(value, str) else tuple(value)
    if config.layout is not None:  # a file may be another one tomorrow
        found["layout"] = given_layout(config.layout).names
    return dataclasses.replace(with_whole_numbers(config), **found)


def _problems(config: TrainConfig) -> list[str]:
    """What is wrong with a user's numbers, each by itself."""
    found = seed_problems(config.seed) + specialist_problems(config)
    found += count_problems(config, {"steps": 1, "specialist_steps": 1}, most=LARGEST)
    found += count_problems(config, {"members": 1, "envs": 1, "threads": 1, "specialists": 0})
    if config.layout is not None and not config.task.startswith(GYM_PREFIX):
        found.append(f"`layout` names what a gym:ENV-ID shows; {config.task} has names of its own.")
    for name in ("alpha", "diversity"):
        value = getattr(config, name)
        if value is not None and not 0 <= value < float("inf"):
            found.append(f"`{name}` must be a finite number, at least 0, got {value}.")
    if config.alpha is not None and config.diversity is not None:
        found.append("`alpha` and `diversity` both say how strong the bonus is: give one of them.")
    if config.worlds is not None and not config.worlds.strip():
        found.append(f'`worlds` must be a text such as "nominal*4, broken(any(*))", got {config.worlds!r}.')
    if config.curriculum is not None and not 0 <= config.curriculum <= 1:
        found.append(f"`curriculum` must be a share of the training from 0 to 1, got {config.curriculum}.")
    if config.curriculum and not config.worlds:
        found.append(f"`curriculum` {config.curriculum} is for training worlds: give `worlds` as well.")
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
    if not method.has_bonus:
        given = [name for name in ("alpha", "diversity") if getattr(config, name) is not None]
        found += [
            f"`{name}` is the strength of a bonus that {config.method} does not have: leave it out."
            for name in given
        ]
    if config.specialists and method.single:
        found.append(
            f"{config.method} trains one policy; specialists go on from the members of multi or dir."
        )
    elif config.specialists and config.specialists >= (config.members or MEMBERS):
        found.append(
            f"`specialists` {config.specialists} are some of the `members` {config.members or MEMBERS}: at "
            "least one must learn from the beginning."
        )
    if method.needs_peers and config.members is not None and config.members - (config.specialists or 0) == 1:
        found.append(f"{config.method} makes members differ from each other and needs at least 2, got 1.")
    return found


def _foreign(text: str, run: RunConfig) -> str:
    """What to say of a setting that belongs to another method or learner; nothing of one's own."""
    if not is_foreign(text, run.method, run.learner.name):
        return ""
    section = text.partition(".")[0]
    kind, own = ("method", run.method) if section in METHODS.names() else ("learner", run.learner.name)
    return f"{text} is for {section}; the {kind} is {own}."


def _problems_together(run: RunConfig) -> list[str]:
    """Choices that are possible alone but not together."""
    method, learner = run.method_class, run.learner_class
    steps, found = run.learner.steps_per_iteration, []
    if episodes := run.episodes_per_iteration:
        found += _problems_of_whole_episodes(run, episodes)
    elif steps % run.envs:
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
    if learner.off_policy and run.diversity is not None:
        found.append(
            f"{learner.name} learns again and again from remembered rewards, but `diversity` measures the "
            "bonus anew in every rollout; give `alpha` instead."
        )
    if not 0 <= run.fade <= 1:
        found.append(f"fade must lie in [0, 1], got {run.fade}.")
    if not 0 <= run.guard <= 1:
        found.append(f"guard must lie in [0, 1], got {run.guard}.")
    if run.guard and (run.simultaneous or not method.has_bonus):
        found.append(
            f"guard holds the bonus of later members to the first one's pace; {run.method} has none such."
        )
    return found + method.problems(run.method_config, run.members, steps)


def _problems_of_whole_episodes(run: RunConfig, episodes: int) -> list[str]:
    """Choices that do not go with rollouts of whole episodes."""
    name, found = f"{run.learner.name}.episodes_per_iteration", []
    if run.envs > episodes:
        found.append(f"`envs` {run.envs} are more than {name} {episodes}; some would never act.")
    if run.method_class.needs_peers:
        found.append(
            f"{name} {episodes} gives every member a rollout of its own size, but {run.method} compares "
            "members step by step; leave it at 0."
        )
    return found


def _alpha(config: TrainConfig, method: type[Method], robot: TaskDefaults) -> float:
    if config.alpha is not None:
        return config.alpha
    return robot.alpha.get(config.method, method.default_alpha) if method.has_bonus else 0.0


def _diversity(config: TrainConfig, method: type[Method], learner: type[Learner]) -> float | None:
    """Strength without units, unless a user or a learner needs a fixed factor."""
    if config.diversity is not None or config.alpha is not None:
        return config.diversity
    return None if learner.off_policy else method.default_diversity.get(config.preset)


def _learner_settings(learner: type[Learner], method: type[Method], preset: str) -> Any:
    """A preset's; members that are compared while they train need rollouts of one size for all."""
    values = dict(learner.presets.get(preset, {}))
    if method.needs_peers:
        values.pop("episodes_per_iteration", None)
    return learner.Config(**values)


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
    if not equals or path not in (*known, *_OWN):
        return run, f"Unknown setting: {text!r}. {did_you_mean(path, (*known, *_OWN))}"
    try:
        if path in _OWN:
            return with_setting(run, path, value), ""
        return run.with_section(section, with_setting(run.sections[section], name, value)), ""
    except ValueError as error:
        return run, f"{path} must be {error}, got {value!r}."


def _with_task_option(run: RunConfig, name: str, text: str) -> tuple[RunConfig, str]:
    """The task itself knows which options it has; it is asked before anything starts."""
    try:
        value = _task_value(name, text)
    except UserError as error:
        return run, error.problem
    return dataclasses.replace(run, task_options={**run.task_options, name: value}), ""


def task_options(settings: Sequence[str]) -> dict[str, Any]:
    """The robot's own options among settings such as task.forward='y', which must all be such."""
    options = {}
    for text in settings:
        path, equals, value = (part.strip() for part in text.partition("="))
        section, _, name = path.partition(".")
        if section != "task" or not name.isidentifier() or not equals:
            raise UserError(f"Not an option of a robot: {text!r}.", "Write for example task.speed=1.0.")
        options[name] = _task_value(name, value)
    return options


def _task_value(name: str, text: str) -> Any:
    for read in (_toml_value, read_count) if "." in text else (read_count, _toml_value):  # 1e3 is 1000
        with contextlib.suppress(ValueError):
            return read(text)
    raise UserError(f"task.{name} must be a number, true, false or a quoted text, got {text!r}.")


def _toml_value(text: str) -> Any:
    return tomllib.loads(f"value = {text}")["value"]
