"""Policies that were trained elsewhere: functions, SB3's predict, ONNX files, and their mistakes."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygait as pg
from polygait.errors import UserError
from polygait.population.policies import as_function
from polygait.report.run.page import ReportConfig, write_report

TRAINED = Path(__file__).parent.parent / "data" / "hopper-dir"
STEPS = 30


class Predicts:
    """As a model of Stable-Baselines3: observations in, (actions, state) out, noisy unless told otherwise."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def predict(self, observation: np.ndarray, state: Any = None, deterministic: bool = False) -> Any:
        noise = 0 if deterministic else np.random.default_rng().normal(size=(len(observation), 3))
        return np.clip(observation @ self.weights + noise, -1, 1), state


def still(observations: np.ndarray) -> np.ndarray:
    return np.zeros((len(observations), 3))


def push(observations: np.ndarray) -> np.ndarray:
    return np.tile([0.4, -0.2, 9.0], (len(observations), 1))


@pytest.fixture
def population(tmp_path):
    weights = np.random.default_rng(0).normal(size=(11, 3)) / 3
    policies = {"still": still, "sb3-ppo": Predicts(weights), "push": push}
    return pg.Population.from_policies(policies, "hopper", out=tmp_path / "mine", max_episode_steps=STEPS)


def test_a_policy_acts_as_it_did_where_it_came_from():
    """A member of ours, handed over as a function, earns to the bit what it earns at home."""
    trained = pg.load(TRAINED)
    policies = {f"ours-{one}": (lambda seen, one=one: trained.act(seen, one)) for one in (0, 1)}
    given = pg.Population.from_policies(policies, "hopper", max_episode_steps=STEPS)
    states = np.random.default_rng(1).normal(size=(7, 11))
    np.testing.assert_array_equal(given.act(states, 1), trained.act(states, 1))
    assert [one.title for one in given.members] == ["ours-0", "ours-1"]
    found = pg.evaluate(given, suite=["broken-foot"], episodes=2)["mean_return"].to_list()
    task = pg.make_task("hopper", 1, max_episode_steps=STEPS)
    assert len(found) == 2 and found[0] != found[1] and task.max_episode_steps == STEPS


def test_adapt_evaluate_behaviour_and_trials_take_them(population):
    result = pg.adapt(population, "broken-foot", selector="racing", trials=6, held_out=1)
    assert result.task == "hopper" and len(set(result.weights)) == 3
    assert list((population.path / "adaptations").glob("broken-foot.racing-*.json"))
    frame = pg.evaluate(population, suite=["gravity=1.4", "delay=2", "nominal", "broken-leg"], episodes=2)
    assert len(frame) == 12
    assert np.isfinite(pg.diversity_score(population, states=20))
    assert pg.contact_shares(population, episodes=1).down.shape == (3, 1, 1)
    trials = pg.Trials(population, budget=2, settings=("prior=variations",))
    member = trials.ask()
    assert member is not None
    trials.tell(member, 20.0)
    assert len(pg.Trials(population).told) == 1


def test_the_same_policies_are_known_again(population, tmp_path):
    again = pg.Population.from_policies(
        {"other name": still, "push": push}, "hopper", max_episode_steps=STEPS
    )
    assert again.weights(0) == population.weights(0) and again.weights(1) == population.weights(2)
    assert len({population.weights(place) for place in range(3)}) == 3


def test_without_a_folder_results_are_forgotten_and_trials_refused():
    population = pg.Population.from_policies(
        {"still": still, "push": push}, "hopper", max_episode_steps=STEPS
    )
    assert pg.adapt(population, episodes=1, held_out=0).best in (0, 1)
    with pytest.raises(UserError, match="this population has no folder"):
        pg.Trials(population, selector="exhaustive")


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ({}, "Policies are given by name"),
        ([still], "Policies are given by name"),
        ({"one": lambda seen: np.zeros(3)}, r"'one' gave \(3,\) for observations of shape \(2, 11\)"),
        ({"nan": lambda seen: np.full((len(seen), 3), np.nan)}, "'nan' gave NaN"),
        ({"dice": lambda seen: np.random.default_rng().normal(size=(len(seen), 3))}, "'dice' gives other"),
        ({"number": 7}, "'number' is 7, which cannot act"),
        ({"file": "policy.pt"}, "no .onnx file"),
        ({"file": "absent.onnx"}, "no .onnx file"),
    ],
)
@pytest.mark.usefixtures("unchecked_annotations")
def test_what_cannot_act_is_explained(policies, words):
    with pytest.raises(UserError, match=words):
        pg.Population.from_policies(policies, "hopper")


def test_the_folder_of_a_run_is_not_taken_for_results():
    with pytest.raises(UserError, match="holds a run of its own"):
        pg.Population.from_policies({"still": still}, "hopper", out=TRAINED)


def test_an_onnx_file_without_onnxruntime_says_what_to_install(tmp_path, monkeypatch):
    file = tmp_path / "policy.onnx"
    file.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match="pip install onnxruntime"):
        as_function("mine", file)


@pytest.mark.parametrize("rows", ["n", 1])
def test_an_onnx_file_acts(tmp_path, rows):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = np.random.default_rng(2).normal(size=(11, 3)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["seen", "weights"], ["sum"]),
            helper.make_node("Tanh", ["sum"], ["done"]),
        ],
        "policy",
        [helper.make_tensor_value_info("seen", kind, [rows, 11])],
        [helper.make_tensor_value_info("done", kind, [rows, 3])],
        [onnx.numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "policy.onnx")
    population = pg.Population.from_policies({"file": tmp_path / "policy.onnx"}, "hopper")
    states = np.random.default_rng(3).normal(size=(5, 11)).astype(np.float32)
    np.testing.assert_allclose(population.act(states, 0), np.tanh(states @ weights), atol=1e-6)


def test_they_get_a_report(population):
    pg.evaluate(population, suite=["nominal", "broken-foot"], episodes=1)
    found = write_report(population, config=ReportConfig(pictures=False))
    page = found.path.read_text()
    assert found.path == population.path / "report.html" and "Member 1: sb3-ppo" in page
    assert "trained elsewhere" in page and "polygait train" not in page and "polygait resume" not in page
