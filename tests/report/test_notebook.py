"""What a population and an adaptation show of themselves, in a terminal and in a notebook."""

import re

import numpy as np
import pytest

import polygait as pg
from polygait.adaptation.result import Adaptation
from polygait.config import AdaptConfig


@pytest.fixture
def adaptation():
    nothing = np.full((2, 2), np.nan)
    return Adaptation(
        task="walker",
        variation="<broken>",
        config=AdaptConfig(episodes=2),
        best=1,
        returns=np.array([[100.0, 300.0], [900.0, 1100.0]]),
        progress=np.array([[0.0, 0.8], [8.0, 16.0]]),
        falls=np.array([2, 0]),
        diverged=np.zeros(2, np.int64),
        stopped=(),
        held_out_returns=np.array([800.0]),
        held_out_progress=nothing[0, :1],
        seconds=8.0,
    )


def test_a_population_prints_its_members(population):
    title, head, *rows = repr(population).splitlines()
    assert title == f"Population of 5 members: walker, dir ({population.path})"
    assert head.split() == ["member", "steps", "return", "falls"]  # its training did not measure speeds
    assert rows[1].split() == ["1", "1,003,520", "3,549", "±", "49", "0", "%"]
    assert len({*map(len, (head, *rows))}) == 1


def test_policies_from_elsewhere_print_their_names():
    still = pg.Population.from_policies({"still": lambda seen: np.zeros((len(seen), 3))}, "hopper")
    assert repr(still).splitlines()[1:] == ["member   name", "     0  still"]
    assert repr(still).startswith("Population of 1 member: hopper")


def test_an_adaptation_prints_what_was_chosen(adaptation):
    assert repr(adaptation).splitlines() == [
        "Adaptation of walker to <broken>: exhaustive",
        "member  trials       return   m/s  falls",
        "     0       2    200 ± 100  0.05      2",
        "     1       2  1,000 ± 100  1.50      0  chosen",
        "Chosen: member 1, return 1,000 in its trials, 800 on 1 fresh episodes.",
    ]
    shown = adaptation._repr_html_()
    assert "&lt;broken&gt;" in shown and shown.count("<tr>") == 3 and "<broken>" not in shown


@pytest.mark.slow
def test_a_notebook_shows_every_member(population):
    shown = population._repr_html_()
    assert shown.count("<figure>") == 5 and len(set(re.findall(r"base64,[^\"]+", shown))) == 5
    assert re.search(r"<figcaption>member 3: -?[\d.]+ m/s", shown)


def test_without_a_body_there_are_no_pictures_but_a_table(population, monkeypatch):
    def refused(num_envs=1, **options):
        raise pg.UserError("Nobody trusts <this> robot.", "Name it.")

    monkeypatch.setattr(population, "make_task", refused)
    shown = population._repr_html_()
    assert "No pictures: Nobody trusts &lt;this&gt; robot." in shown and "3,549 ± 49" in shown
