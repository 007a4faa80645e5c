"""Robots that no package brings: trained from a class or a file, remembered, and never run unasked."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polygait as pg
from polygait import evaluation
from polygait.population.store import RunFolder
from polygait.tasks import references
from polygait.tasks.fingerprint import fingerprint_of
from tests import tiny
from tests.crawler import write_crawler
from tests.outside import write_package

pytestmark = pytest.mark.usefixtures("quick_compilation")


def forget() -> None:
    """As a new process knows nothing of files that an earlier one has run."""
    references._named.clear()
    references._modules.clear()
    for name in [one for one in sys.modules if one.startswith("polygait_file_")]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def _new_process(monkeypatch, tmp_path):
    """Robots of earlier tests are still in memory; a new process has none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(references, "_loaded_robots", lambda base: iter(()))
    forget()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    file = write_crawler(folder)
    tiny.train(folder / "run", task=f"{file}:Crawler", iterations=1)
    return folder


@pytest.fixture
def run(trained, tmp_path):
    """A run and, beside it, its robot's file."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    manifest = RunFolder.open(tmp_path / "run").manifest
    assert manifest["config"]["task"] == f"{trained / 'crawler.py'}:Crawler"
    return tmp_path / "run"


def imported(file: Path):
    """The class in a file, as a user's own program would import it."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module.Crawler


def name(file: Path) -> None:
    """What `--task FILE:Crawler` does."""
    forget()
    pg.make_task(f"{file}:Crawler")


def test_a_class_an_instance_and_a_file_train_the_same(trained, tmp_path):
    kind = imported(write_crawler(tmp_path))
    expected = pg.load(trained / "run")
    for place, task in enumerate([kind, kind(), kind(weight=1.0), "crawler.py", "crawler:Crawler"]):
        population = tiny.train(tmp_path / str(place), task=task, iterations=1)
        assert population.weights(1) == expected.weights(1)
        assert population.trained_on.fingerprint == expected.trained_on.fingerprint
    assert pg.load(tmp_path / "2").config.task_options == {"weight": 1.0}
    assert pg.load(tmp_path / "0").config.task == "crawler.py:Crawler"
    assert pg.make_task(kind, num_envs=3).num_envs == 3
    assert pg.make_task(kind(2.0), max_episode_steps=7).max_episode_steps == 7


def test_opening_a_run_executes_nothing_and_acting_needs_no_code(run, tmp_path):
    trap = write_crawler(tmp_path, ("COST = 0.01", "COST = 0.01\nPath('ran').touch()"))
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["task"]["source"].endswith("crawler.py")
    population = pg.load(run)
    assert population.act(np.zeros((1, 6)), member=0).shape == (1, 2)
    for attempt in (
        lambda: pg.adapt(run, "broken-front", episodes=1),
        lambda: pg.evaluate(run, suite="damage", episodes=1),
        lambda: pg.diversity_score(run, states=2),
        lambda: pg.extend(run, 1),
    ):
        with pytest.raises(pg.UserError, match=r"robot is Crawler of .*crawler\.py") as caught:
            attempt()
        assert "crawler.py:Crawler" in caught.value.remedy
    assert not Path("ran").exists()
    name(trap)
    assert Path("ran").exists()
    assert pg.adapt(run, "broken-front", episodes=1, held_out=1).best in (0, 1)


def test_a_report_without_the_robots_code_says_what_is_missing(run, tmp_path):
    from polygait.report.run.page import ReportConfig, write_report

    (tmp_path / "crawler.py").rename(tmp_path / "elsewhere.py")
    written = write_report(str(run), None, ReportConfig(pictures=False))
    assert any("Crawler of" in gap.why for gap in written.gaps)
    assert written.path.exists()


def test_a_file_that_is_gone_is_named(run, trained, monkeypatch):
    monkeypatch.setattr(Path, "is_file", lambda _: False)
    with pytest.raises(pg.UserError, match="which is not here") as caught:
        pg.load(run).make_task()
    assert "--task FILE.py:Crawler" in caught.value.remedy


def test_gymnasiums_module_prefix_in_a_manifest_imports_nothing(run, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    folder = RunFolder.open(run)
    with folder.writing():
        folder.update_manifest({"config": {**folder.manifest["config"], "task": "gym:trap:Env-v0"}})
    with pytest.raises(pg.UserError, match="imports a module of its own"):
        pg.load(run).make_task()
    assert not Path("ran").exists()


def count_jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    measure, counts = evaluation.run_members, []

    def counted(population, jobs, make, watch):
        counts.append(len(jobs))
        return measure(population, jobs, make, watch)

    monkeypatch.setattr(evaluation, "run_members", counted)
    return counts


CHANGES = [
    ("COST = 0.01", "COST = 0.5"),
    ("self.weight * motion.velocity", "2 * motion.velocity"),
    ("> -0.15", "> -0.1"),
    ('pos="0.2 0 0"', 'pos="0.21 0 0"'),
]


@pytest.mark.parametrize("change", CHANGES)
def test_results_of_a_robot_that_has_changed_are_measured_anew(run, tmp_path, monkeypatch, change):
    counts = count_jobs(monkeypatch)
    name(write_crawler(tmp_path))
    before = pg.evaluate(run, suite=["nominal"], episodes=2)
    first = pg.adapt(run, episodes=1, held_out=0)
    assert pg.evaluate(run, suite=["nominal"], episodes=2).equals(before)
    name(write_crawler(tmp_path, ("UNUSED = 1", "UNUSED = 2  # nobody reads it")))
    assert pg.evaluate(run, suite=["nominal"], episodes=2).equals(before)
    assert counts == [4]
    name(write_crawler(tmp_path, change))
    after = pg.evaluate(run, suite=["nominal"], episodes=2)
    assert counts == [4, 4]
    assert set(after["robot"]).isdisjoint(before["robot"])
    assert pg.adapt(run, episodes=1, held_out=0).name != first.name
    kept = pl.read_parquet(next((run / "evaluations").glob("*.parquet")))
    assert kept.height == 4


def test_a_new_version_of_a_package_is_measured_anew(tmp_path, monkeypatch):
    source = write_crawler(tmp_path).read_text()
    points = {"polygait.tasks": {"crawler": "crawling_lab:Crawler"}}
    write_package(tmp_path / "site", "crawling_lab", source, points)
    monkeypatch.syspath_prepend(tmp_path / "site")
    tiny.train(tmp_path / "run", task="crawler", iterations=1)
    counts = count_jobs(monkeypatch)
    pg.evaluate(tmp_path / "run", suite=["nominal"], episodes=1)
    information = tmp_path / "site" / "crawling_lab-1.0.dist-info"
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: crawling_lab\nVersion: 1.1\n")
    information.rename(tmp_path / "site" / "crawling_lab-1.1.dist-info")
    from polygait.tasks.source_code import package_version

    package_version.cache_clear()
    pg.evaluate(tmp_path / "run", suite=["nominal"], episodes=1)
    assert counts == [2, 2]


HALF_AS_STRONG = """frame_skip = 5
    from polygait.tasks.actions import law_of_bounds
    import dataclasses
    action_law = law_of_bounds(("front", "back"), np.array([-0.5, -0.5]), np.array([0.5, 0.5]), 100.0)
    action_law = dataclasses.replace(action_law, kinds=("torque", "torque"), effort=(5.0, 5.0))"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ('"legs": ("front", "back")', '"legs": ("back", "front")'),
            "in another order, where 'legs.front' was",
        ),
        (('"speed": ("x",', '"speed": ("y",'), r"without 'speed\.x' and with 'speed\.y'"),
        (
            ('<motor joint="front" gear="5"', '<motor joint="front" gear="6"'),
            "front: gear 5.* and with 'front: gear 6",
        ),
        (("frame_skip = 5", "frame_skip = 4"), "a step of 0.01 s.* and with 'a step of 0.008 s"),
        (("frame_skip = 5", HALF_AS_STRONG), "'front had the scale 1.0, has 0.5', 'back had the scale"),
    ],
)
def test_a_robot_whose_state_or_actions_mean_something_else_is_refused(run, tmp_path, change, words):
    name(write_crawler(tmp_path, change))
    for attempt in (
        lambda: pg.adapt(run, episodes=1),
        lambda: pg.evaluate(run, suite="nominal", episodes=1),
        lambda: pg.extend(run, 1),
    ):
        with pytest.raises(pg.UserError, match=words):
            attempt()


def test_training_does_not_go_on_with_another_robot(run, tmp_path):
    name(write_crawler(tmp_path, CHANGES[0]))
    with pytest.raises(pg.UserError, match="changed since this run began: its reward"):
        pg.extend(run, 1)
    forget()
    name(write_crawler(tmp_path))
    assert len(pg.resume(run)) == 3


def test_a_run_without_a_fingerprint_still_opens(run, tmp_path):
    folder = RunFolder.open(run)
    with folder.writing():
        path = run / "manifest.json"
        manifest = folder.manifest
        from polygait.population.manifest import encode_manifest

        path.write_bytes(
            encode_manifest({key: value for key, value in manifest.items() if key != "fingerprint"})
        )
    name(write_crawler(tmp_path, CHANGES[0]))
    assert pg.adapt(run, episodes=1, held_out=0).best in (0, 1)


def test_what_a_run_could_not_make_again_is_refused(tmp_path):
    kind = imported(write_crawler(tmp_path))
    changed = kind()
    changed.weight = 3.0
    with pytest.raises(pg.UserError, match=r"changed after it was made \(reward\)"):
        tiny.train(tmp_path / "run", task=changed)
    with pytest.raises(pg.UserError, match="weight=<object"):
        tiny.train(tmp_path / "run", task=kind(object()))
    with pytest.raises(pg.UserError, match="A task is a name, a Robot or a subclass of Robot, got 3"):
        tiny.train(tmp_path / "run", task=3)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("missing.py:Crawler", "There is no file .*missing.py"),
        ("crawler.py:Crawlr", "'Crawler'"),
        ("empty.py", "holds no robot"),
        ("broken.py:Robot", r"broken\.py cannot be imported: ZeroDivisionError.*line 2"),
        ("no_such_module:Robot", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("crawler.py:COST", "is 0.01, not a robot"),
    ],
)
def test_mistakes_in_references_are_explained(tmp_path, reference, words):
    write_crawler(tmp_path)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "broken.py").write_text("\n1 / 0\n")
    with pytest.raises(pg.UserError, match=words):
        pg.make_task(reference)


def test_a_fingerprint_does_not_depend_on_where_a_file_lies(tmp_path):
    here, there = write_crawler(tmp_path / "a"), write_crawler(tmp_path / "b", name="other.py")
    one, other = (fingerprint_of(pg.make_task(f"{file}:Crawler")) for file in (here, there))
    assert one == other == fingerprint_of(pg.make_task(imported(here)))
    assert one.actions[1] == "front: gear 5, range -1 1, gain 0 (1), bias 0 (0), dyn 0 (1)"
