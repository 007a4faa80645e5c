"""Results fit where they go, and what users and their files say is shown as it is."""

import io
import re
import sys

import polars as pl
import pytest

from polygait import console
from polygait.evaluation import SCHEMA
from polygait.screen import print_table
from polygait.study.status import JobStatus

ODD = "[/run] [red] :smile:"
"""Text that Rich would take for markup and an emoji."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """What is to be read, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.getvalue())


def terminal(columns, monkeypatch):
    """Standard output on a terminal so wide."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    return screen


def evaluation(num_members=10, conditions=("nominal", "broken-left-thigh", "foot-mass")):
    """Returns that all differ and all have five characters; the best member of each row is another one."""
    rows = [
        {
            "condition": name,
            "scale": 1.5 if name == "foot-mass" else None,
            "member": member,
            "mean_return": 1000.0 + 100 * row + (member + 3 * row) % num_members,
            "diverged": int(row == 1),
            "variation": name,
            "world": name,
            "falls": 0.0,
            "returns": [1.0],
        }
        for row, name in enumerate(conditions)
        for member in range(num_members)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def returns_in(shown):
    return [word for word in shown.split() if word.startswith("1,")]


@pytest.mark.parametrize("columns", [80, 120])
def test_ten_members_fit_a_terminal(columns, monkeypatch):
    screen = terminal(columns, monkeypatch)
    console.print_evaluation(evaluation())
    shown = screen.text()
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert sorted({word.rstrip("*") for word in returns_in(shown)}) == sorted(
        f"{value:,.0f}" for value in evaluation()["mean_return"]
    )
    assert sum("broken-left-thigh  " in line for line in lines) == (2 if columns == 80 else 1)


def test_the_best_member_has_a_sign_and_not_only_a_colour(capsys):
    console.print_evaluation(evaluation())
    shown = capsys.readouterr().out
    assert [word for word in returns_in(shown) if word.endswith("*")] == ["1,009*", "1,109*", "1,209*"]
    assert "* is the best" in shown and "10 of broken-left-thigh" in shown


def test_a_file_gets_every_line_whole(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    console.print_evaluation(evaluation(100))
    lines = [line for line in capsys.readouterr().out.splitlines() if "foot-mass=1.5" in line]
    assert [len(returns_in(line)) for line in lines] == [100]


@pytest.mark.parametrize("columns", [80, 120])
def test_long_texts_break_and_lose_nothing(columns, monkeypatch):
    screen = terminal(columns, monkeypatch)
    reason = "OSError: " + "/".join(f"folder{number:02}" for number in range(20))
    jobs = [
        JobStatus("a", "minitaur-bullet", "smerl", 0, "failed", "", 0.5, 0.0, 1.0, reason, ""),
        JobStatus("b", "walker", "dir", 1, "running", "training", 0.5, 12_345.0, 1.0, "", ""),
    ]
    console.print_study("study", jobs)
    lines = screen.text().splitlines()
    assert max(map(len, lines)) <= columns
    begun = next(place for place, line in enumerate(lines) if "OSError" in line)
    column = lines[begun].index("OSError")
    assert reason.replace(" ", "") in "".join(line[column:].strip() for line in lines[begun:]).replace(
        " ", ""
    )
    assert "training, 12,345 steps/s" in screen.text()
    for word in (
        "minitaur-bullet   smerl    0",
        "walker            dir      1",
    ):  # in every part of the table
        assert sum(word in line for line in lines) == (2 if columns == 80 else 1)


def test_odd_texts_in_a_table(capsys):
    print_table(console.console(), ODD, (f"column {ODD}",), [(f"cell {ODD}",)])
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
    console.print_evaluation(evaluation(2, (ODD, ODD)))
    assert ODD in capsys.readouterr().out


def test_styles_are_told_apart_from_text(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    status = JobStatus("job", "hopper", "dir", 0, "done", "", 1.0, 0.0, 1.0, "", "")
    console.print_study("study", [status])
    assert "\x1b[32mdone" in capsys.readouterr().out


def test_long_heads_break_before_a_table_does(monkeypatch):
    screen = terminal(60, monkeypatch)
    heads = ("filter", "log-likelihood (nats)", "what it reveals (nats)", "variance")
    print_table(console.console(), "", heads, [("without torso", "-2.58", "0.00", "0.3")])
    lines = screen.text().splitlines()
    assert max(map(len, lines)) <= 60
    assert sum("without torso" in line for line in lines) == 1
    assert not any("log-likelihood (nats)" in line for line in lines)
