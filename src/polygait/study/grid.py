"""A study's file: methods × tasks × seeds, how to train, what to measure; jobs named by content."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polygait.config import TrainConfig, seed_problems
from polygait.counts import count_in
from polygait.diversity.registry import METHODS
from polygait.errors import UserError, did_you_mean
from polygait.population.results import file_name
from polygait.run_config import RunConfig, is_foreign, resolve
from polygait.storage.strict_json import canonical, to_plain
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.gym_layout import read_layout
from polygait.tasks.registry import is_outside, name_task, remake_task

FORMAT = 1
"""Of jobs; a job of another format is another job."""
_TRAINING: dict[str, tuple[str, Any]] = {
    "members": ("a whole number", int),
    "steps": ("a whole number", int),
    "preset": ("text", str),
    "remove": ("a list of texts", list),
    "alpha": ("a number", float),
    "envs": ("a whole number", int),
    "layout": ("the path of a TOML file", str),
    "settings": ("a list of texts", list),
}
"""What may stand at the top, under [task.NAME], under [method.NAME] and under [task.NAME.method.NAME]."""
_MEASURES: dict[str, tuple[str, Any]] = {
    "suites": ("a list of texts", list),
    "episodes": ("a whole number", int),
    "held_out": ("a whole number", int),
    "seed": ("a whole number", int),
    "diversity_states": ("a whole number", int),
    "contact_episodes": ("a whole number", int),
}


@dataclass(frozen=True)
class Measures:
    """What to measure of every population."""

    suites: tuple[str, ...] = ("paper",)
    """Of `polygait evaluate`; a path that ends in .toml, from the study's file, is read with it."""
    episodes: int = 20
    """Per member and condition; they also choose the member."""
    held_out: int = 20
    """Fresh episodes of the chosen member in every condition; 0 for none."""
    seed: int = 0
    """All starts follow from it."""
    diversity_states: int = 2000
    """States of random actions on which members' actions are compared; 0 for no diversity score."""
    contact_episodes: int = 20
    """Episodes per member in which feet are watched; 0 for none."""
    suite_texts: dict[str, str] = field(default_factory=dict)
    """What the suites' files say, by their paths: jobs may run where the files are not."""

    @property
    def address(self) -> str:
        """A name for these measurements; different ones never mix."""
        return _digest({"format": FORMAT, "measures": dataclasses.asdict(self)})


@dataclass(frozen=True)
class StudyJob:
    """One population to train and to measure."""

    config: TrainConfig
    run: RunConfig
    """The same with every choice filled in."""
    measures: Measures

    @property
    def name(self) -> str:
        """Names the training by its content: whatever changes its result changes its name."""
        words = file_name(f"{self.run.task}-{self.run.method}-{self.run.seed}")
        content = {"format": FORMAT, "run": self.run.to_json()}
        if is_outside(self.run.task):  # whose code may change while its name stays
            content["robot"] = _robot(self.run.task, json.dumps(self.run.task_options))
        return f"{words}-{_digest(content)}"

    @property
    def training_steps(self) -> int:
        """Of all members."""
        return self.run.members * self.run.steps_per_member

    def to_json(self) -> dict[str, Any]:
        """The job as plain data."""
        return {
            "format": FORMAT,
            "name": self.name,
            "config": dataclasses.asdict(self.config),
            "measures": dataclasses.asdict(self.measures),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StudyJob:
        """The job that to_json() described, by a polygait that would train the same."""
        try:
            config = TrainConfig(**_tuples(data["config"]))
            job = cls(config, resolve(config), Measures(**_tuples(data["measures"])))
            name = data["name"]
        except (KeyError, TypeError) as error:
            raise UserError(f"This is not a job of a study: {error}.") from error
        if job.name != name:
            raise UserError(
                f"This polygait would train something else than {name}.",
                "Install the same version of polygait wherever jobs run.",
            )
        return job


@dataclass(frozen=True)
class Study:
    """What a study's file asks for."""

    name: str
    file: str
    """Where it was read."""
    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    training: dict[str, Any]
    """Choices for all jobs; a task's, then a method's, then those of both together replace them."""
    task_training: dict[str, dict[str, Any]]
    method_training: dict[str, dict[str, Any]]
    measures: Measures
    task_method_training: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By task, then by method."""

    def jobs(self) -> list[StudyJob]:
        """Every job, seed by seed, so that a study that is stopped has compared all methods alike."""
        made, problems = [], []
        for seed in self.seeds:
            for task in self.tasks:
                for method in self.methods:
                    try:
                        made.append(self._job(task, method, seed))
                    except UserError as error:
                        problems += [f"{task}, {method}: {line}" for line in error.problem.splitlines()]
        if problems:
            raise UserError("\n".join(dict.fromkeys(problems)), "Nothing was started.")
        return made

    def _job(self, task: str, method: str, seed: int) -> StudyJob:
        shared = (self.training, self.task_training.get(task, {}))
        both = self.task_method_training.get(task, {}).get(method, {})
        of_method = (self.method_training.get(method, {}), both)
        asked = _merged(of_method)
        own = {**_merged(shared), **asked}
        if not _has_bonus(method) and "alpha" not in asked:
            own.pop("alpha", None)  # it is for the others
        own.pop("settings", None)
        if "layout" in own:  # jobs may run where the file is not
            own["layout"] = read_layout(Path(self.file).parent / own["layout"]).names
        own["overrides"] = (
            *(text for text in _settings(shared) if not is_foreign(text, method)),
            *_settings(of_method),
        )
        if method in METHODS.names() and METHODS.find(method).single:
            # One policy; its own `members` say for how many members' steps.
            own["members"] = asked.get("members", 1)
        config = TrainConfig(task=name_task(task), method=method, seed=seed, **own)
        return StudyJob(config, resolve(config), self.measures)


@functools.lru_cache(maxsize=64)
def _robot(task: str, options: str) -> str:
    """The fingerprint of somebody's robot."""
    return fingerprint_of(remake_task(task, **json.loads(options))).digest


def read_study(path: str | Path) -> Study:
    """A study from its TOML file, with everything wrong in it told at once."""
    path = Path(path)
    table = _counted(_read(path))
    problems = [f"{name} is missing." for name in ("methods", "tasks", "seeds") if name not in table]
    problems += _unknown(table, ("methods", "tasks", "seeds", "task", "method", "measure", *_TRAINING), "")
    for name, kind in (("methods", str), ("tasks", str), ("seeds", int)):
        problems += _axis_problems(name, table.get(name, [None]), kind)
    problems += _section_problems({name: table[name] for name in _TRAINING if name in table}, _TRAINING, "")
    problems += _own_problems(table, "task", table.get("tasks"))
    problems += _own_problems(table, "method", table.get("methods"))
    for name, section in _tables(table.get("task")).items():
        problems += _own_problems(_tables(section), "method", table.get("methods"), f"task.{_key(name)}.")
    problems += _alpha_problems(table)
    measure = table.get("measure", {})
    problems += _section_problems(measure, _MEASURES, "measure.")
    problems += _measure_problems(measure)
    if problems:
        raise UserError("\n".join(f"{path}: {problem}" for problem in problems), "Nothing was started.")
    suites = tuple(measure.get("suites", Measures.suites))
    texts = {suite: _suite_text(path.parent / suite) for suite in suites if suite.endswith(".toml")}
    return Study(
        name=path.stem,
        file=str(path),
        methods=tuple(table["methods"]),
        tasks=tuple(table["tasks"]),
        seeds=tuple(table["seeds"]),
        training=_tuples({name: table[name] for name in _TRAINING if name in table}),
        task_training={
            name: {key: value for key, value in section.items() if key != "method"}
            for name, section in _own_choices(table, "task").items()
        },
        method_training=_own_choices(table, "method"),
        measures=Measures(**_tuples(measure), suite_texts=texts),
        task_method_training={
            name: _own_choices(section, "method") for name, section in _tables(table.get("task")).items()
        },
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror}.", "Give a study's TOML file, such as studies/smoke.toml."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}.") from error


def _counted(table: dict[str, Any]) -> dict[str, Any]:
    """The same with counts such as 1e6 and "1M" as whole numbers; what is none is left to be named."""
    own = [section for axis in ("task", "method") for section in _tables(table.get(axis)).values()]
    sections = [(one, _TRAINING) for one in (table, *own)] + [(table.get("measure"), _MEASURES)]
    for section, known in sections:
        for name, value in _tables(section).items():
            if name in known and known[name][1] is int:
                with contextlib.suppress(ValueError):
                    section[name] = count_in(value)
    return table


def _suite_text(path: Path) -> str:
    from polygait.suites import listed_conditions, read_suite

    text = read_suite(path)
    listed_conditions(path, text)  # says what is wrong with the file, if anything is
    return text


def _axis_problems(name: str, values: Any, kind: type) -> list[str]:
    word = "texts" if kind is str else "whole numbers"
    if not isinstance(values, list) or not values or not all(type(one) is kind for one in values):
        return [] if values == [None] else [f"{name} must be a list of {word}, got {values!r}."]
    repeated = sorted({one for one in values if values.count(one) > 1})
    return [f"{name} names {repeated[0]!r} more than once."] if repeated else []


def _own_problems(table: Mapping[str, Any], axis: str, names: Any, prefix: str = "") -> list[str]:
    """What is wrong with the sections of single tasks or methods; a task's may hold methods' in turn."""
    problems = _table_problems(table.get(axis, {}), f"{prefix}{axis}")
    for name, section in _tables(table.get(axis)).items():
        where = f"{prefix}{axis}.{_key(name)}"
        if isinstance(names, list) and name not in names:
            problems.append(f"[{where}] is for a {axis} that the study does not have.")
        inner = ("method",) if axis == "task" else ()
        problems += _section_problems(section, _TRAINING, f"{where}.", inner)
    return problems


def _alpha_problems(table: Mapping[str, Any]) -> list[str]:
    """An alpha that more than one method would take.

    Every method's bonus has a size of its own (DiR's alpha is 0.05 where SMERL's is 10), so a number meant
    for one would silently spoil the others.
    """
    problems = []
    for task in _texts(table.get("tasks")):
        own = _tables(_tables(table.get("task")).get(task))
        nearer = (_tables(table.get("method")), _tables(own.get("method")))
        takers = [
            method
            for method in _texts(table.get("methods"))
            if _has_bonus(method) and not any("alpha" in _tables(one.get(method)) for one in nearer)
        ]
        prefix = f"task.{_key(task)}." if "alpha" in own else ""
        if len(takers) > 1 and ("alpha" in own or "alpha" in table):
            problems.append(
                f"{prefix}alpha would be that of {' and '.join(takers)} alike, whose bonuses differ in size; "
                f"write it under [{prefix}method.{takers[0]}], and so for every method that shall have it."
            )
    return list(dict.fromkeys(problems))


def _has_bonus(method: str) -> bool:
    """Whether a method pays for difference; one that nobody knows is told later."""
    return method not in METHODS.names() or METHODS.find(method).has_bonus


def _table_problems(value: Any, name: str) -> list[str]:
    return [] if isinstance(value, dict) else [f"{name} must be a table, got {value!r}."]


def _section_problems(
    section: Any, known: Mapping[str, tuple[str, Any]], prefix: str, inner: tuple[str, ...] = ()
) -> list[str]:
    """What is wrong with a section; sections inside it are looked at by themselves."""
    if problems := _table_problems(section, prefix.rstrip(".")):
        return problems
    problems = _unknown(section, (*known, *inner), prefix)
    for name, (word, kind) in known.items():
        if name in section and not _is_a(section[name], kind):
            problems.append(f"{prefix}{name} must be {word}, got {section[name]!r}.")
    return problems


def _measure_problems(measure: Any) -> list[str]:
    least = {"episodes": 1, "held_out": 0, "diversity_states": 0, "contact_episodes": 0}
    table = _tables(measure)
    problems = ["measure.suites must name at least one suite."] if table.get("suites") == [] else []
    if type(seed := table.get("seed", 0)) is int:
        problems += [f"measure.{one}" for one in seed_problems(seed)]
    return problems + [
        f"measure.{name} must be at least {least[name]}, got {value}."
        for name, value in table.items()
        if name in least and type(value) is int and value < least[name]
    ]


def _is_a(value: Any, kind: type) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return type(value) in ((int, float) if kind is float else (kind,))


def _unknown(section: Mapping[str, Any], known: Any, prefix: str) -> list[str]:
    return [
        f"Unknown entry: {prefix}{name}. {did_you_mean(name, known)}" for name in section if name not in known
    ]


def _tables(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _key(name: str) -> str:
    """A name as TOML wants it in a section's heading."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _own_choices(table: Mapping[str, Any], axis: str) -> dict[str, dict[str, Any]]:
    return {name: _tuples(section) for name, section in table.get(axis, {}).items()}


def _merged(sections: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Later sections replace what earlier ones say."""
    return {name: value for section in sections for name, value in section.items()}


def _settings(sections: Iterable[Mapping[str, Any]]) -> list[str]:
    """Settings do not replace each other but add up."""
    return [text for section in sections for text in section.get("settings", ())]


def _tuples(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in section.items()}


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(to_plain(content))).hexdigest()[:12]
