"""export: members of a population as files that run without polygait and without JAX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from polygait.config import ExportConfig, from_options
from polygait.errors import UserError
from polygait.exporting.card import make_card, onnx_metadata
from polygait.exporting.numpy_file import READER, numpy_bytes, reader_bytes
from polygait.exporting.onnx_file import onnx_bytes
from polygait.population.population import Population, PopulationLike, as_population
from polygait.storage.files import write_atomically
from polygait.tasks.actions import law_of_task
from polygait.tasks.task import Task

ENDINGS = {"onnx": ".onnx", "numpy": ".npz"}
_AGAIN = "export again; the population itself is untouched"


class Exported(NamedTuple):
    """What was written."""

    policies: dict[int, Path]
    """The file of every member."""
    reader: Path | None
    """What reads files for NumPy."""


def export(population: PopulationLike, out: str | os.PathLike[str], **options: Any) -> Exported:
    """Write one member into the file `out`, or all of them into the folder `out`.

    The options are those of ExportConfig. Normaliser, layers and action scaling are inside: a raw
    observation goes in, the robot's controls come out.
    """
    population, config, out = as_population(population), from_options(ExportConfig, options), Path(out)
    if config.format not in ENDINGS:
        raise UserError(f"Unknown format: {config.format!r}.", f"Choose from {', '.join(ENDINGS)}.")
    targets = _targets(population, config, out)
    task = population.make_task()
    written = {member: _bytes(population, member, task, config.format) for member in targets}
    for member, target in targets.items():
        write_atomically(target, written[member], _AGAIN)
    reader = out / READER if config.all else out.with_name(READER)
    if config.format == "numpy":
        write_atomically(reader, reader_bytes(), _AGAIN)
    return Exported(targets, reader if config.format == "numpy" else None)


def _targets(population: Population, config: ExportConfig, out: Path) -> dict[int, Path]:
    """Where each member goes that is asked for."""
    ending = ENDINGS[config.format]
    if config.all:
        if config.member is not None:
            raise UserError("`member` and `all` exclude each other.", "Give the one you mean.")
        if out.suffix in ENDINGS.values() or out.is_file():
            raise UserError(f"All members go into a folder, got the file {out}.", "Name a folder.")
        return {member: out / f"member-{member:03d}{ending}" for member in range(len(population))}
    member = config.member
    if member is None:
        if len(population) > 1:
            raise UserError(
                f"Which of the members 0 to {len(population) - 1}?",
                "Give `member=0`, or `all=True` and a folder; `polygait adapt` tells which one works where.",
            )
        member = 0
    population.require_member(member)
    if out.suffix != ending or out.is_dir():
        raise UserError(
            f"A policy for {config.format} is a file that ends in {ending}, got {out}.",
            f"Name it for example {out.with_suffix('') if out.suffix else out}{ending}.",
        )
    return {member: out}


def _bytes(population: Population, member: int, task: Task, form: str) -> bytes:
    policy, law = population.plain(member), law_of_task(task)
    card = make_card(population, member, task)
    return onnx_bytes(policy, law, onnx_metadata(card)) if form == "onnx" else numpy_bytes(policy, law, card)
