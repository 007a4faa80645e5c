"""The motivation experiment, small: exact, resumable, and told in numbers and pictures."""

import json
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import polars as pl
import pytest
from tests.tiny import Killed, crash_at, digests

from polygait.config import SACConfig
from polygait.errors import UserError
from polygait.experiments import motivation_chart, reading
from polygait.experiments.motivation import Result, resume_motivation, run_motivation
from polygait.experiments.reading import SETTINGS, MotivationConfig, state_filters
from polygait.experiments.revealing import Inference
from polygait.population.store import RunFolder
from polygait.tasks.registry import make_task

SMALL = SACConfig(
    block_steps=32, lag=8, warmup_steps=64, minibatch_size=16, policy_hidden=(8,), critic_hidden=(8,)
)
TINY = MotivationConfig(steps=200, envs=8, episodes=2, model_hidden=(8,), sac=SMALL)


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
    yield home, run_motivation(TINY, home, threads=1)
    jax.config.update("jax_disable_most_optimizations", False)


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


def test_a_finished_experiment_tells_its_result_again(finished):
    home, result = finished
    again = resume_motivation(home)
    assert repr(again.to_json()) == repr(Result.from_json(json.loads(json.dumps(result.to_json()))).to_json())


def test_a_killed_experiment_goes_on_to_the_same_bits(finished, tmp_path, monkeypatch):
    home, result = finished
    monkeypatch.setattr(reading, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(reading, "CHECKPOINT_SHARE", 1e9)
    with pytest.raises(Killed):
        run_motivation(TINY, tmp_path / "run", 1, crash_at(5))
    resumed = resume_motivation(tmp_path / "run", threads=2)
    assert repr(resumed.to_json()) == repr(result.to_json())
    assert digests(tmp_path / "run") == digests(home)
    assert RunFolder.open(tmp_path / "run").metrics() == RunFolder.open(home).metrics()


CHANGES: dict[str, Any] = {
    "steps": 120,
    "seed": 1,
    "envs": 16,
    "episodes": 3,
    "model_hidden": (9,),
    "model_learning_rate": 1e-2,
    "sac": replace(SMALL, minibatch_size=8),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_every_option_changes_the_result(finished, tmp_path, name):
    changed = run_motivation(replace(TINY, **{name: CHANGES[name]}), tmp_path / "run", 1)
    assert repr(changed.to_json()) != repr(finished[1].to_json())


def test_impossible_options_are_named_at_once(tmp_path):
    config = MotivationConfig(steps=0, envs=7, model_learning_rate=-1.0, sac=SACConfig(discount=2.0))
    with pytest.raises(UserError) as caught:
        run_motivation(config, tmp_path / "run")
    for word in ("steps", "envs 7", "model_learning_rate", "sac.discount"):
        assert word in caught.value.problem
    assert not (tmp_path / "run").exists()


def made_up() -> Result:
    joints = [f"{one}{side}_joint" for side in ("", "_left") for one in ("thigh", "leg", "foot")]
    models = {
        name: Inference(np.full(6, 0.1 * number), np.full(6, 0.1 * number), -float(number))
        for number, name in enumerate(SETTINGS, start=1)
    }
    return Result(models, joints, 1234, np.array([10.0, 20.0]))


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
