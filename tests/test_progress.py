"""What a person sees of long work."""

import io
import math
import sys

import pytest

from polygait import progress
from polygait.progress import Progress, all_of, amount, duration, finish, printer

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
        "member 3/10  500k/2.00M steps  41,234 steps/s  return 3,286  bonus/reward 0.12  62 min left"
    )


def test_without_a_bonus_none_is_shown():
    assert "bonus" not in str(LINE._replace(bonus_ratio=0.0))


def test_a_return_nobody_knows_yet_is_still_a_line():
    assert "return nan" in str(LINE._replace(episode_return=float("nan")))


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
    assert [line.split()[2] for line in lines] == ["0k/2.00M", "10k/2.00M", "20k/2.00M"]
    assert "\r" not in stream.getvalue() and "\x1b" not in stream.getvalue()


def test_one_live_line_on_a_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    report = printer()
    report(LINE)
    report(LINE._replace(share=1.0, members="4/10"))
    finish()
    text = stream.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n")
    first, second = text.split("\r")[1:]
    assert first.count("█") == 5 and first.count("░") == 15 and " 25 %" in first
    assert second.count("█") == 20 and "100 %" in second and "member 4/10" in second


def test_several_reporters_hear_the_same():
    heard: list[tuple[int, Progress]] = []
    report = all_of(lambda line: heard.append((1, line)), lambda line: heard.append((2, line)))
    report(LINE)
    assert heard == [(1, LINE), (2, LINE)]
