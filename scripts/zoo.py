"""Add a trained population to the zoo: ./dev zoo add RUN NAME. After defaults have changed: ./dev zoo renew.

RUN is finished and measured (polygait evaluate RUN --suite mesh --episodes 5). What only training needs stays
behind: checkpoints, and of the log all but the points that the report page draws. RUN itself is not changed.
A card holds the command that makes its population again; `renew` writes it anew, by the defaults of today.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from polygait.errors import UserError
from polygait.population.manifest import encode_manifest
from polygait.population.metrics import MetricsLog
from polygait.population.population import Population
from polygait.population.store import RunFolder
from polygait.report.run.findings import CURVES, curve_rows
from polygait.report.run.mesh_evidence import MeshEvidence, mesh_evidence
from polygait.report.run.reproduce import run_command
from polygait.resilience import survival
from polygait.run_config import RunConfig
from polygait.suites import MESH
from polygait.zoo import CARD, Card, encode_card
from polygait.zoo.cards import decode_card

SHELF = Path(__file__).resolve().parents[1] / "src/polygait/zoo/populations"
LICENCE = "MIT"
LEAST_EPISODES = 5


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="./dev zoo", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    add_parser = verbs.add_parser("add", help="add or replace a population")
    add_parser.add_argument("run", type=Path)
    add_parser.add_argument("name")
    verbs.add_parser("renew", help="write anew which commands make the populations")
    wanted = parser.parse_args()
    if "run" not in wanted:
        for card in renew(SHELF):
            print(f"{card.name}: {card.command}")
        return
    try:
        card = add(wanted.run, wanted.name, SHELF)
    except UserError as error:
        parser.exit(2, f"{error}\n")
    size = sum(file.stat().st_size for file in (SHELF / card.name).rglob("*") if file.is_file())
    print(f"{SHELF / card.name}: {card.members} members, {size / 1e6:.2f} MB")


def add(path: Path, name: str, shelf: Path) -> Card:
    """Put a run on the shelf under a name, in the place of what had that name before."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise UserError(f"{name!r} cannot be a name in the zoo.", "Use small letters, digits and dashes.")
    run = RunFolder.open(path)
    if not run.complete or "origin" in run.manifest:
        raise UserError(
            f"{path} is not finished, or fine-tuned from another run.", "Give a finished training."
        )
    population = Population(run)
    weights = {member.index: population.weights(place) for place, member in enumerate(population.members)}
    mesh = mesh_evidence(run.path, weights, MESH)
    if mesh is None or len(mesh.episodes.members) < len(population) or _episodes(mesh) < LEAST_EPISODES:
        measure = f"polygait evaluate {path} --suite mesh --episodes {LEAST_EPISODES}"
        raise UserError(f"The mesh of {path} is not measured, or not in all members.", f"First: {measure}")
    files = _files(run, mesh)
    checksums = {file: hashlib.sha256(data).hexdigest() for file, data in files.items()}
    card = replace(_card(run, name, mesh), files=checksums)
    shelf.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=shelf.parent) as made:
        for file, data in (files | {CARD: encode_card(card)}).items():
            (Path(made) / name / file).parent.mkdir(parents=True, exist_ok=True)
            (Path(made) / name / file).write_bytes(data)
        shutil.rmtree(shelf / name, ignore_errors=True)
        (Path(made) / name).rename(shelf / name)
    return card


def renew(shelf: Path) -> Iterator[Card]:
    """Write the commands of all cards by today's defaults; the cards that changed."""
    for path in sorted(shelf.glob(f"*/{CARD}")):
        card, run = decode_card(path.read_bytes()), RunFolder.open(path.parent)
        renewed = replace(card, command=_command(run, card.name))
        if renewed != card:
            path.write_bytes(encode_card(renewed))
            yield renewed


def _command(run: RunFolder, name: str) -> str:
    return run_command(RunConfig.from_json(run.manifest["config"]), run.manifest, f"runs/{name}")


def _card(run: RunFolder, name: str, mesh: MeshEvidence) -> Card:
    manifest = run.manifest
    config, episodes = RunConfig.from_json(manifest["config"]), mesh.episodes
    returns, speeds = episodes.nominal_returns.mean(axis=1), episodes.nominal_speeds.mean(axis=1)
    return Card(
        name=name,
        robot=config.task,
        method=config.method,
        members=len(episodes.members),
        steps=config.steps,
        seed=config.seed,
        best_return=float(returns.max()),
        mean_return=float(returns.mean()),
        best_speed=float(speeds.max()),
        mean_speed=float(speeds.mean()),
        conditions=len(episodes.conditions),
        episodes=_episodes(mesh),
        chosen_survival=float(mesh.by_return.survival[-1]),
        single_survival=max(_single_survival(mesh)),
        command=_command(run, name),
        versions=manifest["versions"],
        trained=manifest["updated"].partition("T")[0],
        licence=LICENCE,
        files={},
        specialists=config.specialists,
        specialist_steps=config.specialist_steps,
    )


def _episodes(mesh: MeshEvidence) -> int:
    return mesh.episodes.returns.shape[2]


def _single_survival(mesh: MeshEvidence) -> Iterable[float]:
    """The share of conditions that each member survives when nobody chooses."""
    found = mesh.episodes
    for place in range(len(found.members)):
        alone = found.returns[[place]], found.speeds[[place]]
        yield float(survival(*alone, found.best_nominal_speed).mean())


def _files(run: RunFolder, mesh: MeshEvidence) -> dict[str, bytes]:
    """What the package keeps of a run; the manifest, which lists the rest, comes last."""
    files = {entry.file: (run.path / entry.file).read_bytes() for entry in run.members.values()}
    for index in run.members:
        run.load_member(index)  # says if it is damaged
    table = io.BytesIO()
    mesh.frame.write_parquet(table)
    files["evaluations/mesh.parquet"] = table.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        log = MetricsLog(Path(folder) / "metrics.jsonl")
        for record in _thinned(run.metrics()):
            log.append(record)
        mark = log.mark()
        log.close()
        files["metrics.jsonl"] = log.path.read_bytes()
    return files | {"manifest.json": encode_manifest(run.manifest | {"log": mark._asdict()})}


def _thinned(records: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The points of the page's learning curves in the form of a log."""
    for row in curve_rows(records, CURVES):
        curves = {name: [row[name]] for name in CURVES if name in records[0]}
        yield {"members": [row["member"], row["member"] + 1], "steps": int(row["steps"]), **curves}


if __name__ == "__main__":
    main()
