"""The motivation experiment, small: exact, resumable, and told in numbers and pictures."""

import json
from dataclasses import fields, replace
from typing import Any

import jax
import numpy as np
import polars as pl
import pytest
from tests.tiny import Killed, crash_at, digests, save_every_iteration

from polygait.errors import UserError
from polygait.experiments import motivation_chart
from polygait.experiments.motivation import MotivationConfig, Result, resume_motivation, run_motivation
from polygait.experiments.reading import SETTINGS, state_filters
from polygait.experiments.revealing import Inference
from polygait.population.migrations import MIGRATIONS
from polygait.population.store import RunFolder
from polygait.tasks.registry import make_task

SMALL = (
    "motivation.block_steps=32",
    "motivation.lag=8",
    "motivation.warmup_steps=64",
    "motivation.minibatch_size=16",
    "motivation.policy_hidden=8",
    "motivation.critic_hidden=8",
    "motivation.model_hidden=8",
)
TINY = MotivationConfig(steps=200, episodes=2, threads=1, overrides=SMALL)


def test_the_four_settings_are_the_papers():
    """Appendix A: all, then without the angular velocities of feet, of legs, of thighs."""
    removed = [one.removed_names for one in state_filters(make_task("walker").layout)]
    assert [len(one) for one in removed] == [0, 2, 4, 6]
    assert set(removed[1]) == {"right_leg.velocity.foot", "left_leg.velocity.foot"}
    assert set(removed[2]) - set(removed[1]) == {"right_leg.velocity.leg", "left_leg.velocity.leg"}
    assert set(removed[3]) - set(removed[2]) == {"right_leg.velocity.thigh", "left_leg.velocity.thigh"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    jax.config.update("jax_disable_most_optimizations", True)
    home = tmp_path_factory.mktemp("motivation") / "run"
    yield home, run_motivation(TINY, home)
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.mark.slow
def test_every_model_is_asked_about_the_same(finished):
    home, result = finished
    assert list(result.models) == list(SETTINGS)
    for one in result.models.values():
        assert one.variance.shape == one.error.shape == (6,)
        assert np.isfinite(one.variance).all() and (one.variance > 0).all()
    assert result.returns.shape == (2,) and result.num_transitions > 2
    run = RunFolder.open(home)
    assert run.complete and run.load_checkpoint() is None
    assert run.metrics()[-1]["steps"] == 224  # whole blocks
    assert len(run.metrics()[-1]["model_loss"]) == 4


@pytest.mark.slow
def test_a_finished_experiment_tells_its_result_again(finished):
    home, result = finished
    again = resume_motivation(home)
    assert repr(again.to_json()) == repr(Result.from_json(json.loads(json.dumps(result.to_json()))).to_json())


@pytest.mark.slow
def test_a_killed_experiment_goes_on_to_the_same_bits(finished, tmp_path, monkeypatch):
    home, result = finished
    save_every_iteration(monkeypatch)
    with pytest.raises(Killed):
        run_motivation(TINY, tmp_path / "run", crash_at(5))
    resumed = resume_motivation(tmp_path / "run", threads=2)
    assert repr(resumed.to_json()) == repr(result.to_json())
    assert digests(tmp_path / "run") == digests(home)
    assert RunFolder.open(tmp_path / "run").metrics() == RunFolder.open(home).metrics()


@pytest.mark.slow
def test_an_experiment_of_0_1_is_told_or_left_to_it(finished, tmp_path):
    """Its result was kept where ours is; what was under way cannot go on to the same bits."""
    home, result = finished
    manifest = RunFolder.open(home).manifest
    parts = ("task", "layout", "filter", "versions", "seeds")
    old = {"config": {"experiment": "motivation", "steps": 200}, **{name: manifest[name] for name in parts}}
    migrated = MIGRATIONS[1](old)
    assert migrated["experiment"] == {"name": "motivation", "steps": 200} and migrated["config"] == {}
    RunFolder.create(tmp_path / "begun", migrated)
    with pytest.raises(UserError, match=r"was begun by polygait 0\.1"):
        resume_motivation(tmp_path / "begun")
    RunFolder.create(tmp_path / "done", {**migrated, "result": manifest["result"]})
    assert repr(resume_motivation(tmp_path / "done").to_json()) == repr(result.to_json())


CHANGES: dict[str, Any] = {
    "steps": 120,
    "seed": 1,
    "episodes": 3,
    "updates_per_step": 0.5,
    "overrides": (*SMALL, "motivation.minibatch_size=8"),
    "model_hidden": (*SMALL, "motivation.model_hidden=9"),
    "model_learning_rate": (*SMALL, "motivation.model_learning_rate=1e-2"),
}


def test_every_option_is_tried_or_exempt():
    assert {field.name for field in fields(MotivationConfig)} == {
        *(set(CHANGES) - {"model_hidden", "model_learning_rate"}),
        "threads",  # which must not change any bit: the resumed experiment has another number
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_every_option_changes_the_result(finished, tmp_path, name):
    option = "overrides" if name.startswith("model") else name
    changed = run_motivation(replace(TINY, **{option: CHANGES[name]}), tmp_path / "run")
    assert repr(changed.to_json()) != repr(finished[1].to_json())


def test_impossible_options_are_named_at_once(tmp_path):
    wrong = ("motivation.discount=2", "motivation.model_learning_rate=-1", "motivation.model_hidden=0")
    with pytest.raises(UserError) as caught:
        run_motivation(MotivationConfig(steps=0, overrides=wrong), tmp_path / "run")
    for word in ("steps", "motivation.discount", "model_learning_rate", "model_hidden"):
        assert word in caught.value.problem
    with pytest.raises(UserError, match="episodes must be at least 1, got 0"):
        run_motivation(MotivationConfig(episodes=0), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def made_up() -> Result:
    joints = [f"{one}{side}_joint" for side in ("", "_left") for one in ("thigh", "leg", "foot")]
    models = {
        name: Inference(np.full(6, 0.1 * number), np.full(6, 0.1 * number), -float(number))
        for number, name in enumerate(SETTINGS, start=1)
    }
    return Result(models, joints, 1234, np.array([10.0, 20.0]))


@pytest.mark.slow
def test_the_result_becomes_files(tmp_path):
    paths = motivation_chart.write_result(made_up(), tmp_path)
    assert [path.name for path in paths] == [f"motivation.{kind}" for kind in ("html", "svg", "png", "csv")]
    assert all(path.stat().st_size > 0 for path in paths)
    picture = paths[1].read_text()
    for word in ("left thigh", "right foot", "without foot and leg velocities", "1,234", "full torque"):
        assert word in picture
    told = pl.read_csv(paths[3])
    assert told.shape == (24, 5)
    assert told.filter(pl.col("model") == 3)["variance"].mean() == pytest.approx(0.3)
