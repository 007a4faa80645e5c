"""A study's file: what it asks for, what its jobs are called, and everything that is wrong with it."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import tiny
from tests.study import small

from polygait.diversity.registry import METHODS
from polygait.errors import UserError
from polygait.run_config import resolve
from polygait.study.grid import Measures, StudyJob, read_study

STUDIES = Path(__file__).parents[2] / "studies"


def names(study):
    return [job.name for job in study.jobs()]


def test_jobs_are_the_grid_seed_by_seed(tmp_path):
    study = small.study(tmp_path, seeds=[3, 1])
    cells = [(job.run.task, job.run.method, job.run.seed) for job in study.jobs()]
    assert cells == [("hopper", method, seed) for seed in (3, 1) for method in ("dir", "multi")]
    assert all(job.run.learner.rollout_steps == 64 for job in study.jobs())
    assert [job.run.alpha for job in study.jobs()] == [0.5, 0.0, 0.5, 0.0]  # multi has no bonus
    assert study.name == "small" and len(set(names(study))) == 4


def test_what_is_for_one_method_passes_the_others_by(tmp_path):
    plain = small.study(tmp_path)
    study = small.study(tmp_path, settings=[*tiny.SETTINGS, "dir.epochs=7"])
    assert study.jobs()[0].run.method_config.epochs == 7
    assert names(study)[1] == names(plain)[1] and names(study)[0] != names(plain)[0]
    wrong = small.write(tmp_path, more='[method.multi]\nalpha = 0.1\nsettings = ["dir.epochs=7"]\n')
    with pytest.raises(UserError, match="multi does not have") as caught:
        read_study(wrong).jobs()
    assert "dir.epochs=7 is for dir; the method is multi" in str(caught.value)


def test_a_name_is_the_content_of_the_training(tmp_path):
    one = small.study(tmp_path, name="one")
    assert names(one) == names(small.study(tmp_path, name="other"))
    assert names(one)[0].startswith("hopper-dir-0-")
    assert set(names(one)).isdisjoint(names(small.study(tmp_path, steps=64 * 4)))
    assert set(names(one)).isdisjoint(names(small.study(tmp_path, settings=["ppo.epochs=3"])))
    more_seeds = small.study(tmp_path, seeds=[0, 1])
    assert names(more_seeds)[:2] == names(one)


def test_other_measurements_keep_the_training_and_not_the_result(tmp_path):
    one = small.study(tmp_path)
    other = read_study(small.write(tmp_path, more="seed = 5\n"))
    assert names(one) == names(other)
    assert one.measures.address != other.measures.address


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Measures)])
def test_every_measure_changes_the_address(name):
    value = {"suites": ("damage",), "suite_texts": {"a.toml": "x"}}.get(name, 7)
    assert dataclasses.replace(Measures(), **{name: value}).address != Measures().address


def test_tasks_and_methods_may_have_their_own_choices(tmp_path):
    own = """
[task.hopper]
members = 3
[method.dir]
alpha = 0.25
settings = ["dir.epochs=2"]
"""
    dir_, multi = read_study(small.write(tmp_path, more=own)).jobs()
    assert (dir_.run.members, multi.run.members) == (3, 3)
    assert (dir_.run.alpha, multi.run.alpha) == (0.25, 0.0)
    assert dir_.run.method_config.epochs == 2
    assert dir_.run.learner.rollout_steps == 64  # settings add up


def test_pg_trains_one_policy(tmp_path):
    (job,) = small.study(tmp_path, methods=["pg"]).jobs()
    assert job.run.members == 1 and job.training_steps == 64 * 3
    (longer,) = read_study(small.write(tmp_path, methods=["pg"], more="[method.pg]\nmembers = 7\n")).jobs()
    assert longer.run == resolve(dataclasses.replace(job.config, members=7))  # as `polygait train` would
    assert longer.run.members == 1 and longer.training_steps == 7 * 64 * 3


def test_a_job_survives_json(tmp_path):
    suite = tmp_path / "mine.toml"
    suite.write_text('variations = ["broken-foot"]')
    for job in small.study(tmp_path).jobs():
        again = StudyJob.from_json(json.loads(json.dumps(job.to_json())))
        assert again == job and again.name == job.name


def test_a_job_of_another_polygait_is_refused(tmp_path):
    (job, _) = small.study(tmp_path).jobs()
    told = job.to_json()
    told["config"]["steps"] += 64
    with pytest.raises(UserError, match="would train something else"):
        StudyJob.from_json(told)
    with pytest.raises(UserError, match="not a job"):
        StudyJob.from_json({"format": 1})


def test_a_suites_file_is_read_with_the_study(tmp_path):
    suite = tmp_path / "mine.toml"
    suite.write_text('variations = ["broken-foot"]')
    path = small.write(tmp_path)
    path.write_text(path.read_text().replace('"damage"', f'"{suite}"'))
    before = read_study(path).measures
    assert before.suite_texts == {str(suite): 'variations = ["broken-foot"]'}
    suite.write_text('variations = ["broken-leg"]')
    assert read_study(path).measures.address != before.address
    suite.write_text("variations = 3")
    with pytest.raises(UserError, match="must name its variations"):
        read_study(path)


def test_a_suites_file_lies_beside_the_study(tmp_path, monkeypatch):
    folder, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    for place, text in ((folder, "broken-foot"), (elsewhere, "broken-leg")):
        place.mkdir()
        (place / "mine.toml").write_text(f'variations = ["{text}"]')
    path = small.write(folder)
    path.write_text(path.read_text().replace('"damage"', '"damage", "mine.toml"'))
    monkeypatch.chdir(elsewhere)
    assert read_study(path).measures.suite_texts == {"mine.toml": 'variations = ["broken-foot"]'}
    (folder / "mine.toml").unlink()
    with pytest.raises(UserError, match=str(folder / "mine.toml")):
        read_study(path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("task = 5", "task must be a table, got 5"),
        ("method = []", "method must be a table, got []"),
        ("task.hopper = 5", "task.hopper must be a table, got 5"),
        ("measure = 5", "measure must be a table, got 5"),
        ("measure.suites = []", "measure.suites must name at least one suite"),
        ("tasks = 5\n[task.walker]", "tasks must be a list of texts, got 5"),
    ],
)
def test_what_must_be_a_table_or_a_list(tmp_path, line, told):
    path = tmp_path / "wrong.toml"
    axes = {"methods": ["dir"], "tasks": ["hopper"], "seeds": [0]}
    axes.pop(line.partition(" ")[0], None)
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in axes.items()) + line)
    with pytest.raises(UserError) as caught:
        read_study(path)
    assert f"{path}: {told}" in str(caught.value)


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(
        """
methods = ["dir", "dir"]
seeds = ["one"]
member = 3
steps = "many"
alpha = true
task = 5
[method.smurl]
alpha = 0.1
[measure]
episodes = 0
suites = "paper"
episode = 4
"""
    )
    with pytest.raises(UserError) as caught:
        read_study(path)
    told = str(caught.value)
    for words in (
        "tasks is missing",
        "methods names 'dir' more than once",
        "seeds must be a list of whole numbers",
        "Unknown entry: member. Did you mean 'members'",
        "steps must be a whole number, got 'many'",
        "alpha must be a number, got True",
        "task must be a table, got 5",
        "[method.smurl] is for a method that the study does not have",
        "measure.episodes must be at least 1",
        "measure.suites must be a list of texts",
        "Unknown entry: measure.episode. Did you mean 'episodes'",
    ):
        assert words in told, words


def test_impossible_jobs_are_told_at_once(tmp_path):
    study = small.study(tmp_path, methods=["dri", "multi"], steps=0)
    with pytest.raises(UserError) as caught:
        study.jobs()
    assert "hopper, dri: Unknown method: 'dri'" in str(caught.value)
    assert "hopper, multi: steps must be at least 1" in str(caught.value)
    assert str(caught.value).count("hopper, multi: steps") == 1


def test_files_that_are_none(tmp_path):
    with pytest.raises(UserError, match="Cannot read"):
        read_study(tmp_path / "nowhere.toml")
    (tmp_path / "bad.toml").write_text("methods = [")
    with pytest.raises(UserError, match="not TOML"):
        read_study(tmp_path / "bad.toml")


@settings(deadline=None, max_examples=30)
@given(
    st.dictionaries(
        st.text(max_size=8),
        st.one_of(st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=3)),
        max_size=4,
    )
)
def test_whatever_a_file_holds_the_answer_helps(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "any.toml"
    path.write_text("\n".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in content.items()))
    with pytest.raises(UserError):
        read_study(path)


@pytest.mark.parametrize(
    ("name", "jobs"), [("paper", 5 * 4 * 8), ("laptop", 4 * 3 * 2), ("smoke", 2 * 2 * 2)]
)
def test_the_shipped_studies(name, jobs):
    study = read_study(STUDIES / f"{name}.toml")
    assert len(study.methods) * len(study.tasks) * len(study.seeds) == jobs
    known = dataclasses.replace(study, methods=tuple(one for one in study.methods if one in METHODS.names()))
    made = known.jobs()
    assert len(made) == jobs * len(known.methods) // len(study.methods)
    if name == "paper":
        assert {(job.run.members, job.run.steps) for job in made if job.run.method != "pg"} == {
            (10, 2_000_000)
        }
        assert {job.run.seed for job in made} == {10, 20, 30, 40, 50, 60, 70, 80}
