"""Exported policies act like the population, say what they are, and need nothing of polygait."""

import dataclasses
import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from tests import tiny

import polygait as pg
from polygait import cli
from polygait.config import ExportConfig
from polygait.errors import UserError
from polygait.exporting.card import _actions, _joints, _unit, onnx_metadata
from polygait.exporting.onnx_file import onnx_bytes
from polygait.runs import begin
from polygait.tasks.actions import law_of_task

pytestmark = pytest.mark.usefixtures("quick_compilation")
DATA = Path(__file__).parents[1] / "data"
CLOSE = 2e-6


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def reader(path: Path) -> Any:
    """The reader that was written beside a policy."""
    spec = importlib.util.spec_from_file_location("reader", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def visited(population: pg.Population, member: int, steps: int) -> np.ndarray:
    """States on the way of a member that is pushed about."""
    task, chance = population.make_task(4, num_threads=1), np.random.default_rng(0)
    seen = [task.reset(seeds=range(4))]
    for _ in range(steps):
        actions = population.act(seen[-1], member) + chance.normal(scale=0.3, size=(4, task.action_size))
        step = task.step(actions)
        ended = step.terminated | step.truncated
        seen.append(task.reset(np.flatnonzero(ended)) if ended.any() else step.observation)
    return np.concatenate(seen)


def check_both_formats(population: pg.Population, member: int, folder: Path, steps: int = 120) -> None:
    states = visited(population, member, steps)
    expected = population.act(states, member)
    pg.export(population, folder / "policy.onnx", member=member)
    written = pg.export(population, folder / "policy.npz", member=member, format="numpy")
    outputs = session(folder / "policy.onnx").run(None, {"obs": states.astype(np.float32)})
    actions, controls = map(np.asarray, outputs)
    law = law_of_task(population.make_task())
    assert written.reader is not None
    policy = reader(written.reader).Policy(folder / "policy.npz")
    for found in (actions, policy.actions(states)):
        assert np.abs(found - expected).max() <= CLOSE
    for found in (controls, policy(states)):
        assert np.abs(found - law.controls(expected)).max() <= CLOSE * max(1.0, np.abs(law.scale).max())
    np.testing.assert_allclose(policy(states[0]), controls[0], atol=CLOSE * max(1.0, np.abs(law.scale).max()))
    assert np.abs(expected).max() > 0.1 and expected.std(axis=0).max() > 0.01  # there was something to match


@pytest.mark.parametrize("name", ["walker-dir", "hopper-dir"])
def test_trained_members_act_alike_over_visited_states(name, tmp_path):
    population = pg.load(DATA / name)
    for member in (0, 4):
        check_both_formats(population, member, tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"task": "ant"}, marks=pytest.mark.slow),
        pytest.param({"task": "minitaur"}, marks=pytest.mark.slow),
        {"task": "gym:Pendulum-v1", "envs": 4},
        {"preset": "paper"},
        {"learner": "sac"},
    ],
    ids=["ant", "minitaur", "pendulum", "paper", "sac"],
)
def test_small_populations_of_every_kind_act_alike(options, tmp_path):
    settings = (
        ("ppo.policy_hidden=64,64", "ppo.deterministic_action=clipped-mean") if "task" in options else ()
    )
    population = tiny.train(tmp_path / "run", *settings, method="multi", members=1, iterations=2, **options)
    check_both_formats(population, 0, tmp_path, steps=60)


def test_gymnasiums_bounds_are_inside():
    law = law_of_task(pg.make_task("gym:Pendulum-v1"))
    assert (law.low, law.high, law.scale) == ((-2.0,), (2.0,), (2.0,))
    assert law.controls(np.array([[-1.0], [0.5], [3.0]])).ravel().tolist() == [-2.0, 1.0, 2.0]


def test_every_action_is_cut_to_its_own_bounds_also_beside_one_without():
    population = pg.load(DATA / "hopper-dir")
    law = dataclasses.replace(law_of_task(population.make_task()), high=(0.1, math.inf, 0.2))
    model = onnxruntime.InferenceSession(onnx_bytes(population.plain(0), law, {}))
    states = visited(population, 0, 30).astype(np.float32)
    actions, controls = map(np.asarray, model.run(None, {"obs": states}))
    assert (actions > 0.3).any(axis=0).all()
    np.testing.assert_array_equal(controls, np.minimum(actions, np.array([0.1, math.inf, 0.2], np.float32)))


def test_the_file_and_the_run_tell_the_same_of_actions(tmp_path):
    run = begin(pg.TrainConfig(task="quadruped", method="multi", members=1, steps=4096), tmp_path / "run")
    told = json.loads((run.path / "manifest.json").read_text())["actions"]
    assert (told["kinds"][0], told["units"][0], told["rate"]) == ("position", "rad", 50.0)
    assert len(told["names"]) == len(told["stiffness"]) == 12 and told["scale"][0] == 0.5
    actions = _actions(pg.make_task("quadruped"))
    assert {**actions, "meaning": None} == told
    card = {
        "actions": actions,
        "joints": {"names": told["names"], "rest": None},
        "run": "",
        "observations": [],
    }
    metadata = onnx_metadata({**card, "control_rate": told["rate"]})
    assert metadata["joint_stiffness"].split(",") == [f"{one:.6g}" for one in told["stiffness"]]


def test_a_file_says_what_it_is(tmp_path):
    population = pg.load(DATA / "walker-dir")
    pg.export(population, tmp_path / "policy.onnx", member=3)
    model = session(tmp_path / "policy.onnx")
    told = model.get_modelmeta().custom_metadata_map
    joints = "thigh_joint,leg_joint,foot_joint,thigh_left_joint,leg_left_joint,foot_left_joint"
    assert told["joint_names"] == told["action_names"] == joints
    assert told["default_joint_pos"] == "0,0,0,0,0,0" and told["action_scale"] == "1,1,1,1,1,1"
    assert told["observation_names"].split(",") == list(population.layout.names)
    assert told["control_rate"] == "125" and told["run_path"] == str(population.path)
    card = json.loads(told["polygait"])
    assert (card["member"], card["weights"], card["task"]) == (3, population.weights(3), "walker")
    units = {one["name"]: one["unit"] for one in card["observations"]}
    assert units["torso.position.height"] == "m" and units["torso.velocity.x"] == "m/s"
    assert units["torso.velocity.pitch"] == "rad/s" and units["left_leg.position.foot"] == "rad"
    assert "MIT" in card["licence"] and card["versions"]["mujoco"]
    assert (card["actions"]["low"], card["actions"]["high"]) == ([-1.0] * 6, [1.0] * 6)
    assert [one.name for one in model.get_inputs()] == ["obs"]
    assert [one.name for one in model.get_outputs()] == ["actions", "controls"]
    onnx.checker.check_model(onnx.load(tmp_path / "policy.onnx"), full_check=True)


@pytest.mark.parametrize("task", ["hopper", "walker", "ant", "minitaur"])
def test_every_number_of_our_robots_has_a_unit(task):
    made = pg.make_task(task)
    assert all(_unit(name, made) for name in made.layout.names)


def test_minitaurs_file_names_motors_at_rest_and_what_an_action_means(tmp_path):
    task = pg.make_task("minitaur")
    joints, actions = _joints(task), _actions(task)
    assert joints["names"][0] == "motor_front_left_left" and joints["rest"] == [math.pi / 2] * 8
    assert actions["names"][0] == "front_left.swing" and "swing" in actions["meaning"]
    assert actions["gains"]["velocity_gain_s_per_rad"] == 0.02


def test_all_members_go_into_a_folder_and_the_same_population_gives_the_same_bytes(tmp_path):
    population = pg.load(DATA / "hopper-dir")
    first = pg.export(population, tmp_path / "a", all=True)
    second = pg.export(population, tmp_path / "b", all=True)
    assert [path.name for path in first.policies.values()] == [f"member-00{index}.onnx" for index in range(5)]
    for one, other in zip(first.policies.values(), second.policies.values(), strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert len({path.read_bytes() for path in first.policies.values()}) == 5


def test_the_reader_needs_numpy_alone_and_is_short(tmp_path):
    population = pg.load(DATA / "hopper-dir")
    written = pg.export(population, tmp_path / "policy.npz", member=2, format="numpy")
    assert written.reader is not None
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from polygait_policy import Policy\n"
        "print(Policy(sys.argv[1] + '/policy.npz')([0.1] * 11).tolist())\n"
        "used = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not used & {'jax', 'polygait', 'equinox', 'mujoco', 'gymnasium'}, used\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(json.loads(done.stdout), population.act(np.full(11, 0.1), 2)[0], atol=CLOSE)
    code = [line for line in written.reader.read_text().splitlines() if line.strip()]
    assert len(code) < 45  # with its documentation
    policy = reader(written.reader).Policy(tmp_path / "policy.npz")
    for wrong in (np.zeros(10), np.full(11, np.nan)):
        with pytest.raises(ValueError, match="Expected 11 finite numbers"):
            policy(wrong)


@pytest.mark.parametrize(
    ("out", "options", "message"),
    [
        ("policy.onnx", {}, "Which of the members 0 to 4"),
        ("policy.onnx", {"member": 9}, "There is no member 9"),
        ("policy.pt", {"member": 0}, "ends in .onnx"),
        ("policy.onnx", {"member": 0, "format": "numpy"}, "ends in .npz"),
        ("policy.onnx", {"all": True}, "Name a folder"),
        ("folder", {"all": True, "member": 1}, "exclude each other"),
        ("policy.onnx", {"member": 0, "format": "torch"}, "Unknown format"),
    ],
)
def test_mistakes_are_named(out, options, message, tmp_path):
    with pytest.raises(UserError, match=message):
        pg.export(DATA / "hopper-dir", tmp_path / out, **options)
    assert not list(tmp_path.iterdir())


def test_without_onnx_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UserError, match=r"polygait\[export\]"):
        pg.export(DATA / "hopper-dir", tmp_path / "policy.onnx", member=0)
    pg.export(DATA / "hopper-dir", tmp_path / "policy.npz", member=0, format="numpy")


def test_the_command_tells_what_it_wrote(tmp_path, monkeypatch, capsys):
    out = tmp_path / "all"
    words = ["export", str(DATA / "hopper-dir"), "--all", "--format", "numpy", "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["polygait", *words])
    cli.main()
    told = capsys.readouterr().out
    assert told.count(".npz") == 5 and "polygait_policy.py reads them" in told
    assert {field.name for field in dataclasses.fields(ExportConfig)} == {"member", "all", "format"}
