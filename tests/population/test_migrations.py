"""What 0.1 wrote: populations act as ever, and what was under way goes on."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests import tiny

import polygait as pg
from polygait.population.checkpoints import write_checkpoint
from polygait.population.manifest import FORMAT
from polygait.population.migrations import MIGRATIONS
from polygait.population.store import RunFolder
from polygait.run_config import RunConfig

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(params=["walker-dir", "hopper-dir"])
def kept(request):
    """A population as 0.1 left it."""
    assert json.loads((DATA / request.param / "manifest.json").read_text())["format"] == 1
    return DATA / request.param


def mean_actions(file: Path, observations: np.ndarray) -> np.ndarray:
    """tanh(mlp(normalised observation)), from a member's tensors alone."""
    tensors = load_file(file)
    values = (observations - tensors["brain.moments.mean"]) / np.sqrt(tensors["brain.moments.variance"])
    values = np.clip(values, -10, 10)
    for layer in range(3):
        weights, biases = (
            tensors[f"brain.policy.network.{kind}[{layer}]"].astype(np.float64)
            for kind in ("weights", "biases")
        )
        values = np.tanh(values @ weights + biases)
    return values


def test_members_of_0_1_act_as_their_tensors_say(kept):
    population = pg.load(kept)
    assert len(population) == 5
    chance = np.random.default_rng(0)
    observations = population.make_task(32).reset() + 0.3 * chance.normal(size=(32, population.layout.size))
    for member in population.members:
        expected = mean_actions(kept / "members" / f"{member.index:03d}.safetensors", observations)
        found = population.act(observations, member.index)
        np.testing.assert_allclose(found, expected, atol=2e-6)
        assert np.abs(expected).max() > 0.5  # so that something could differ


def test_a_configuration_of_0_1_keeps_every_value(kept):
    old = json.loads((kept / "manifest.json").read_text())["config"]
    run = RunConfig.from_json(RunFolder.open(kept).manifest["config"])
    new = json.loads(json.dumps(run.to_json()))
    assert new["learner"].items() >= {"name": "ppo", **old.pop("ppo")}.items()  # later settings have defaults
    assert new["method_config"].items() >= old.pop("dir").items()
    for name, value in old.items():
        assert new[name] == value


def test_every_format_has_a_step_to_the_next():
    assert sorted(MIGRATIONS) == list(range(1, FORMAT))


def test_the_sections_of_other_methods_go():
    """Later runs of 0.1 had settings of all methods, whichever their own was."""
    config = {"method": "dvd", "ppo": {"epochs": 3}, "dir": {"epochs": 9}, "smerl": {}, "dvd": {"ridge": 0.2}}
    moved = MIGRATIONS[1]({"config": config, "complete": True})
    assert moved["config"] == {
        "method": "dvd",
        "learner": {"name": "ppo", "epochs": 3},
        "method_config": {"ridge": 0.2},
    }
    assert moved["complete"]
    single = MIGRATIONS[1]({"config": {**config, "method": "pg"}})
    assert single["config"]["method_config"] == {}


NAMES_0_1 = {
    ".learner.networks": ".learner",
    ".learner.normalizer": ".normalizer",
    ".kept.policies": ".kept.brain",
}
"""How 0.1 called the parts of a loop's state."""


def rename(tensor: str) -> str:
    for new, old in NAMES_0_1.items():
        if tensor.startswith(f"state{new}"):
            return f"state{old}{tensor.removeprefix(f'state{new}')}"
    return tensor


@pytest.mark.parametrize("method", ["dir", "multi"])
def test_a_checkpoint_of_0_1_goes_on(method, tmp_path, monkeypatch, quick_compilation):
    wanted = tiny.config("keep=best-episode", method=method)
    pg.train(wanted, tmp_path / "alone")
    tiny.crashed(tmp_path / "run", 3, monkeypatch, wanted)
    run = RunFolder.open(tmp_path / "run")
    checkpoint = run.load_checkpoint()
    assert checkpoint is not None and checkpoint.iteration == 2
    for name in list(checkpoint.tensors):
        checkpoint.tensors[rename(name)] = checkpoint.tensors.pop(name)
    del checkpoint.tensors["state.position.num_steps"]  # 0.1 counted iterations
    assert not any(".learner.networks" in name or "policies" in name for name in checkpoint.tensors)
    assert any(name.startswith("state.kept.brain.moments") for name in checkpoint.tensors)
    write_checkpoint(tmp_path / "run" / "checkpoints", checkpoint)
    pg.resume(tmp_path / "run")
    tiny.assert_same_run(tmp_path / "run", tmp_path / "alone")
