"""Members that go on from an earlier one in a damage that nobody survives: where, from whom, and exactly."""

import itertools
import shlex
import shutil
from typing import Any

import numpy as np
import pytest

import polygait as pg
from polygait import cli, training
from polygait.cohort import Assignment, make_cohort
from polygait.errors import UserError
from polygait.learning.stacking import member_of
from polygait.population.population import section
from polygait.population.store import RunFolder
from polygait.report.run.reproduce import run_command
from polygait.resolving import resolve
from polygait.run_config import RunConfig
from polygait.specialists import EPISODES, damages, most_needed, to_try
from tests import tiny
from tests.tiny import Killed, assert_same_run, crash_at, digests

pytestmark = pytest.mark.usefixtures("quick_compilation")
AGAINST = "broken(foot_joint), gravity=1.4"
OPTIONS: dict[str, Any] = {"members": 4, "specialists": 2, "against": AGAINST, "specialist_steps": 128}
ITERATIONS = 2 * 3 + 2 * 2
"""Two members of three rollouts one after the other, two specialists of two."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two members of Hopper by DiR, and two specialists."""
    out = tmp_path_factory.mktemp("specialists") / "run"
    tiny.train(out, **OPTIONS)
    return out


@pytest.mark.parametrize(
    ("kept", "attempts", "expected"),
    [
        ([[4, 1.9, 1, 3], [2, 0.5, 1.5, 0]], [0, 0, 0], (0, 0)),  # the nearest to 2, half of the best speed
        ([[4, 1.9, 1, 3], [2, 0.5, 1.5, 0]], [1, 0, 0], (1, 1)),  # who has been tried before comes later
        ([[4, 1.9, 1, 3], [2, 0.5, 1.5, 0]], [1, 1, 0], (0, 0)),  # and again before what is survived
        ([[4, 2.0, 3, 3], [2, 0.5, 1.5, 9]], [0, 0, 0], (0, 0)),  # all are survived: where least is kept
        ([[4, -1.0, -0.5, 3], [8, -2.0, -3.0, 3]], [0, 0, 0], (2, 0)),  # half of 8: nobody survives the third
    ],
)
def test_the_next_is_for_the_damage_that_needs_it_most(kept, attempts, expected):
    assert most_needed(np.array(kept, dtype=float), attempts) == expected


_ = np.nan


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([[_, _, _], [_, _, _]], [[1, 1, 1], [1, 1, 1]]),  # at the beginning everybody everywhere
        ([[4, 2.0, 1.9], [3, 2.0, 1.0]], [[0, 0, 0], [0, 0, 0]]),  # nobody twice
        ([[4, 2.0, 1.9], [_, _, _]], [[0, 0, 0], [1, 0, 1]]),  # not where somebody survives
        ([[4, 2.0, 1.9], [8, _, 2.0]], [[0, 0, 0], [0, 1, 0]]),  # half of 8: now nobody does
    ],
)
def test_members_are_tried_where_nobody_survives(kept, expected):
    np.testing.assert_array_equal(to_try(np.array(kept)), np.array(expected, dtype=bool))


def test_who_was_not_tried_somewhere_is_not_gone_on_from():
    assert most_needed(np.array([[4, 1.0, 3.0], [3, _, _], [2, 1.5, _]]), [0, 0]) == (0, 2)


def test_every_suite_and_any_list_of_variations_name_damages():
    task = pg.make_task("hopper")
    assert damages("broken(foot_joint), mass(foot,leg)=2 ,nominal", task) == [
        "broken(foot_joint)",
        "mass(foot,leg)=2",
    ]
    assert len(damages("mesh", task)) == 21
    assert damages("damage", task) == ["broken-thigh", "broken-leg", "broken-foot"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nominal", ["names no damage", "broken(foot_joint)"]),
        (" , ", ["names no damage"]),
        ("brokn(foot_joint)", ["brokn", "broken"]),
        ("broken(foot_jont)", ["foot_jont", "foot_joint"]),
    ],
)
def test_what_is_no_damage_is_refused_before_anything_begins(text, words, tmp_path):
    with pytest.raises(UserError) as error:
        tiny.train(tmp_path / "run", **{**OPTIONS, "against": text})
    assert all(word in str(error.value) for word in words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"specialists": 4}, ["specialists 4", "members 4", "at least one"]),
        ({"specialists": -1}, ["specialists", "not be negative"]),
        ({"specialists": 0}, ["against is about specialists", "specialist_steps is about specialists"]),
        ({"specialist_steps": 0}, ["specialist_steps", "at least 1"]),
        ({"method": "pg"}, ["pg trains one policy"]),
        ({"method": "smerl", "specialists": 3}, ["smerl", "needs at least 2"]),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(UserError) as error:
        resolve(tiny.config(**{**OPTIONS, **options}))
    assert all(word in str(error.value) for word in words)


def test_who_goes_on_where_is_written_down_with_what_it_was_decided_by(trained):
    run, population = RunFolder.open(trained), pg.load(trained)
    assert [member.steps for member in population.members] == [192, 192, 128, 128]
    tried, listed = run.manifest["tried"], AGAINST.split(", ")
    assert tried["damages"] == listed
    assert set(tried["kept"]) == {"0", "1", "2"}  # the last one has nobody after it
    attempts = [0, 0]
    for specialist in (2, 3):
        kept = np.array([tried["kept"][str(member)] for member in range(specialist)], dtype=float)
        need = most_needed(kept, attempts)
        attempts[need.damage] += 1
        assert Assignment.of(run, specialist) == (listed[need.damage], need.origin)
        assert "variation_return" in population.members[specialist].summary
    assert [Assignment.of(run, member) for member in (0, 1)] == [None, None]
    nominal = [member.summary["nominal_speed"] for member in population.members[:3]]
    measured = [tried["kept"][str(member)][0] for member in range(3)]
    assert measured == pytest.approx(nominal, abs=0.1)  # other starts


def test_a_specialist_starts_from_the_member_that_it_goes_on_from(tmp_path):
    with pytest.raises(Killed):
        pg.train(tiny.config(**OPTIONS), tmp_path / "run", crash_at(7))
    run = RunFolder.open(tmp_path / "run")
    cohort = make_cohort(run, None, 1)
    assigned = Assignment.of(run, 2)
    assert assigned is not None
    assert (cohort.first, cohort.size, cohort.config.variation) == (2, 1, assigned.variation)
    assert (cohort.config.method, cohort.config.steps_per_member) == ("multi", 128)
    exported = cohort.learner.export(training._initial_state(cohort).learner)
    found = {name: np.asarray(array) for name, array in training.flatten_tree(member_of(exported, 0)).items()}
    expected = section(run.load_member(assigned.origin), "brain")
    assert all(np.array_equal(found[name], array) for name, array in expected.items())


def test_the_members_before_them_are_as_without_specialists(trained, tmp_path):
    tiny.train(tmp_path / "run")
    found = digests(trained)
    assert {name: found[name] for name in ("000.safetensors", "001.safetensors")} == digests(tmp_path / "run")


def test_members_that_train_side_by_side_have_specialists_too(tmp_path):
    shares = []
    tiny_multi = tiny.config(method="multi", **OPTIONS)
    population = pg.train(tiny_multi, tmp_path / "run", lambda line: shares.append(line.share))
    assert [member.steps for member in population.members] == [192, 192, 128, 128]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert resolve(tiny_multi).total_steps == 2 * 192 + 2 * 128


@pytest.mark.parametrize("at", [7, 9, *(pytest.param(at, marks=pytest.mark.slow) for at in (3, 6, 8, 10))])
def test_a_crash_at_any_iteration_changes_nothing(at, trained, tmp_path, monkeypatch):
    assert at <= ITERATIONS
    tiny.crashed(tmp_path / "run", at, monkeypatch, tiny.config(**OPTIONS))
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", trained)


def test_a_crash_among_the_trials_changes_nothing(trained, tmp_path):
    def crash(line: Any) -> None:
        if "trying damages" in line.phase and not line.phase.startswith("trying damages, 0"):
            raise Killed

    with pytest.raises(Killed):
        pg.train(tiny.config(**OPTIONS), tmp_path / "run", crash)
    assert len(RunFolder.open(tmp_path / "run").members) == 2
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", trained)


def test_a_finished_population_is_extended_by_them_to_the_same_bits(trained, tmp_path):
    tiny.train(tmp_path / "run")
    extension = pg.Extension(specialists=1, against=AGAINST, specialist_steps=128)
    for _ in range(2):
        pg.extend(tmp_path / "run", extension)
    assert digests(tmp_path / "run") == digests(trained)
    ours, theirs = (RunFolder.open(path).manifest for path in (tmp_path / "run", trained))
    for part in ("specialists", "tried"):
        assert ours[part] == theirs[part]
    assert RunConfig.from_json(ours["config"]) == RunConfig.from_json(theirs["config"])


def test_new_members_that_must_differ_do_not_ask_specialists(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    with pytest.raises(UserError, match="Specialists are the last members"):
        pg.extend(tmp_path / "run", pg.Extension(1))


@pytest.mark.parametrize(
    ("extension", "words"),
    [
        (pg.Extension(specialists=1, members=2), ["specialists says how many", "members"]),
        (pg.Extension(specialists=0), ["specialists must be at least 1"]),
        (pg.Extension(members=1, against="mesh"), ["against is about specialists"]),
        (pg.Extension(specialists=1, against="nominal"), ["names no damage"]),
        (pg.Extension(), ["specialists=5"]),
    ],
)
def test_a_bad_extension_is_refused_and_changes_nothing(extension, words, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    with pytest.raises(UserError) as error:
        pg.extend(tmp_path / "run", extension)
    assert all(word in str(error.value) for word in words)
    assert_same_run(tmp_path / "run", trained)


def test_the_command_that_makes_it_again_names_them(trained):
    run = RunFolder.open(trained)
    words = shlex.split(run_command(RunConfig.from_json(run.manifest["config"]), run.manifest, "again"))
    given = dict(itertools.pairwise(words))
    assert {name: given[f"--{name}"] for name in ("members", "specialists", "against")} == {
        "members": "4",
        "specialists": "2",
        "against": AGAINST,
    }
    assert given["--specialist-steps"] == "128"


def test_the_command_line_takes_and_shows_them(trained, tmp_path, capsys, monkeypatch):
    words = tiny.words(tiny.config(**OPTIONS), tmp_path / "run")
    monkeypatch.setattr("sys.argv", ["polygait", *words])
    cli.main()
    shown = capsys.readouterr().out
    assert "specialist for" in shown
    assert all(member.specialty in shown for member in pg.load(trained).members)
    assert digests(tmp_path / "run") == digests(trained)
    assert "specialist for" in repr(pg.load(trained))


def test_each_member_is_tried_once(trained, tmp_path, monkeypatch):
    from polygait import specialists

    asked: list[int] = []
    real = specialists.run_members

    def counted(population, jobs, make, watch):
        asked.append(len(jobs))
        return real(population, jobs, make, watch)

    monkeypatch.setattr(specialists, "run_members", counted)
    tiny.train(tmp_path / "run", **OPTIONS)
    run = RunFolder.open(tmp_path / "run")
    newest = [value for value in run.manifest["tried"]["kept"]["2"] if value is not None]
    assert asked == [2 * 3 * EPISODES, len(newest) * EPISODES]
