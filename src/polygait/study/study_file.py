"""What a study's file may hold, and all that is wrong with it."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import types
import typing
from collections.abc import Mapping
from typing import Any

from polygait.config import TrainConfig, seed_problems
from polygait.config.kinds import fits, in_words
from polygait.counts import count_in
from polygait.diversity.registry import METHODS
from polygait.errors import did_you_mean

Kinds = Mapping[str, Any]
"""Kinds of values, by the names of their entries."""


def entry_kinds(record: type, *left_out: str) -> dict[str, Any]:
    """What a file may say of a record's fields; there is no None in TOML."""
    return {
        name: typing.get_args(kind)[0] if isinstance(kind, types.UnionType) else kind
        for name, kind in typing.get_type_hints(record).items()
        if name not in left_out
    }


TRAINING = entry_kinds(TrainConfig, "task", "method", "seed", "threads")
"""What may stand at the top, under [task.NAME], under [method.NAME] and under [task.NAME.method.NAME]: the
options of a training but for the study's axes and what changes no result."""
TRAINING["settings"] = TRAINING.pop("overrides")
AXES = {"methods": str, "tasks": str, "seeds": int}
"""What a study compares; a task may have methods and seeds of its own, a method seeds."""
_OWN_AXES = {"task": ("methods", "seeds"), "method": ("seeds",)}
_VARIANT = re.compile(r"[A-Za-z0-9_-]+")


def study_problems(table: Mapping[str, Any], measures: Kinds) -> list[str]:
    """Everything wrong with a study's file."""
    problems = [f"{name} is missing." for name in AXES if name not in table]
    problems += _unknown(table, (*AXES, "task", "method", "measure", *TRAINING), "")
    for name, kind in AXES.items():
        problems += _axis_problems(name, table.get(name, [None]), kind)
    problems += _variant_problems(table.get("methods"))
    problems += _section_problems({name: table[name] for name in TRAINING if name in table}, TRAINING, "")
    problems += _own_problems(table, "task", table.get("tasks"), all_methods=table.get("methods"))
    problems += _own_problems(table, "method", table.get("methods"))
    for name, section in tables(table.get("task")).items():
        where = f"task.{_key(name)}."
        problems += _own_problems(tables(section), "method", table.get("methods"), where)
        problems += _measure_problems(tables(section).get("measure", {}), measures, f"{where}measure.")
    problems += _alpha_problems(table)
    return problems + _measure_problems(table.get("measure", {}), measures, "measure.")


def counted(table: dict[str, Any], measures: Kinds) -> dict[str, Any]:
    """The same with counts such as 1e6 and "1M" as whole numbers; what is none is left to be named."""
    tasks = [tables(section) for section in tables(table.get("task")).values()]
    methods = [tables(one.get("method")).values() for one in (table, *tasks)]
    sections = [(tables(one), TRAINING) for one in (table, *tasks, *itertools.chain(*methods))]
    sections += [(tables(one.get("measure")), measures) for one in (table, *tasks)]
    for section, known in sections:
        for name, value in section.items():
            if known.get(name) is int:
                with contextlib.suppress(ValueError):
                    section[name] = count_in(value)
    return table


def _axis_problems(name: str, values: Any, kind: type) -> list[str]:
    word = "texts" if kind is str else "whole numbers"
    if not isinstance(values, list) or not values or not all(type(one) is kind for one in values):
        return [] if values == [None] else [f"{name} must be a list of {word}, got {values!r}."]
    repeated = sorted({one for one in values if values.count(one) > 1})
    return [f"{name} names {repeated[0]!r} more than once."] if repeated else []


def method_of(label: str) -> str:
    """The method behind what a study calls one: "dir:worlds" is a variant of "dir"."""
    return label.partition(":")[0]


def _variant_problems(labels: Any) -> list[str]:
    return [
        f"methods names {label!r}; a variant is a method's name, a colon and letters, digits, - or _: "
        f'"{method_of(label) or "dir"}:worlds".'
        for label in _texts(labels)
        if ":" in label and not (method_of(label) and _VARIANT.fullmatch(label.partition(":")[2]))
    ]


def _own_problems(
    table: Mapping[str, Any], axis: str, names: Any, prefix: str = "", all_methods: Any = None
) -> list[str]:
    """What is wrong with the sections of single tasks or methods; a task's may hold methods' in turn."""
    problems = _table_problems(table.get(axis, {}), f"{prefix}{axis}")
    for name, section in tables(table.get(axis)).items():
        where = f"{prefix}{axis}.{_key(name)}"
        if isinstance(names, list) and name not in names:
            problems.append(f"[{where}] is for a {axis} that the study does not have.")
        inner = (*_OWN_AXES[axis], *(("method", "measure") if axis == "task" else ()))
        problems += _section_problems(section, TRAINING, f"{where}.", inner)
        for one in _OWN_AXES[axis]:
            problems += _axis_problems(f"{where}.{one}", tables(section).get(one, [None]), AXES[one])
        if axis == "task":
            problems += _foreign_methods(section, where, all_methods)
    return problems


def _foreign_methods(section: Any, where: str, methods: Any) -> list[str]:
    return [
        f"{where}.methods names {label!r}, which is not among the study's methods."
        for label in _texts(tables(section).get("methods"))
        if label not in _texts(methods)
    ]


def _alpha_problems(table: Mapping[str, Any]) -> list[str]:
    """An alpha that more than one method would take.

    Every method's bonus has a size of its own (DiR's alpha is 0.05 where SMERL's is 10), so a number meant
    for one would silently spoil the others.
    """
    problems = []
    for task in _texts(table.get("tasks")):
        own = tables(tables(table.get("task")).get(task))
        methods = own.get("methods", table.get("methods"))
        nearer = (tables(table.get("method")), tables(own.get("method")))
        takers = [
            method
            for method in _texts(methods)
            if has_bonus(method) and not any("alpha" in tables(one.get(method)) for one in nearer)
        ]
        prefix = f"task.{_key(task)}." if "alpha" in own else ""
        if len({method_of(label) for label in takers}) > 1 and ("alpha" in own or "alpha" in table):
            problems.append(
                f"{prefix}alpha would be that of {' and '.join(takers)} alike, whose bonuses differ in size; "
                f"write it under [{prefix}method.{takers[0]}], and so for every method that shall have it."
            )
    return list(dict.fromkeys(problems))


def has_bonus(label: str) -> bool:
    """Whether a method pays for difference; one that nobody knows is told later."""
    method = method_of(label)
    return method not in METHODS.names() or METHODS.find(method).has_bonus


def _table_problems(value: Any, name: str) -> list[str]:
    return [] if isinstance(value, dict) else [f"{name} must be a table, got {value!r}."]


def _section_problems(section: Any, known: Kinds, prefix: str, inner: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with a section; sections inside it are looked at by themselves."""
    if problems := _table_problems(section, prefix.rstrip(".")):
        return problems
    problems = _unknown(section, (*known, *inner), prefix)
    for name, kind in known.items():
        if name in section and not fits(section[name], kind):
            problems.append(f"{prefix}{name} must be {in_words(kind)}, got {section[name]!r}.")
    return problems


def _measure_problems(measure: Any, known: Kinds, prefix: str) -> list[str]:
    least = {"episodes": 1, "held_out": 0, "diversity_states": 0, "contact_episodes": 0}
    problems, table = _section_problems(measure, known, prefix), tables(measure)
    if table.get("suites") == []:
        problems.append(f"{prefix}suites must name at least one suite.")
    if type(seed := table.get("seed", 0)) is int:
        problems += [f"{prefix}{one}" for one in seed_problems(seed)]
    return problems + [
        f"{prefix}{name} must be at least {least[name]}, got {value}."
        for name, value in table.items()
        if name in least and type(value) is int and value < least[name]
    ]


def _unknown(section: Mapping[str, Any], known: Any, prefix: str) -> list[str]:
    return [
        f"Unknown entry: {prefix}{name}. {did_you_mean(name, known)}" for name in section if name not in known
    ]


def tables(value: Any) -> dict[str, Any]:
    """A table as it is, and an empty one in place of what is none."""
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _key(name: str) -> str:
    """A name as TOML wants it in a section's heading."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
