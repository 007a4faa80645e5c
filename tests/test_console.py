"""What users and their files say is shown as it is: no bracket is taken for a colour."""

import polars as pl
import pytest

from polygait import console
from polygait.study.status import JobStatus

ODD = "[/run] [red] :smile:"
"""Text that Rich would take for markup and an emoji."""


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_odd_texts_in_a_table(capsys):
    console.print_table(console.console(), ODD, (f"column {ODD}",), [(f"cell {ODD}",)])
    shown = capsys.readouterr().out
    assert shown.count(ODD) == 3 and f"column {ODD}" in shown and f"cell {ODD}" in shown


def test_a_study_with_odd_reasons_and_paths(capsys):
    status = JobStatus(
        "job", "hopper", "dir", 0, "failed", "", 0.5, 0.0, 1.0, f"KeyError: {ODD}", f"/{ODD}/log"
    )
    console.print_study(ODD, [status])
    shown = capsys.readouterr().out
    assert f"KeyError: {ODD}" in shown and f"Log of job: /{ODD}/log" in shown and "failed" in shown


def test_an_evaluation_with_odd_conditions(capsys):
    columns = {"condition": [ODD, ODD], "scale": [None, None], "member": [0, 1], "mean_return": [1.0, 2.0]}
    console.print_evaluation(
        pl.DataFrame({**columns, "diverged": [0, 0]}, schema_overrides={"scale": pl.Float64})
    )
    assert ODD in capsys.readouterr().out


def test_styles_are_told_apart_from_text(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    status = JobStatus("job", "hopper", "dir", 0, "done", "", 1.0, 0.0, 1.0, "", "")
    console.print_study("study", [status])
    assert "\x1b[32mdone" in capsys.readouterr().out
