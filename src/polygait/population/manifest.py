"""manifest.json: what a run is and which members it has; sealed by a checksum, checked field by field."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polygait.errors import UserError
from polygait.population.metrics import LogMark
from polygait.population.migrations import MIGRATIONS
from polygait.storage.files import read_bounded
from polygait.storage.strict_json import canonical, from_plain, parse, to_plain
from polygait.tasks.actions import ActionLaw
from polygait.tasks.fingerprint import Fingerprint

FORMAT = 2
SIZE_LIMIT = 64 * 2**20
_DESCRIPTION: dict[str, tuple[type, ...]] = {
    "config": (dict,),
    "task": (str, dict),
    "layout": (list,),
    "filter": (dict,),
    "versions": (dict,),
    "seeds": (dict, list, int),
}
_BOOKKEEPING: dict[str, tuple[type, ...]] = {
    "members": (list,),
    "complete": (bool,),
    "created": (str,),
    "updated": (str,),
}
_MEMBER: dict[str, tuple[type, ...]] = {
    "index": (int,),
    "file": (str,),
    "sha256": (str,),
    "size": (int,),
    "steps": (int,),
    "summary": (dict,),
}
_RECORDS = {"log": LogMark, "fingerprint": Fingerprint, "actions": ActionLaw}
"""What earlier versions did not write; each knows its own form."""
_ORIGIN: dict[str, tuple[type, ...]] = {"sha256": (str,), "size": (int,)}
_MEMBER_FILE = re.compile(r"members/[0-9]{3,9}(-rewritten)?\.safetensors")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RESTORE = "Restore it from a copy of the run."


@dataclass(frozen=True)
class MemberEntry:
    """What the manifest says about one member: its file, how to recognise it, and its training."""

    index: int
    file: str
    sha256: str
    size: int
    steps: int
    summary: dict[str, Any]

    @classmethod
    def describing(cls, index: int, data: bytes, listed: MemberEntry | None) -> MemberEntry:
        """The entry for a member file with these bytes.

        A listed file is never overwritten by other bytes: until the new manifest is written, the
        old one must find what it lists. So a rewritten member alternates between two names.
        """
        digest = hashlib.sha256(data).hexdigest()
        file = f"members/{index:03d}.safetensors"
        if listed and (listed.file == file) != (listed.sha256 == digest):
            file = f"members/{index:03d}-rewritten.safetensors"
        return cls(index, file, digest, len(data), 0, {})


def member_entries(manifest: dict[str, Any]) -> dict[int, MemberEntry]:
    """The members a checked manifest lists, by index."""
    return {member["index"]: MemberEntry(**member) for member in manifest["members"]}


def with_member(manifest: dict[str, Any], entry: MemberEntry) -> dict[str, Any]:
    """The manifest with one member added or replaced."""
    entries = member_entries(manifest) | {entry.index: entry}
    return manifest | {"members": [asdict(entries[index]) for index in sorted(entries)]}


def encode_manifest(manifest: dict[str, Any]) -> bytes:
    """The manifest as readable JSON under its format and checksum."""
    plain = to_plain(manifest, "manifest")
    if problems := list(_problems(plain)):
        raise UserError(f"Not a manifest: {_joined(problems)}.", "Describe the run with all of its fields.")
    sealed = {"format": FORMAT, "sha256": _digest(plain), **plain}
    data = json.dumps(sealed, indent=1, allow_nan=False).encode() + b"\n"
    if len(data) > SIZE_LIMIT:
        raise UserError(
            f"The manifest has {len(data):,} bytes, more than {SIZE_LIMIT:,}.", "Shorten summaries."
        )
    return data


def read_manifest(run: Path) -> dict[str, Any]:
    """A run's manifest, whole, of a known format and well-formed; UserError otherwise."""
    path = run / "manifest.json"
    try:
        data = read_bounded(path, SIZE_LIMIT)
    except FileNotFoundError:
        reason = "it has no manifest.json" if run.is_dir() else "there is no such folder"
        reason = "it is a file" if run.is_file() else reason
        remedy = "Give the folder that `polygait train --out` wrote."
        raise UserError(f"Not a run folder: {run}: {reason}.", remedy) from None
    try:
        manifest = parse(data)
    except ValueError as error:
        raise UserError(f"Damaged: {path} is not JSON ({error}).", _RESTORE) from error
    if not isinstance(manifest, dict):
        raise UserError(f"Damaged: {path} is not a JSON object.", _RESTORE)
    return from_plain(_migrated(manifest, path))


def _migrated(manifest: dict[str, Any], path: Path) -> dict[str, Any]:
    found = manifest.pop("format", None)
    if not _fits(found, (int,)) or found < 1:
        raise UserError(f"Damaged: {path} names no format version.", _RESTORE)
    if found > FORMAT:
        raise UserError(
            f"{path.parent} was made by a newer polygait (format {found}, this one reads up to {FORMAT}).",
            "Upgrade: pip install --upgrade polygait.",
        )
    if manifest.pop("sha256", None) != _digest(manifest):
        raise UserError(f"Damaged: {path} was altered; its checksum does not fit.", _RESTORE)
    if problems := list(_problems(manifest)):
        raise UserError(f"Damaged: {path}: {_joined(problems)}.", _RESTORE)
    for version in range(found, FORMAT):
        try:
            manifest = MIGRATIONS[version](manifest)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"Damaged: {path} is not what format {version} looks like ({error}).", _RESTORE
            ) from error
    return manifest


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(plain)).hexdigest()


def _problems(manifest: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a manifest, one sentence part each."""
    wrong = list(_misfits(manifest, _DESCRIPTION | _BOOKKEEPING, ""))
    yield from wrong
    if wrong:
        return
    for name, record in _RECORDS.items():
        if name in manifest:
            try:
                record.from_json(manifest[name])
            except ValueError as error:
                yield f"{name} {error}"
    if "origin" in manifest:  # only where members start from another run's
        yield from _origin_problems(manifest["origin"])
    indices: set[int] = set()
    files: set[str] = set()
    for place, member in enumerate(manifest["members"]):
        where = f"members[{place}]"
        if not isinstance(member, dict):
            yield f"{where} is not an object"
        elif wrong := [*_misfits(member, _MEMBER, f"{where}."), *_unknown(member, where)]:
            yield from wrong
        elif not _MEMBER_FILE.fullmatch(member["file"]) or member["file"] in files:
            yield f"{where}.file must be a name of its own such as 'members/000.safetensors'"
        elif not _SHA256.fullmatch(member["sha256"]):
            yield f"{where}.sha256 must have 64 hexadecimal digits"
        elif min(member["index"], member["size"], member["steps"]) < 0 or member["index"] in indices:
            yield f"{where} has a negative number or an index listed before"
        else:
            indices.add(member["index"])
            files.add(member["file"])


def _origin_problems(origin: Any) -> Iterator[str]:
    if not isinstance(origin, dict):
        yield "origin is not an object"
    elif wrong := list(_misfits(origin, _ORIGIN, "origin.")):
        yield from wrong
    elif not _SHA256.fullmatch(origin["sha256"]) or origin["size"] < 0:
        yield "origin must have a size and a sha256 of 64 hexadecimal digits"


def _misfits(record: dict[str, Any], fields: dict[str, tuple[type, ...]], prefix: str) -> Iterator[str]:
    for name, types in fields.items():
        if name not in record:
            yield f"{prefix}{name} is missing"
        elif not _fits(record[name], types):
            yield f"{prefix}{name} must be {' or '.join(kind.__name__ for kind in types)}"


def _unknown(member: dict[str, Any], where: str) -> Iterator[str]:
    for name in member.keys() - _MEMBER.keys():
        yield f"{where} has an unknown field {name!r}"


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a JSON value has one of the types; true and false are no numbers."""
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def _joined(problems: list[str]) -> str:
    more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
    return "; ".join(problems[:3]) + more
