"""The words behind a command, as the parser gets them, and errors in those words."""

import re
import typing

import pytest
import tyro
from hypothesis import given
from hypothesis import strategies as st

from polygait.arguments import READING, gathered, on_the_command_line, options
from polygait.cli import COMMANDS
from polygait.errors import UserError


def command(
    place: typing.Annotated[str, tyro.conf.Positional],
    /,
    *,
    remove: tuple[str, ...] | None = None,
    set: tuple[str, ...] = (),
    steps: int = 2_000_000,
    max_hours: float | None = None,
    size: tuple[int, int] | None = None,
    engine: typing.Literal["local", "ray"] = "local",
    tensorboard: bool = False,
) -> None:
    """One that has an option of every kind; what it is called with is what matters."""
    raise Called(locals())


class Called(Exception):  # noqa: N818 - not an error
    pass


def parsed(*words):
    """What the command is called with."""
    with pytest.raises(Called) as caught:
        tyro.cli(command, args=gathered(command, words), registry=READING)
    return caught.value.args[0]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--set", "a=1", "b=2"),
        ("run", "--set", "a=1", "--set", "b=2"),
        ("run", "--set=a=1", "--set", "b=2"),
        ("run", "--set", "a=1", "--set=b=2"),
        ("--set", "a=1", "--tensorboard", "--set", "b=2", "--steps", "3", "run"),
    ],
)
def test_an_option_given_several_times_adds_up(words):
    assert parsed(*words)["set"] == ("a=1", "b=2")
    assert parsed(*words)["place"] == "run"


def test_options_that_add_up_do_not_mix():
    got = parsed(
        "run", "--set", "a=1", "--remove", "x", "--set", "b=2", "c=3", "--remove", "y", "--steps", "1M"
    )
    assert (got["set"], got["remove"], got["steps"]) == (("a=1", "b=2", "c=3"), ("x", "y"), 1_000_000)
    assert parsed("run")["remove"] is None
    assert parsed("run", "--remove")["remove"] == ()


def test_every_option_that_takes_several_values_is_known():
    found = {
        name: sorted(one.flag for one in options(command).values() if one.several)
        for name, command in COMMANDS.items()
    }
    assert {name: several for name, several in found.items() if several} == {
        "train": ["--remove", "--set"],
        "adapt": ["--set"],
        "filters": ["--remove"],
        "motivation": ["--set"],
        "finetune": ["--set"],
        "tasks": ["--set"],
        "trial": ["--set"],
    }


def test_a_records_fields_are_the_commands_options():
    found = {name: one.flag for name, one in options(COMMANDS["adapt"]).items()}
    assert found["variation"] == "--variation" and found["held_out"] == "--held-out"
    assert found["settings"] == "--set"
    assert {"run", "options"}.isdisjoint(found)
    assert "task" not in options(COMMANDS["train"])  # the word itself, without a flag
    assert (
        on_the_command_line(UserError("`overrides` and `seed=1`"), COMMANDS["train"]) == "--set and --seed 1"
    )


def test_every_option_says_what_it_means(capsys):
    for name, command in COMMANDS.items():
        with pytest.raises(SystemExit):
            tyro.cli(command, args=["--help"], registry=READING)
        told = capsys.readouterr().out
        assert all(f"{one.flag}" in told for one in options(command).values()), name
        for line in told.splitlines():  # the help begins with a capital or a name; only the default would not
            assert not re.search(r"^│ +--?\S+.* {2,}\((default|required)", line), line


@given(st.lists(st.text("ab=,.*", min_size=1, max_size=5), max_size=5), st.data())
def test_wherever_an_option_is_cut_its_values_are_the_same(values, data):
    words = ["run", "--set"]
    for value in values:
        words += ["--set", value] if data.draw(st.booleans()) else [value]
    assert parsed(*words)["set"] == tuple(values)


@pytest.mark.parametrize(
    ("text", "value"), [("1e6", 10**6), ("1M", 10**6), ("250k", 250_000), ("1_000", 1000)]
)
def test_counts_are_written_as_people_write_them(text, value):
    assert parsed("run", "--steps", text)["steps"] == value


def test_options_that_may_be_left_out_are_read_like_others(capsys):
    assert parsed("run", "--max-hours", "1.5")["max_hours"] == 1.5
    assert parsed("run", "--max_hours", "None")["max_hours"] is None
    assert parsed("run", "--size", "640", "1k")["size"] == (640, 1000)
    with pytest.raises(SystemExit) as ended:
        tyro.cli(command, args=["run", "--max-hours", "long"], registry=READING)
    assert ended.value.code == 2
    assert "'long' is not a number, such as 0.05" in capsys.readouterr().err


def test_an_error_is_told_in_the_words_of_its_reader():
    error = UserError(
        "`trials` and `max_falls` belong to racing: give `selector='racing'` or leave them out."
    )
    assert str(error) == ("trials and max_falls belong to racing: give selector='racing' or leave them out.")
    assert on_the_command_line(error, COMMANDS["adapt"]) == (
        "--trials and --max-falls belong to racing: give --selector racing or leave them out."
    )
    assert on_the_command_line(error, COMMANDS["tasks"]) == str(error)  # it has none of these


def test_what_is_no_option_stays_as_it_is():
    error = UserError("Go on with `polygait resume run`; `variation='a b'` of `sac.trials`, `nothing=1`.")
    assert on_the_command_line(error, COMMANDS["adapt"]) == (
        "Go on with `polygait resume run`; --variation 'a b' of --trials, nothing=1."
    )
