"""What a person sees of long work."""

import io
import math
import sys

import pytest

from polygait import progress
from polygait.progress import Counter, Progress, all_of, amount, duration, finish, liner, printer

LINE = Progress(
    members="3/10",
    share=0.25,
    steps=500_000,
    total_steps=2_000_000,
    steps_per_second=41_234.5,
    episode_return=3286.4,
    bonus_ratio=0.123,
    seconds_left=3725.0,
    record={},
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_names_everything():
    assert str(LINE) == (
        "member 3/10  500k/2.00M steps  return 3,286  62 min left  41,234 steps/s  bonus/reward 0.12"
    )


def test_without_a_bonus_none_is_shown():
    assert "bonus" not in str(LINE._replace(bonus_ratio=0.0))


def test_before_the_first_episode_has_ended_there_is_no_return():
    assert "steps  no episode ended yet  62 min left" in str(LINE._replace(episode_return=math.nan))


def test_a_phase_says_what_goes_on_before_anything_is_known():
    begun = Progress(members="1/10", share=0.0, steps=0, total_steps=2_000_000, phase="compiling")
    assert str(begun) == "member 1/10  0/2.00M steps  compiling"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (45, "45 s"),
        (89, "89 s"),
        (90, "2 min"),
        (720, "12 min"),
        (89 * 60, "89 min"),
        (90 * 60, "1 h 30 min"),
        (3 * 3600 + 5 * 60, "3 h 05 min"),
        (119 * 60 + 59, "2 h 00 min"),
        (100 * 3600, "100 h 00 min"),
    ],
)
def test_durations_are_for_people(seconds, text):
    assert duration(float(seconds)) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((3152.4,), "3,152"),
        ((47.28, 19.73), "47.3 ± 19.7"),
        ((0.424,), "0.42"),
        ((-4.0, 1200.0), "-4 ± 1,200"),
        ((math.nan,), "nan"),
    ],
)
def test_returns_have_the_digits_that_tell_something(values, text):
    assert amount(*values) == text


def test_plain_lines_where_nobody_watches(monkeypatch):
    stream, now = io.StringIO(), [100.0]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    report = printer()
    for step in range(25):
        now[0] = 100.0 + step
        report(LINE._replace(steps=1000 * step))
    finish()
    lines = stream.getvalue().splitlines()
    assert [line.split()[2] for line in lines] == ["0/2.00M", "10k/2.00M", "20k/2.00M"]
    assert "\r" not in stream.getvalue() and "\x1b" not in stream.getvalue()


def test_one_live_line_on_a_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    report = printer()
    report(LINE)
    report(LINE._replace(share=1.0, members="4/10"))
    finish()
    text = stream.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n")
    first, second = text.split("\r")[1:]
    assert first.count("█") == 5 and first.count("░") == 15 and " 25 %" in first
    assert second.count("█") == 20 and "100 %" in second and "member 4/10" in second


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 100, 120, 200])
def test_a_live_line_never_breaks(columns, monkeypatch):
    """A terminal that breaks the line would show every update as a new one."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", str(columns))
    long = LINE._replace(members="1–100/100", steps=123_456_789, total_steps=200_000_000, share=1.0)
    reports = [LINE, long, LINE._replace(phase="compiling"), LINE._replace(episode_return=math.nan)]
    for one in reports:
        printer()(one)
    liner()(0.5, "12/300 jobs  16 running  2 failed  123,456 steps/s  123 h 05 min left")
    Counter("episodes on foot")(1, 1_000_000)
    finish()
    lines = [line.removeprefix("\x1b[2K") for line in stream.getvalue().split("\r")[1:]]
    assert len(lines) == len(reports) + 2
    assert max(map(len, lines)) < columns


def test_a_narrow_terminal_shows_what_matters_most(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    for columns in ("80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        printer()(LINE)
    finish()
    narrow, wide = stream.getvalue().split("\r\x1b[2K")[1:]
    assert narrow == "██░░░░░░░░  25 %  member 3/10  500k/2.00M steps  return 3,286  62 min left"
    assert wide.endswith("62 min left  41,234 steps/s  bonus/reward 0.12\n")


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_no_work_shows_nothing(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    Counter("episodes")(0, 0)
    finish()
    assert stream.getvalue() == ""


def test_several_reporters_hear_the_same():
    heard: list[tuple[int, Progress]] = []
    report = all_of(lambda line: heard.append((1, line)), lambda line: heard.append((2, line)))
    report(LINE)
    assert heard == [(1, LINE), (2, LINE)]


@pytest.mark.parametrize("given", [True, False])
def test_progress_is_shown_beside_who_was_given(given, monkeypatch, capsys):
    heard = []
    monkeypatch.setattr(progress, "_PLAIN_SECONDS", 0.0)
    with progress.reporting(heard.append if given else None, True, lambda: print) as told:
        told("news")
    assert capsys.readouterr().out == "news\n" and heard == ["news"] * given


def test_who_asks_for_nothing_sees_nothing(capsys):
    with progress.reporting(None, False, lambda: print) as told:
        told("news")
    assert capsys.readouterr() == ("", "")
