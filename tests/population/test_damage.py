"""Flipped bits and hostile files: correct data or a UserError, never anything else."""

import hashlib
import json
import os
import random
import struct
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygait.errors import UserError
from polygait.population import manifest as manifest_module
from polygait.population.store import RunFolder
from polygait.storage import tensors as tensors_module
from polygait.storage.strict_json import canonical


def everything(path):
    """All that a reader can learn from a run, in a form that compares bit by bit."""
    run = RunFolder.open(path)
    checkpoint = run.load_checkpoint()
    return {
        "manifest": repr(run.manifest),
        "members": {index: exact(run.load_member(index)) for index in run.members},
        "checkpoint": checkpoint
        and (checkpoint.iteration, exact(checkpoint.tensors), repr(checkpoint.metadata), checkpoint.skipped),
        "metrics": repr(run.metrics()),
    }


def exact(tensors):
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in tensors.items()}


@pytest.fixture
def full_run(run, tensors):
    with run.writing():
        run.save_member(0, tensors, 1, {"return": 1.5})
        run.append_metrics({"return": 1.5, "bonus": float("nan")})
        run.append_metrics({"return": 2.5})
        run.save_checkpoint(1, tensors, {"metrics": run.metrics_size()})
    return run


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "members/000.safetensors", "checkpoints/00000001.safetensors", "metrics.jsonl", "lock"],
)
def test_no_flipped_bit_gives_wrong_data(full_run, name):
    path = full_run.path / name
    if name == "lock":
        path.write_bytes(b"123 here\n")
    original = path.read_bytes()
    before = everything(full_run.path)
    last_line_lost = before | {"metrics": repr(full_run.metrics()[:-1])}
    chance = random.Random(0)
    silent = 0
    for _ in range(300):
        damaged = bytearray(original)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            found = everything(full_run.path)
        except UserError:
            continue
        silent += 1
        # An unterminated last line is what a killed writer leaves; it is passed over.
        torn = name == "metrics.jsonl" and damaged[-1:] != b"\n"
        assert found == before or (torn and found == last_line_lost)
    assert silent < 300 or name == "lock"


@pytest.mark.parametrize(
    "name", ["manifest.json", "members/000.safetensors", "checkpoints/00000001.safetensors"]
)
def test_no_truncation_gives_wrong_data(full_run, name):
    path = full_run.path / name
    original = path.read_bytes()
    before = everything(full_run.path)
    for size in range(0, len(original) - 1, 7):  # a manifest without its last newline is whole
        path.write_bytes(original[:size])
        with pytest.raises(UserError):
            everything(full_run.path)
    path.write_bytes(original)
    assert everything(full_run.path) == before


def test_a_flipped_bit_in_the_newest_checkpoint_leads_to_the_one_before(full_run):
    with full_run.writing():
        full_run.save_checkpoint(2, {"a": np.arange(100.0)}, {"note": "second"})
    path = full_run.path / "checkpoints" / "00000002.safetensors"
    original = path.read_bytes()
    chance = random.Random(1)
    fallbacks = 0
    for _ in range(300):
        damaged = bytearray(original)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        checkpoint = full_run.load_checkpoint()
        if checkpoint.iteration == 1:
            fallbacks += 1
            assert len(checkpoint.skipped) == 1 and path.name in checkpoint.skipped[0]
        else:
            assert checkpoint.metadata == {"note": "second"} and checkpoint.skipped == ()
            np.testing.assert_array_equal(checkpoint.tensors["a"], np.arange(100.0))
    assert fallbacks > 250


def sealed(manifest):
    """A manifest as a stranger may write it, with a checksum that fits."""
    body = {name: value for name, value in manifest.items() if name not in ("format", "sha256")}
    return {"format": 1, "sha256": hashlib.sha256(canonical(body)).hexdigest(), **body}


def rewrite(run, change):
    path = run.path / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(sealed(manifest)))


JUNK = [None, True, 0, -1, 1.5, "", "text", [], [[]], {}, {"a": 1}, 10**400]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_wrong_types_in_a_manifest(full_run, junk):
    original = (full_run.path / "manifest.json").read_bytes()
    fields = json.loads(original)
    for name in [*fields, "members[0]", *(f"members[0].{field}" for field in fields["members"][0])]:

        def change(manifest, name=name):
            if name.startswith("members[0]."):
                manifest["members"][0][name.removeprefix("members[0].")] = junk
            elif name == "members[0]":
                manifest["members"][0] = junk
            else:
                manifest[name] = junk

        rewrite(full_run, change)
        try:
            opened = RunFolder.open(full_run.path)
            for index in opened.members:
                opened.load_member(index)
        except UserError as error:
            assert error.remedy
        (full_run.path / "manifest.json").write_bytes(original)


@pytest.mark.parametrize(
    "file",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "members/../manifest.json",
        "members/000.safetensors\n",
        "members/٠٠٠.safetensors",
        "members\\000.safetensors",
        "members/000.safetensors\0",
        "checkpoints/00000001.safetensors",
        "",
    ],
)
def test_a_manifest_may_name_only_member_files(full_run, file):
    rewrite(full_run, lambda manifest: manifest["members"][0].update(file=file))
    with pytest.raises(UserError, match=r"members\[0\].file"):
        RunFolder.open(full_run.path)


def test_a_manifest_lists_no_member_or_file_twice(full_run):
    rewrite(full_run, lambda manifest: manifest["members"].append(manifest["members"][0] | {"index": 1}))
    with pytest.raises(UserError, match="a name of its own"):
        RunFolder.open(full_run.path)
    entry = asdict(full_run.members[0]) | {"file": "members/001.safetensors"}
    rewrite(full_run, lambda manifest: manifest["members"].__setitem__(1, entry))
    with pytest.raises(UserError, match="listed before"):
        RunFolder.open(full_run.path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{}",
        b'{"format": NaN}',
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"format": ' + b"9" * 5000 + b"}",
        b'{"format": true}',
        b'{"format": 0}',
        b'{"format": 1, "sha256": []}',
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_manifest_that_is_none(run, content):
    (run.path / "manifest.json").write_bytes(content)
    with pytest.raises(UserError, match=r"Damaged: .*manifest\.json"):
        RunFolder.open(run.path)


@pytest.mark.parametrize("levels", [100, 300, 600, 900])
def test_a_manifest_nested_deeply(run, levels):
    nested = '{"format": 1, "config": ' + "[" * levels + "]" * levels + "}"
    (run.path / "manifest.json").write_text(nested)
    with pytest.raises(UserError, match="nested too deeply"):
        RunFolder.open(run.path)


def test_what_is_nested_too_deeply_to_open_is_not_written(run):
    with run.writing(), pytest.raises(UserError, match="64 levels"):
        run.append_metrics({"a": json.loads("[" * 100 + "]" * 100)})


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bytes_as_any_file(tmp_path_factory, content):
    run = tmp_path_factory.mktemp("any")
    for name in ("manifest.json", "metrics.jsonl", "checkpoints/00000001.safetensors"):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_bytes(content)
    stranger = RunFolder(run, {"members": [], "complete": False})
    for read in (lambda: RunFolder.open(run), stranger.load_checkpoint):
        with pytest.raises(UserError):
            read()
    try:
        assert stranger.metrics() == []
    except UserError as error:
        assert "metrics.jsonl" in error.problem


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def one(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"a": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


HOSTILE = {
    "empty": b"",
    "header of 10^12 bytes": struct.pack("<Q", 10**12) + b"{}",
    "header of 2^64 bytes": struct.pack("<Q", 2**64 - 1) + b"{}",
    "array of 10^12 bytes": raw(one(shape=(10**12,), offsets=(0, 4 * 10**12))),
    "overflowing shape": raw(one(shape=(2**62, 4), offsets=(0, 0))),
    "empty but too wide": raw(one(shape=(0, 2**63), offsets=(0, 0))),
    "too many axes": raw(one(shape=(0,) * 100, offsets=(0, 0))),
    "negative offsets": raw(one(offsets=(-4, 0)), b"1234"),
    "offsets reversed": raw(one(offsets=(4, 0)), b"1234"),
    "negative shape": raw(one(shape=(-1,)), b"1234"),
    "unknown type": raw(one(dtype="X"), b"1234"),
    "type NumPy lacks": raw(one(dtype="F8_E4M3", shape=(4,)), b"1234"),
    "numbers as truth values": raw(one(dtype="BOOL", shape=(4,)), b"1234"),
    "header is a list": raw([]),
    "header nested deeply": raw(b'{"a":' * 100_000),
    "metadata is a list": raw({"__metadata__": []}),
    "metadata holds a number": raw({"__metadata__": {"polygait": 1}}),
    "overlapping arrays": raw(one() | {"b": one()["a"]}, b"1234"),
    "bytes left over": raw(one(), b"12345"),
    "a pickle": b"\x80\x04\x95\x1e\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_tensor_files(run, content):
    (run.path / "members").mkdir()
    (run.path / "checkpoints").mkdir()
    (run.path / "members" / "000.safetensors").write_bytes(content)
    (run.path / "checkpoints" / "00000001.safetensors").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    entry = manifest_module.MemberEntry(0, "members/000.safetensors", digest, len(content), 1, {})
    rewrite(run, lambda manifest: manifest["members"].append(asdict(entry)))
    opened = RunFolder.open(run.path)
    with pytest.raises(UserError, match=r"000\.safetensors"):
        opened.load_member(0)
    with pytest.raises(UserError, match=r"00000001\.safetensors"):
        opened.load_checkpoint()


@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", '{"sha256": 1, "iteration": "1", "metadata": 3}', "[" * 99999]
)
def test_checkpoints_with_a_strange_header(run, text):
    (run.path / "checkpoints").mkdir()
    content = tensors_module.pack({"a": np.zeros(2)}, text)
    (run.path / "checkpoints" / "00000001.safetensors").write_bytes(content)
    with pytest.raises(UserError, match="altered"):
        run.load_checkpoint()


def test_files_too_large_to_open_are_not_read(full_run):
    for name, size in [
        ("metrics.jsonl", 2**31),
        ("members/000.safetensors", 2**40),
        ("checkpoints/00000001.safetensors", 2**40),
        ("manifest.json", 65 * 2**20),
    ]:
        os.truncate(full_run.path / name, size)
    for read in (
        full_run.metrics,
        lambda: full_run.load_member(0),
        full_run.load_checkpoint,
        lambda: RunFolder.open(full_run.path),
    ):
        with pytest.raises(UserError, match="Too large to open"):
            read()


def test_a_manifest_too_large_to_open_is_not_written(run, monkeypatch):
    monkeypatch.setattr(manifest_module, "SIZE_LIMIT", 2000)
    with run.writing(), pytest.raises(UserError, match="more than 2,000"):
        run.update_manifest({"notes": "x" * 2000})
    RunFolder.open(run.path)


def test_pipes_devices_and_folders_are_not_read(full_run):
    for path in (full_run.path / "metrics.jsonl", full_run.path / "checkpoints" / "00000001.safetensors"):
        path.unlink()
        os.mkfifo(path)
    member = full_run.path / "members" / "000.safetensors"
    member.unlink()
    member.symlink_to("/dev/zero")
    manifest = full_run.path / "manifest.json"
    manifest.unlink()
    manifest.mkdir()
    for read in (
        full_run.metrics,
        lambda: full_run.load_member(0),
        full_run.load_checkpoint,
        lambda: RunFolder.open(full_run.path),
    ):
        with pytest.raises(UserError, match="Not an ordinary file"):
            read()
