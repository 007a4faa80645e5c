"""The log: strict lines that survive kills, cut back exactly on resume."""

import json
import math

import numpy as np
import pytest

from polygait.errors import UserError
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
