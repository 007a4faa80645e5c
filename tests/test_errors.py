"""Errors that help: value, rule, remedy, near matches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygait.errors import UserError, did_you_mean, unknown_name


def test_user_error_is_a_value_error_that_shows_problem_and_remedy():
    error = UserError("Broken.", "Mend it.")
    assert isinstance(error, ValueError)
    assert (error.problem, error.remedy, str(error)) == ("Broken.", "Mend it.", "Broken.\nMend it.")


def test_options_between_backquotes_are_spelled_for_their_reader():
    error = UserError("`trials` are for racing.", "Give `selector='racing'`, as in `polygait adapt`.")
    assert str(error) == "trials are for racing.\nGive selector='racing', as in `polygait adapt`."
    assert (error.problem, error.remedy) == tuple(str(error).splitlines())
    told = error.spelled(lambda name, value: f"<{name}|{value}>")
    assert told == "<trials|None> are for racing.\nGive <selector|'racing'>, as in `polygait adapt`."


def test_without_a_remedy_there_is_no_empty_line():
    assert str(UserError("Broken.")) == "Broken."


@pytest.mark.parametrize(
    ("name", "known", "sentence"),
    [
        ("foot_join", ["foot_joint", "rootx"], "Did you mean 'foot_joint'?"),
        ("leg", ["torso", "leg_1", "legs"], "Did you mean 'legs' or 'leg_1'?"),
        ("leg", ["leg_123", "leg_12", "leg_1", "legs"], "Did you mean 'legs', 'leg_1' or 'leg_12'?"),
        ("zzz", ["b", "a", "a"], "Known: a, b."),
        ("zzz", [], "There is none to choose from."),
    ],
)
def test_near_matches_come_first_and_otherwise_the_choices(name, known, sentence):
    assert did_you_mean(name, known) == sentence
    assert str(unknown_name("joint", name, known)) == f"Unknown joint: {name!r}.\n{sentence}"


def test_a_long_list_of_choices_is_cut_and_counted():
    sentence = did_you_mean("zzz", [f"{number:02}" for number in range(20)])
    assert sentence.endswith("10, 11 and 8 more.")
    assert "12" not in sentence


@settings(deadline=None)
@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=20))
def test_any_name_gets_an_answer_of_one_line_of_choices(name, known):
    assert did_you_mean(name, known)
    assert isinstance(unknown_name("thing", name, known), UserError)
