"""The log: strict lines that survive kills, cut back exactly on resume."""

import json
import math

import numpy as np
import pytest

from polygait.errors import UserError
from polygait.population.checkpoints import Checkpoint, write_checkpoint
from polygait.population.manifest import encode_manifest
from polygait.population.store import RunFolder


def test_lines_round_trip_as_strict_json(run):
    records = [
        {"step": 1, "return": 2.5, "names": ["a", "b"], "inner": {"x": None, "ok": True}},
        {},
        {"low": -math.inf, "high": math.inf, "text": "Zoë \n \ud800"},
        {"array": np.arange(3), "number": np.float32(0.1), "count": np.int64(2)},
        {"nan": math.nan},
    ]
    with run.writing():
        for record in records:
            run.append_metrics(record)
    found = RunFolder.open(run.path).metrics()
    assert found[:3] == records[:3]
    assert found[3] == {"array": [0, 1, 2], "number": float(np.float32(0.1)), "count": 2}
    assert math.isnan(found[4]["nan"])

    def refuse(constant):
        raise AssertionError(constant)

    for line in (run.path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)


@pytest.mark.parametrize("record", [{"crc32": 1}, {"a": object()}, {"a": {1: 2}}, {"a": "NaN"}])
def test_what_would_not_round_trip_is_refused(run, record):
    with run.writing():
        with pytest.raises(UserError):
            run.append_metrics(record)
        run.append_metrics({"good": 1})
    assert run.metrics() == [{"good": 1}]


def test_a_torn_last_line_is_passed_over_and_cut_off_by_the_next_writer(run):
    with run.writing():
        run.append_metrics({"a": 1})
    path = run.path / "metrics.jsonl"
    whole = path.read_bytes()
    for torn in (b"{", whole[:-1], b"\0" * 20):
        path.write_bytes(whole + torn)
        assert run.metrics() == [{"a": 1}] and run.metrics_size() == len(whole)
    with run.writing():
        run.append_metrics({"a": 2})
    assert run.metrics() == [{"a": 1}, {"a": 2}]


def test_a_resumed_log_equals_an_unbroken_one(run):
    path = run.path / "metrics.jsonl"
    size = 0
    with run.writing():
        for step in range(6):
            run.append_metrics({"step": step})
            if step == 3:
                run.sync_metrics()
                size = run.metrics_size()
    unbroken = path.read_bytes()
    with run.writing():
        run.append_metrics({"lost": True})
        run.truncate_metrics(size)
        assert run.metrics_size() == size
        for step in (4, 5):
            run.append_metrics({"step": step})
    assert path.read_bytes() == unbroken


def test_truncating_explains_a_log_that_does_not_fit(run):
    with run.writing():
        run.append_metrics({"a": 1})
        size = run.metrics_size()
        for wrong in (size + 1, size - 1):
            with pytest.raises(UserError, match="does not have the lines") as caught:
                run.truncate_metrics(wrong)
        assert "delete it" in caught.value.remedy
    (run.path / "metrics.jsonl").unlink()
    with run.writing():
        with pytest.warns(UserWarning, match="is missing: the log begins anew"):
            run.truncate_metrics(size)
        run.append_metrics({"a": 2})
    assert run.metrics() == [{"a": 2}]


def test_an_altered_line_is_named(run):
    with run.writing():
        run.append_metrics({"return": 1.5})
        run.append_metrics({"return": 2.5})
    path = run.path / "metrics.jsonl"
    path.write_text(path.read_text().replace("1.5", "7.5"))
    with pytest.raises(UserError, match="line 1 of"):
        run.metrics()


@pytest.fixture
def logged(run):
    """A run with four lines, and checkpoints after the second and the third."""
    with run.writing():
        for step in range(4):
            run.append_metrics({"step": step})
            if step in (1, 2):
                run.sync_metrics()
                run.save_checkpoint(step, {"a": np.ones(1)}, {"metrics": run.metrics_size()})
    return run


def garbage(lines, place):
    return [*lines[:place], b"garbage\n", *lines[place + 1 :]]


def nothing_written(lines, place):
    return [*lines[:place], b"\0" * len(lines[place]), *lines[place + 1 :]]


def one_more(lines, place):
    return [*lines[:place], lines[0], *lines[place:]]


def one_less(lines, place):
    return [*lines[:place], *lines[place + 1 :]]


def exchanged(lines, place):
    return [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]


def cut_off(lines, place):
    return [*lines[:place], lines[place][:5]]


DAMAGES = [garbage, nothing_written, one_more, one_less, exchanged, cut_off]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_checkpoint_is_used_only_with_whole_lines_before_it(logged, damage, place):
    path = logged.path / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(damage(lines, place)))
    if place < 2:
        with pytest.raises(UserError, match=r"Damaged: .*metrics\.jsonl") as caught:
            logged.load_checkpoint()
        assert "delete it" in caught.value.remedy and "Finished members are safe" in caught.value.remedy
        return
    checkpoint = RunFolder.open(logged.path).load_checkpoint()
    assert checkpoint is not None and checkpoint.iteration == 1 and len(checkpoint.skipped) == 1
    assert "00000002.safetensors" in checkpoint.skipped[0] and str(path) in checkpoint.skipped[0]


def test_damage_after_the_last_checkpoint_is_told_and_cut_off(logged):
    path = logged.path / "metrics.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(garbage(whole, 3)))
    checkpoint = logged.load_checkpoint()
    assert checkpoint.iteration == 2 and checkpoint.skipped == ()
    with logged.writing(), pytest.warns(UserWarning, match=r"line 4 of .*was altered"):
        logged.truncate_metrics(checkpoint.metadata["metrics"])
    assert path.read_bytes() == b"".join(whole[:3])


@pytest.mark.parametrize("short", [0, 1, 5])
def test_a_checkpoint_of_the_first_version_trusts_lines_that_vouch_for_themselves(logged, short):
    path = logged.path / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    about = {"metrics": len(b"".join(lines[:3])) - short}
    write_checkpoint(logged.path / "checkpoints", Checkpoint(3, {"a": np.ones(1)}, about))
    assert logged.load_checkpoint().iteration == (2 if short else 3)
    path.write_bytes(b"".join(garbage(lines, 2)))
    with pytest.raises(UserError, match=r"No checkpoint can be read\..*Damaged: line 3 of"):
        (logged.path / "checkpoints" / "00000001.safetensors").unlink(missing_ok=True)
        logged.load_checkpoint()


@pytest.mark.parametrize("damage", DAMAGES)
def test_without_a_checkpoint_the_manifest_remembers_the_log(logged, damage):
    path = logged.path / "metrics.jsonl"
    with logged.writing():
        logged.append_metrics({"step": 4})
        logged.save_member(0, {"a": np.ones(1)}, 1, {})
        logged.clear_checkpoints()
    whole = path.read_bytes()
    with logged.writing():
        logged.append_metrics({"lost": True})  # of a cohort whose checkpoints are gone
        logged.rewind_metrics()
        assert path.read_bytes() == whole
    path.write_bytes(b"".join(damage(whole.splitlines(keepends=True), 2)))
    with logged.writing(), pytest.raises(UserError, match=r"Damaged: .*metrics\.jsonl") as caught:
        logged.rewind_metrics()
    assert "delete it" in caught.value.remedy
    path.unlink()
    with logged.writing(), pytest.warns(UserWarning, match="begins anew"):
        logged.rewind_metrics()
    assert logged.metrics() == []


def test_a_manifest_of_the_first_version_says_nothing_of_the_log(logged):
    manifest = {name: value for name, value in logged.manifest.items() if name != "log"}
    (logged.path / "manifest.json").write_bytes(encode_manifest(manifest))
    before = logged.metrics()
    with logged.writing():
        logged.rewind_metrics()
    assert logged.metrics() == before
    path = logged.path / "metrics.jsonl"
    path.write_bytes(path.read_bytes().replace(b":1", b":7"))
    with logged.writing(), pytest.raises(UserError, match="line 2 of"):
        logged.rewind_metrics()
