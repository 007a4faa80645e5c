"""A study's file: what it asks for, what its jobs are called, and everything that is wrong with it."""

import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import tiny
from tests.study import small

import polygait as pg
from polygait import cli
from polygait.errors import UserError
from polygait.resolving import resolve
from polygait.study.grid import Measures, StudyJob, read_study
from polygait.study.shipped import study_names, study_purpose
from polygait.study.study_file import TRAINING

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


WORLDS = '[method."dir:worlds"]\nworlds = "nominal, gravity=0.5..1.5"\n'


def test_a_method_may_be_compared_with_variants_of_itself(tmp_path):
    plain = small.study(tmp_path)
    study = small.study(tmp_path, methods=["dir", "dir:worlds", "multi"], more=WORLDS)
    jobs = study.jobs()
    assert [job.label for job in jobs] == ["dir", "dir:worlds", "multi"]
    assert [job.run.method for job in jobs] == ["dir", "dir", "multi"]
    assert [job.run.worlds for job in jobs] == ["", "nominal, gravity=0.5..1.5", ""]
    assert [names(study)[0], names(study)[2]] == names(plain)  # whatever else is compared
    assert all(StudyJob.from_json(json.loads(json.dumps(job.to_json()))) == job for job in jobs)
    with pytest.raises(UserError, match=r"dir:other trains the same as dir; say under \[method"):
        small.study(tmp_path, methods=["dir", "dir:other"]).jobs()
    for label in ("dir:", ":worlds", "dir:two words", "dir:a:b"):
        with pytest.raises(UserError, match=r"a variant is a method's name, a colon"):
            small.study(tmp_path, methods=["dir", label])
    with pytest.raises(UserError, match="'dri'"):
        small.study(tmp_path, methods=["dri:worlds"]).jobs()


def test_tasks_and_methods_may_have_seeds_of_their_own(tmp_path):
    own = """
[task.walker]
methods = ["multi"]
seeds = [2, 1]
[method.dir]
seeds = [5]
[task.hopper.method.multi]
seeds = [1, 7]
"""
    study = small.study(tmp_path, seeds=[1, 2], tasks=["hopper", "walker"], more=own)
    cells = [(job.run.task, job.run.method, job.run.seed) for job in study.jobs()]
    assert cells == [
        ("hopper", "multi", 1), ("walker", "multi", 1), ("walker", "multi", 2),
        ("hopper", "dir", 5), ("hopper", "multi", 7),
    ]  # fmt: skip
    assert study.size == 5
    for wrong, told in {
        "[task.hopper]\nmethods = ['smerl']\n": "task.hopper.methods names 'smerl', which is not among",
        "[method.dir]\nseeds = [1, 1]\n": "method.dir.seeds names 1 more than once",
        "[method.dir]\nseeds = 'all'\n": "method.dir.seeds must be a list of whole numbers",
        "[method.dir]\nmethods = ['dir']\n": "Unknown entry: method.dir.methods",
    }.items():
        with pytest.raises(UserError, match=re.escape(told)):
            small.study(tmp_path, more=wrong)


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


def test_a_task_may_be_measured_otherwise(tmp_path):
    own = '[task.walker.measure]\nepisodes = "1k"\nsuites = ["mine.toml"]\n'
    (tmp_path / "mine.toml").write_text('variations = ["broken-foot"]')
    plain = small.study(tmp_path, tasks=["hopper", "walker"])
    study = small.study(tmp_path, tasks=["hopper", "walker"], more=own)
    assert names(study) == names(plain), "it changes no training"
    expected = dataclasses.replace(
        plain.measures,
        episodes=1000,
        suites=("mine.toml",),
        suite_texts={"mine.toml": 'variations = ["broken-foot"]'},
    )
    for job in study.jobs():
        assert job.measures == (expected if job.run.task == "walker" else plain.measures)
        assert StudyJob.from_json(job.to_json()).measures == job.measures


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


ALL_METHODS = ["dir", "smerl", "dvd", "multi", "pg"]


def grid(tmp_path, text, methods=ALL_METHODS, tasks=("walker", "minitaur")):
    """A study of full-sized jobs, which are only named and never run."""
    path = tmp_path / "grid.toml"
    axes = {"methods": list(methods), "tasks": list(tasks), "seeds": [0]}
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in axes.items()) + text)
    return read_study(path)


def by_cell(study):
    return {(job.run.task, job.run.method): job for job in study.jobs()}


def test_a_method_has_its_own_choices_in_one_task_and_nobody_else_changes(tmp_path):
    plain = by_cell(grid(tmp_path, ""))
    own = """
[task.minitaur.method.dir]
alpha = 0.0001
members = 3
settings = ["dir.epochs=2"]
[task.minitaur.method.pg]
members = 7
"""
    found = by_cell(grid(tmp_path, own))
    special = found[("minitaur", "dir")]
    assert (special.run.alpha, special.run.members, special.run.method_config.epochs) == (0.0001, 3, 2)
    assert found[("minitaur", "pg")].run.steps == 7 * plain[("minitaur", "pg")].run.steps
    changed = {cell for cell, job in found.items() if job.name != plain[cell].name}
    assert changed == {("minitaur", "dir"), ("minitaur", "pg")}


def test_what_is_for_fewer_jobs_replaces_what_is_for_more(tmp_path):
    text = """
steps = 100_000
settings = ["ppo.epochs=3", "ppo.discount=0.9"]
[task.walker]
steps = 200_000
settings = ["ppo.epochs=4"]
[method.dir]
steps = 300_000
settings = ["ppo.epochs=5"]
[task.walker.method.dir]
steps = 400_000
settings = ["ppo.epochs=6"]
"""
    found = by_cell(grid(tmp_path, text, ["dir", "multi"]))
    seen = {
        cell: (job.run.steps, job.run.learner.epochs, job.run.learner.discount) for cell, job in found.items()
    }
    assert seen == {
        ("walker", "dir"): (400_000, 6, 0.9),
        ("walker", "multi"): (200_000, 4, 0.9),
        ("minitaur", "dir"): (300_000, 5, 0.9),
        ("minitaur", "multi"): (100_000, 3, 0.9),
    }


@pytest.mark.parametrize(
    ("text", "learners"),
    [
        ("", ["ppo", "ppo", "ppo", "ppo"]),
        ('learner = "sac"', ["sac", "sac", "sac", "sac"]),
        ('[task.walker]\nlearner = "sac"', ["sac", "sac", "ppo", "ppo"]),
        ('[method.multi]\nlearner = "sac"', ["ppo", "sac", "ppo", "sac"]),
        ('learner = "sac"\n[task.hopper.method.dir]\nlearner = "ppo"', ["sac", "sac", "ppo", "sac"]),
    ],
)
def test_a_study_chooses_learners_as_it_chooses_other_options(tmp_path, text, learners):
    shared = 'settings = ["ppo.discount=0.9", "sac.discount=0.8", "dir.epochs=7"]\n'
    plain = by_cell(grid(tmp_path, "", ["dir", "multi"], ["walker", "hopper"]))
    found = by_cell(grid(tmp_path, shared + text, ["dir", "multi"], ["walker", "hopper"]))
    assert [job.run.learner.name for job in found.values()] == learners
    for cell, job in found.items():  # settings for the other learner pass by
        assert job.run.learner.discount == {"ppo": 0.9, "sac": 0.8}[job.run.learner.name]
        assert job.name != plain[cell].name
        assert StudyJob.from_json(json.loads(json.dumps(job.to_json()))) == job


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('learner = "sca"', "Unknown learner: 'sca'. Did you mean 'sac'"),
        (
            '[method.multi]\nsettings = ["sac.discount=0.8"]',
            "sac.discount=0.8 is for sac; the learner is ppo",
        ),
        (
            'learner = "sac"\n[method.smerl]\nmembers = 2',
            "sac learns again and again from remembered rewards",
        ),
    ],
)
def test_a_learner_that_cannot_be_is_told(tmp_path, text, told):
    with pytest.raises(UserError) as caught:
        grid(tmp_path, text, ["smerl", "multi"]).jobs()
    assert told in str(caught.value)


def test_a_study_may_hold_every_option_of_a_training_that_changes_its_result():
    axes = {"task", "method", "seed", "threads"}
    options = {one.name for one in dataclasses.fields(pg.TrainConfig)} - axes
    assert set(TRAINING) == options - {"overrides"} | {"settings"}


@pytest.mark.parametrize(
    ("text", "where", "remedy"),
    [
        ("alpha = 0.1", "alpha", "[method.dir]"),
        ("[task.minitaur]\nalpha = 0.0001", "task.minitaur.alpha", "[task.minitaur.method.dir]"),
        ("[task.minitaur]\nalpha = 0.0001\n[method.dvd]\nalpha = 1", "task.minitaur.alpha", "[task.minitaur"),
    ],
)
def test_an_alpha_for_several_bonuses_is_refused(tmp_path, text, where, remedy):
    with pytest.raises(UserError) as caught:
        grid(tmp_path, text)
    assert f"grid.toml: {where} would be that of dir and smerl" in str(caught.value)
    assert remedy in str(caught.value)


def test_an_alpha_that_one_method_takes_stands(tmp_path):
    alone = by_cell(grid(tmp_path, "[task.minitaur]\nalpha = 0.0001", ["dir", "multi", "pg"]))
    assert [job.run.alpha for job in alone.values()] == [0.05, 0.0, 0.0, 0.0001, 0.0, 0.0]
    text = "alpha = 0.2\n[method.smerl]\nalpha = 5.0\n[task.walker.method.dvd]\nalpha = 1.0"
    found = by_cell(grid(tmp_path, text, ["dir", "smerl", "dvd"], ["walker"]))
    assert [job.run.alpha for job in found.values()] == [0.2, 5.0, 1.0]


def test_a_file_of_then_finds_its_jobs_once_each_method_is_named(tmp_path):
    asked = pg.TrainConfig(task="walker", method="smerl", alpha=0.2, seed=0)
    then = StudyJob(asked, resolve(asked), Measures()).name
    text = "".join(f"[task.walker.method.{method}]\nalpha = 0.2\n" for method in ("dir", "smerl"))
    assert by_cell(grid(tmp_path, text, ["dir", "smerl"]))[("walker", "smerl")].name == then


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[task.walker.method.smurl]\nalpha = 1",
            "[task.walker.method.smurl] is for a method that the study",
        ),
        (
            "[task.walker.method.dir]\nalpa = 1",
            "Unknown entry: task.walker.method.dir.alpa. Did you mean 'alp",
        ),
        ("[task.walker.method.dir]\nalpha = true", "task.walker.method.dir.alpha must be a number"),
        ("[task.walker]\nmethod = 3", "task.walker.method must be a table, got 3"),
        ("[task.walker.method]\ndir = 3", "task.walker.method.dir must be a table, got 3"),
        ("[method.dir.task.walker]\nalpha = 1", "Unknown entry: method.dir.task"),
        ('[task."gym:No-v5".method.dir]\nalpha = 1', '[task."gym:No-v5"] is for a task that the study'),
    ],
)
def test_what_is_wrong_in_a_section_for_both_is_told(tmp_path, text, told):
    with pytest.raises(UserError) as caught:
        grid(tmp_path, text)
    assert told in str(caught.value)


def test_counts_are_written_as_people_write_them(tmp_path):
    path = small.write(tmp_path, more='[task.hopper]\nmembers = "0.002k"\n[method.dir]\nenvs = 8.0\n')
    path.write_text(path.read_text() + '[task.hopper.method.dir]\nmembers = "0.003k"\n')
    plain = path.read_text().replace('"0.002k"', "2").replace('"0.003k"', "3").replace("8.0", "8")
    path.write_text(re.sub(r"(?m)^steps = (\d+)$", r"steps = \1e0", path.read_text()))
    path.write_text(re.sub(r"(?m)^episodes = (\d+)$", r'episodes = "\1"', path.read_text()))
    written = read_study(path)
    path.write_text(plain)
    assert written == read_study(path)
    assert [job.name for job in written.jobs()] == [job.name for job in read_study(path).jobs()]
    for value in ('"many"', "1.5", "true"):
        path.write_text(re.sub(r"(?m)^steps = .*$", f"steps = {value}", plain))
        with pytest.raises(UserError, match="steps must be a whole number"):
            read_study(path)


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
        ("task.hopper.measure = 5", "task.hopper.measure must be a table, got 5"),
        ("task.hopper.measure.episodes = 0", "task.hopper.measure.episodes must be at least 1, got 0"),
        ("task.hopper.measure.episode = 4", "Unknown entry: task.hopper.measure.episode."),
        ("method.dir.measure.episodes = 4", "Unknown entry: method.dir.measure."),
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
    ("name", "jobs"),
    [
        ("paper", 5 * 4 * 8),
        ("budget", 4 * 8),
        ("laptop", 4 * 8 + 2 * 3 + 2 * 4 * 4 + 4 * 4),
        ("worlds", 6 * 2 * 3),
        ("screening", 10 * 2 * 3),
        ("smoke", 2 * 2 * 2),
        ("specialists", 2 * 8),
    ],
)
def test_the_shipped_studies(name, jobs):
    study = read_study(name)
    assert study == dataclasses.replace(read_study(STUDIES / f"{name}.toml"), file=study.file)
    made = study.jobs()
    assert study.size == len(made) == jobs
    if name == "paper":
        assert {(job.run.members, job.run.steps) for job in made if job.run.method != "pg"} == {
            (10, 2_000_000)
        }
        assert {job.run.seed for job in made} == {10, 20, 30, 40, 50, 60, 70, 80}
        alphas = {job.run.method: job.run.alpha for job in made if job.run.task == "minitaur"}
        assert alphas == {"dir": 0.0001, "multi": 0.0, "dvd": 0.001, "smerl": 10.0, "pg": 0.0}


def test_studies_come_with_the_package_by_name(tmp_path, monkeypatch, capsys):
    known = study_names()
    assert {"smoke", "laptop", "paper"} <= set(known)
    assert all(study_purpose(name) for name in known)
    monkeypatch.setattr(sys, "argv", ["polygait", "study", "list", "--json"])
    cli.main()
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert list(listed) == known and listed["smoke"]["jobs"] == 8
    monkeypatch.chdir(tmp_path)
    Path("smoke").write_text('methods = ["multi"]\ntasks = ["ant"]\nseeds = [7]\n')
    assert read_study("smoke").seeds == (7,)  # a file of one's own goes before
    with pytest.raises(UserError, match=r"laptop.*smoke"):
        read_study("smoek")
