"""A study's file: methods × tasks × seeds, how to train, what to measure; jobs named by content."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polygait.config import TrainConfig
from polygait.diversity.registry import METHODS
from polygait.errors import UserError
from polygait.population.results import file_name
from polygait.resolving import is_foreign, resolve
from polygait.run_config import RunConfig
from polygait.storage.strict_json import canonical, to_plain
from polygait.study.shipped import study_names, study_path
from polygait.study.study_file import (
    TRAINING,
    counted,
    entry_kinds,
    has_bonus,
    method_of,
    study_problems,
    tables,
)
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.gym_layout import read_layout
from polygait.tasks.registry import is_outside, name_task, remake_task

FORMAT = 1
"""Of jobs; a job of another format is another job."""
_STEPS_PER_STATE = 10
"""Of a member's own experience, for each state on which members' actions are compared."""


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
    """States of random actions on which members' actions are compared; 0 for no measure of diversity."""
    contact_episodes: int = 20
    """Episodes per member in which feet are watched; 0 for none."""
    suite_texts: dict[str, str] = field(default_factory=dict)
    """What the suites' files say, by their paths: jobs may run where the files are not."""

    @property
    def variance_steps(self) -> int:
        """Steps of every member, at least, that tell in which parts of the state members differ."""
        return _STEPS_PER_STATE * self.diversity_states

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
    variant: str = ""
    """Tells it from another training with the same method in the same study; changes nothing."""

    @property
    def label(self) -> str:
        """What the study calls its method: "dir", or "dir:worlds"."""
        return f"{self.run.method}:{self.variant}" if self.variant else self.run.method

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
        return self.run.total_steps

    def to_json(self) -> dict[str, Any]:
        """The job as plain data."""
        return {
            "format": FORMAT,
            "name": self.name,
            "config": dataclasses.asdict(self.config),
            "measures": dataclasses.asdict(self.measures),
            **({"variant": self.variant} if self.variant else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StudyJob:
        """The job that to_json() described, by a polygait that would train the same."""
        try:
            config = TrainConfig(**_tuples(data["config"]))
            measures = Measures(**_tuples(data["measures"]))
            job = cls(config, resolve(config), measures, str(data.get("variant", "")))
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
    """By name, or as a variant of one: "dir:worlds"."""
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    training: dict[str, Any]
    """Choices for all jobs; a task's, then a method's, then those of both together replace them. So do seeds,
    and the methods of a task."""
    task_training: dict[str, dict[str, Any]]
    method_training: dict[str, dict[str, Any]]
    measures: Measures
    task_method_training: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By task, then by method."""
    task_measures: dict[str, Measures] = field(default_factory=dict)
    """In place of the others', where a task has its own."""

    @property
    def size(self) -> int:
        """How many jobs it has."""
        return len(self._cells())

    def measures_of(self, task: str) -> Measures:
        """What is measured of a task's populations."""
        return self.task_measures.get(task, self.measures)

    def jobs(self) -> list[StudyJob]:
        """Every job, seed by seed, so that a study that is stopped has compared all methods alike."""
        made, problems = [], []
        for seed, task, label in self._cells():
            try:
                made.append(self._job(task, label, seed))
            except UserError as error:
                problems += [f"{task}, {label}: {line}" for line in error.problem.splitlines()]
        problems += _twins(made)
        if problems:
            raise UserError("\n".join(dict.fromkeys(problems)), "Nothing was started.")
        return made

    def _cells(self) -> list[tuple[int, str, str]]:
        """Seed, task and method of every job."""
        seeds = {
            (task, label): _merged(({"seeds": self.seeds}, *self._sections(task, label)))["seeds"]
            for task in self.tasks
            for label in self.task_training.get(task, {}).get("methods", self.methods)
        }
        order = dict.fromkeys((*self.seeds, *(seed for own in seeds.values() for seed in own)))
        return [(seed, *place) for seed in order for place, own in seeds.items() if seed in own]

    def _sections(self, task: str, label: str) -> tuple[Mapping[str, Any], ...]:
        """What is said for a task, for a method and for both, the nearest last."""
        of_task, both = self.task_training.get(task, {}), self.task_method_training.get(task, {})
        return of_task, self.method_training.get(label, {}), both.get(label, {})

    def _job(self, task: str, label: str, seed: int) -> StudyJob:
        of_task, *of_method = self._sections(task, label)
        method, shared = method_of(label), (self.training, of_task)
        asked = _merged(of_method)
        own = {**_merged(shared), **asked}
        if not has_bonus(method):
            for name in {"alpha", "diversity"} - asked.keys():
                own.pop(name, None)  # it is for the others
        for name in ("settings", "methods", "seeds"):
            own.pop(name, None)
        if "layout" in own:  # jobs may run where the file is not
            own["layout"] = read_layout(Path(self.file).parent / own["layout"]).names
        learner = own.get("learner", TrainConfig.learner)
        own["overrides"] = (
            *(text for text in _settings(shared) if not is_foreign(text, method, learner)),
            *_settings(of_method),
        )
        if method in METHODS.names() and METHODS.find(method).single:
            # One policy; its own `members` say for how many members' steps.
            own["members"] = asked.get("members", 1)
        config = TrainConfig(task=name_task(task), method=method, seed=seed, **own)
        return StudyJob(config, resolve(config), self.measures_of(task), label.partition(":")[2])


def _twins(jobs: Sequence[StudyJob]) -> list[str]:
    """Variants that train the same, so that one result would stand in two rows."""
    labels: dict[str, str] = {}
    for job in jobs:
        labels.setdefault(job.name, job.label)
    return [
        f"{job.run.task}: {job.label} trains the same as {labels[job.name]}; say under "
        f'[method."{job.label}"] in what they differ.'
        for job in jobs
        if labels[job.name] != job.label
    ]


@functools.lru_cache(maxsize=64)
def _robot(task: str, options: str) -> str:
    """The fingerprint of somebody's robot; nothing where its code is not known here."""
    try:
        return fingerprint_of(remake_task(task, **json.loads(options))).digest
    except UserError:
        return ""


def read_study(path: str | Path) -> Study:
    """A study from its TOML file or by the name of one of ours, with everything wrong in it told at once."""
    path = study_path(path)
    known = entry_kinds(Measures, "suite_texts")
    table = counted(_read(path), known)
    problems = study_problems(table, known)
    if problems:
        raise UserError("\n".join(f"{path}: {problem}" for problem in problems), "Nothing was started.")
    measure, tasks = table.get("measure", {}), tables(table.get("task"))
    return Study(
        name=path.stem,
        file=str(path),
        methods=tuple(table["methods"]),
        tasks=tuple(table["tasks"]),
        seeds=tuple(table["seeds"]),
        training=_tuples({name: table[name] for name in TRAINING if name in table}),
        task_training={
            name: {key: value for key, value in section.items() if key not in ("method", "measure")}
            for name, section in _own_choices(table, "task").items()
        },
        method_training=_own_choices(table, "method"),
        measures=_measures(measure, path),
        task_method_training={name: _own_choices(section, "method") for name, section in tasks.items()},
        task_measures={
            name: _measures({**measure, **section["measure"]}, path)
            for name, section in tasks.items()
            if "measure" in section
        },
    )


def _measures(section: Mapping[str, Any], path: Path) -> Measures:
    """With the texts of suites that are files beside the study's."""
    suites = tuple(section.get("suites", Measures.suites))
    texts = {suite: _suite_text(path.parent / suite) for suite in suites if suite.endswith(".toml")}
    return Measures(**_tuples(section), suite_texts=texts)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror}.",
            f"Give a study's TOML file, or the name of one of ours: {', '.join(study_names())}.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}.") from error


def _suite_text(path: Path) -> str:
    from polygait.suites import listed_conditions, read_suite

    text = read_suite(path)
    listed_conditions(path, text)  # says what is wrong with the file, if anything is
    return text


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
