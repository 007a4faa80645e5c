"""What a study's finished jobs measured, in frames."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from polygait.errors import UserError
from polygait.study.effort import read_effort
from polygait.study.grid import StudyJob
from polygait.study.jobs import JobFolder
from polygait.suites import MADE_FROM_ANATOMY

WHOSE = {"task": pl.String, "method": pl.String, "seed": pl.Int64}
"""What every frame begins with."""
_RETURNS = {"condition": pl.String, "scale": pl.Float64, "member": pl.Int64, "mean_return": pl.Float64}
_MEASURED = {"falls": pl.Float64, "mean_speed": pl.Float64}
"""Of returns as well, where they are known: results of 0.1 have neither, nor has a chosen member."""
_MESH = {
    "condition": pl.String,
    "variation": pl.String,
    "world": pl.String,
    "member": pl.Int64,
    "mean_return": pl.Float64,
    **_MEASURED,
    "seconds": pl.Float64,
    "returns": pl.List(pl.Float64),
    "progress": pl.List(pl.Float64),
}
_CURVES = {"member": pl.Int64, "steps": pl.Int64, "return": pl.Float64}
_VARIANCE = {"part": pl.String, "share": pl.Float64, "freed": pl.Float64}
_EFFORT = {"processes": pl.Int64, "seconds": pl.Float64}
_CONTACTS = {"member": pl.Int64, "episode": pl.Int64, "foot": pl.String, "down": pl.Float64}

_FRAMES = ("returns", "held_out", *MADE_FROM_ANATOMY, "curves", "contacts", "variance")
FRAMES = (*_FRAMES, "diversity", "effort")
"""Of Results, by name."""


class Results(NamedTuple):
    """Frames with one row per number; all begin with task, method, seed."""

    returns: pl.DataFrame
    """condition, scale, member, mean_return, falls, mean_speed"""
    held_out: pl.DataFrame
    """The same for the member chosen in each condition, on fresh episodes."""
    diversity: pl.DataFrame
    """score"""
    curves: pl.DataFrame
    """member, steps, return"""
    contacts: pl.DataFrame
    """member, episode, foot, down: the share of time a foot touches the ground."""
    patterns: dict[tuple[str, str, int], dict[str, Any]]
    """Of every job: its feet, and for each member and foot a text of 0 and 1, one per step of an episode."""
    versions: dict[str, list[str]]
    """Of everything that can change a result; more than one where jobs differ."""
    done: int
    jobs: int
    damaged: tuple[str, ...] = ()
    """What is wrong with files that had to be left out."""
    mesh: pl.DataFrame = pl.DataFrame(schema={**WHOSE, **_MESH})
    """Every member in every condition of the mesh: condition, world, member, and its episodes."""
    unforeseen: pl.DataFrame = pl.DataFrame(schema={**WHOSE, **_MESH})
    """The same of damages that are unlike those of the mesh."""
    variance: pl.DataFrame = pl.DataFrame(schema={**WHOSE, **_VARIANCE})
    """part, share, freed: how much of a part's variance lies between members, how much the filter frees."""
    effort: pl.DataFrame = pl.DataFrame(schema={**WHOSE, **_EFFORT})
    """processes, seconds: what each job cost, where it is known."""


def read_results(jobs: Sequence[StudyJob], out: Path, damaged: Sequence[str] = ()) -> Results:
    """Of all jobs that are done; a result that is damaged is named, and the others are read.

    `damaged` are jobs of which that is known already.
    """
    rows: dict[str, list[pl.DataFrame]] = {name: [] for name in _FRAMES}
    scores: list[dict[str, Any]] = []
    efforts: list[dict[str, Any]] = []
    patterns: dict[tuple[str, str, int], dict[str, Any]] = {}
    versions: dict[str, set[str]] = {}
    unfit = [*damaged]
    done = 0
    for job in jobs:
        folder = JobFolder.of(out, job)
        if not folder.done:
            continue
        try:
            result = folder.read_result(job.run.members)
        except UserError as error:
            unfit.append(str(error).replace("\n", " "))
            continue
        done += 1
        whose = {"task": job.run.task, "method": job.label, "seed": job.run.seed}
        if (effort := read_effort(folder.path)) is not None:
            efforts.append({**whose, **effort._asdict()})
        rows["returns"].append(_frame(result["returns"], {**_RETURNS, **_MEASURED}, whose))
        rows["curves"].append(_frame(result["curves"], _CURVES, whose))
        if result["held_out"] is not None:
            rows["held_out"].append(_frame(result["held_out"], _RETURNS, whose))
        for suite in MADE_FROM_ANATOMY:
            if result.get(suite) is not None:
                rows[suite].append(_frame(result[suite], _MESH, whose))
        if result.get("variance") is not None:
            rows["variance"].append(_frame(result["variance"], _VARIANCE, whose))
        if result["diversity"] is not None:
            scores.append({**whose, "score": result["diversity"]})
        if result["contacts"] is not None:
            rows["contacts"].append(_frame(_contact_columns(result["contacts"]), _CONTACTS, whose))
            feet = result["contacts"]["feet"]
            patterns[job.run.task, job.label, job.run.seed] = {"feet": feet, **result["patterns"]}
        for name, version in result["versions"].items():
            versions.setdefault(name, set()).add(version)
    for problem in unfit:
        warnings.warn(f"Left out: {problem}", stacklevel=2)
    return Results(
        returns=_together(rows["returns"], {**_RETURNS, **_MEASURED}),
        held_out=_together(rows["held_out"], _RETURNS),
        diversity=pl.DataFrame(scores, schema={**WHOSE, "score": pl.Float64}),
        curves=_together(rows["curves"], _CURVES),
        contacts=_together(rows["contacts"], _CONTACTS),
        patterns=patterns,
        versions={name: sorted(found) for name, found in versions.items()},
        done=done,
        jobs=len(jobs) + len(damaged),
        damaged=tuple(unfit),
        mesh=_together(rows["mesh"], _MESH),
        unforeseen=_together(rows["unforeseen"], _MESH),
        variance=_together(rows["variance"], _VARIANCE),
        effort=pl.DataFrame(efforts, schema={**WHOSE, **_EFFORT}),
    )


def per_seed(results: Results) -> pl.DataFrame:
    """Everything measured in one frame: a row per task, method, seed, member, condition and scale.

    `episodes` says which they were: those that all members share, or fresh ones of the member chosen by them.
    """
    parts = {"shared": results.returns, "fresh": results.held_out}
    named = [frame.with_columns(episodes=pl.lit(name)) for name, frame in parts.items()]
    first = ["task", "method", "seed", "member", "condition", "scale", "episodes"]
    whole = pl.concat(named, how="diagonal")
    return whole.select(*first, pl.exclude(first)).sort(first)


def _frame(columns: dict[str, list[Any]], schema: dict[str, Any], whose: dict[str, Any]) -> pl.DataFrame:
    count = len(columns[next(iter(schema))])
    frame = pl.DataFrame({name: columns.get(name, [None] * count) for name in schema}, schema=schema)
    named = [pl.lit(value, dtype=WHOSE[name]).alias(name) for name, value in whose.items()]
    return frame.select(*named, *schema)


def _together(frames: list[pl.DataFrame], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.concat(frames) if frames else pl.DataFrame(schema={**WHOSE, **schema})


def _contact_columns(contacts: dict[str, Any]) -> dict[str, list[Any]]:
    rows = [
        (member, episode, foot, share)
        for member, episodes in enumerate(contacts["down"])
        for episode, shares in enumerate(episodes)
        for foot, share in zip(contacts["feet"], shares, strict=True)
    ]
    return dict(zip(_CONTACTS, map(list, zip(*rows, strict=True)), strict=True))
