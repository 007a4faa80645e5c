"""A method and a robot of another package: one file and an entry point each, and all commands know them."""

import shutil
import sys

import numpy as np
import pytest

import polygait as pg
from polygait.errors import UserError
from polygait.population.store import RunFolder
from polygait.report.names import method_colour, method_title
from polygait.report.study.contents import study_figures, study_sources
from polygait.report.study.report import write_report
from polygait.resolving import resolve
from polygait.study.grid import read_study
from polygait.study.jobs import JobFolder, run_job
from polygait.study.results import read_results
from tests import tiny
from tests.outside import write_package
from tests.study import small

pytestmark = pytest.mark.usefixtures("quick_compilation")

METHOD = '''
"""Be paid for moving unlike the mean of all, which is remembered."""

from dataclasses import dataclass

import numpy as np

from polygait.diversity.method import IntrinsicReward, Method, MethodUpdate


@dataclass(frozen=True)
class ApartConfig:
    memory: float = 0.5

    def problems(self):
        return [] if 0 <= self.memory < 1 else [f"apart.memory must lie in [0, 1), got {self.memory}."]


class Apart(Method):
    name = "apart"
    title = "Apart & alone"
    colour = "#123456"
    Config = ApartConfig
    presets = {"paper": {"memory": 0.9}}
    default_alpha = 0.2
    simultaneous = True

    def init(self, keys, setting, earlier):
        known = [tensors["mean"] for tensors in earlier]
        start = np.mean(known, axis=0) if known else np.zeros(setting.action_size)
        return np.tile(start, (setting.num_members, 1))

    def intrinsic_reward(self, state, rollout):
        value = np.abs(rollout.action - state.mean(axis=0)).mean(axis=-1).astype(np.float64)
        return IntrinsicReward(value, {})

    def update(self, state, rollout, keys, iteration):
        memory = self.config.memory
        mean = memory * state + (1 - memory) * rollout.action.mean(axis=(0, 2))
        return MethodUpdate(mean, {"apart_mean": np.abs(mean).mean(axis=1)})

    def export(self, state):
        return [{"mean": mean} for mean in state]

    def metrics(self, state, rollout):
        return {"apartness": np.abs(state - state.mean(axis=0)).mean(axis=1)}
'''
ROBOT = '''
"""A Hopper in a hurry, with numbers of its own."""

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.robots.hopper import Hopper


class Hasty(Hopper):
    name = "hasty"
    max_episode_steps = 40
    conditions = {"moon": "gravity=0.2", "stiff-foot": "broken(foot_joint)"}
    defaults = TaskDefaults(
        alpha={"apart": 0.7},
        settings=for_all_presets({"ppo.discount": 0.9, "sac.discount": 0.8, "apart.memory": 0.25}),
    )
'''
APART = {"method": "apart", "task": "hasty", "alpha": None, "iterations": 3}


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory):
    """Both, as if installed."""
    home = tmp_path_factory.mktemp("site")
    write_package(home, "other_method", METHOD, {"polygait.methods": {"apart": "other_method:Apart"}})
    write_package(home, "other_robot", ROBOT, {"polygait.tasks": {"hasty": "other_robot:Hasty"}})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(home)
        yield
    for name in ("other_method", "other_robot"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def trained(package, quick_compilation, tmp_path_factory):
    out = tmp_path_factory.mktemp("outside") / "run"
    tiny.train(out, **APART)
    return out


def test_its_numbers_are_those_of_method_and_robot():
    run = resolve(pg.TrainConfig("hasty", "apart"))
    assert (run.alpha, run.method_config.memory, run.learner.discount) == (0.7, 0.25, 0.9)
    at_home = resolve(pg.TrainConfig("walker", "apart", preset="paper"))
    assert (at_home.alpha, at_home.method_config.memory) == (0.2, 0.9)
    assert resolve(pg.TrainConfig("hasty", "multi")).learner.discount == 0.9
    with pytest.raises(UserError, match=r"apart\.memory must lie in \[0, 1\), got 3\.0"):
        resolve(pg.TrainConfig("walker", "apart", overrides=("apart.memory=3",)))
    with pytest.raises(UserError, match=r"apart\.memory=0\.1 is for apart; the method is dir"):
        resolve(pg.TrainConfig("walker", overrides=("apart.memory=0.1",)))


def test_it_trains_and_pays(trained):
    log = RunFolder.open(trained).metrics()
    assert len(log) == 3 and all(len(line["apart_mean"]) == 2 for line in log)
    assert min(log[-1]["bonus_ratio"]) > 0
    members = pg.load(trained).members
    assert [member.summary["apartness"] > 0 for member in members] == [True, True]


def test_it_goes_on_after_a_crash_to_the_same_bits(trained, tmp_path, monkeypatch):
    tiny.crashed(tmp_path / "run", 3, monkeypatch, tiny.config(**APART))
    pg.resume(tmp_path / "run")
    tiny.assert_same_run(tmp_path / "run", trained)


def test_it_is_extended_adapted_and_evaluated(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    assert len(pg.extend(tmp_path / "run", pg.Extension(1))) == 3
    population = pg.load(tmp_path / "run")
    result = pg.adapt(population, "stiff-foot", episodes=2, held_out=2)
    assert result.returns.shape == (3, 2) and np.isfinite(result.held_out_return)
    frame = pg.evaluate(population, suite="paper", episodes=2)
    assert frame["condition"].unique().sort().to_list() == ["moon", "nominal", "stiff-foot"]


def test_soft_actor_critic_learns_with_it(tmp_path):
    """Its bonus says of itself that it does not change while members train."""
    tiny.train(tmp_path / "run", **{**APART, "learner": "sac"})
    assert pg.load(tmp_path / "run").config.learner.discount == 0.8


def test_a_study_compares_it(tmp_path):
    file = small.write(tmp_path, methods=["apart", "multi"], steps=64 * 2)
    text = file.read_text().replace('"hopper"', '"hasty"').replace('"damage"', '"paper"')
    file.write_text(text.replace("diversity_states = 20", "diversity_states = 0"))
    study = read_study(file)
    for job in study.jobs():
        home = JobFolder.of(tmp_path, job)
        home.prepare(job)
        run_job(home.path, 1, lambda *_: None)
    results = read_results(study.jobs(), tmp_path)
    assert (results.done, results.jobs) == (2, 2)
    assert (method_title("apart"), method_colour("apart")) == ("Apart & alone", "#123456")
    assert (method_title("apart:wide"), method_colour("apart:wide")) == ("Apart & alone, wide", "#091C2F")
    report = write_report(study, results, tmp_path / "report", charts=False)
    damage = next(file for file in report.files if file.name == "damage.txt").read_text()
    assert "Apart & alone" in damage and "Hasty - stiff foot" in damage
    assert "Apart &amp; alone" in (tmp_path / "report" / "report.html").read_text()
    drawn = [repr(chart.to_dict()) for chart in study_figures(results, study_sources(results)).values()]
    assert any("#123456" in chart and "Apart & alone" in chart for chart in drawn)
