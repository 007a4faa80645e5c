"""What a user leaves open is filled in, what he gives is read, and every mistake is named at once."""

import dataclasses
import json
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from polygait.config import DirConfig, DvdConfig, PPOConfig, SmerlConfig, TrainConfig
from polygait.errors import UserError
from polygait.population.store import RunFolder
from polygait.presets import METHODS, PRESETS, WITHOUT_BONUS, RunConfig, resolve


def resolved(*overrides: str, **wishes: Any) -> RunConfig:
    given: dict[str, Any] = {"task": "walker", "overrides": overrides, **wishes}
    return resolve(TrainConfig(**given))


def problems(*overrides: str, **wishes: Any) -> str:
    with pytest.raises(UserError) as caught:
        resolved(*overrides, **wishes)
    return str(caught.value)


def test_the_robust_preset_mends_the_known_flaws():
    run = resolved()
    assert (run.preset, run.keep, run.envs, run.remove) == ("robust", "last", 64, None)
    assert run.ppo == PPOConfig(anneal_iterations=run.iterations)
    assert run.dir == DirConfig()
    assert (run.smerl, run.dvd) == (SmerlConfig(3000.0), DvdConfig())
    assert (run.smerl.hidden, run.smerl.tolerance, run.dvd.form) == ((256, 256), 0.1, "pairwise")
    assert run.ppo.normalize_observations and run.ppo.scale_rewards and run.ppo.bootstrap_truncation
    assert run.ppo.entropy_coefficient == 0
    assert (run.dir.bound, run.dir.std_floor) == ("std-floor", run.ppo.action_std)


def test_the_paper_preset_follows_the_paper():
    run = resolved(preset="paper")
    assert run.keep == "best-episode"
    assert run.ppo.entropy_coefficient == 0.1
    assert not (run.ppo.normalize_observations or run.ppo.scale_rewards or run.ppo.bootstrap_truncation)
    assert not run.ppo.learn_std and run.ppo.action_std == 0.4
    assert run.ppo.value_target == "monte-carlo"
    assert run.ppo.rollout_steps == 20_000 and run.ppo.anneal_iterations == 0
    assert run.ppo.rollout_steps % run.envs == 0
    assert run.dir.bound == "none" and not run.dir.normalize_inputs
    assert (run.dir.hidden, run.dir.weight_decay) == ((128, 128), 0.01)
    assert run.dir.epochs == run.ppo.epochs and run.dir.minibatch_size == run.ppo.minibatch_size
    assert (run.smerl.hidden, run.smerl.tolerance, run.smerl.floor) == ((256, 256), 0.1, 1e-6)
    assert not run.smerl.normalize_inputs
    assert run.smerl.epochs == run.ppo.epochs and run.smerl.minibatch_size == run.ppo.minibatch_size
    assert run.dvd.form == "exponential"


PENDULUM = "gym:Pendulum-v1"
ALPHAS = {
    "dir": {"hopper": 0.05, "walker": 0.05, "ant": 0.01, "minitaur": 0.0005, PENDULUM: 0.05},
    "smerl": dict.fromkeys(("hopper", "walker", "ant", "minitaur", PENDULUM), 10.0),
    "dvd": {"hopper": 0.1, "walker": 0.1, "ant": 0.01, "minitaur": 0.001, PENDULUM: 0.1},
    "multi": dict.fromkeys(("hopper", PENDULUM), 0.0),
    "pg": dict.fromkeys(("hopper", PENDULUM), 0.0),
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_alpha_is_the_papers_unless_given(method, preset):
    for task, alpha in ALPHAS[method].items():
        wishes = {"task": task, "preset": preset, "method": method}
        target = ["smerl.target_return=1"] if method == "smerl" else []
        assert resolved(*target, **wishes).alpha == alpha
        if method not in WITHOUT_BONUS:
            assert resolved(*target, **wishes, alpha=0.7).alpha == 0.7
            assert resolved(*target, **wishes, alpha=0.0).alpha == 0.0


@pytest.mark.parametrize("preset", PRESETS)
def test_smerls_target_is_the_authors_unless_given(preset):
    targets = {"hopper": 3000.0, "walker": 3000.0, "ant": 2500.0, "minitaur": 30.0}
    for task, target in targets.items():
        wishes = {"task": task, "preset": preset, "method": "smerl"}
        assert resolved(**wishes).smerl.target_return == target
        assert resolved("smerl.target_return=1_234.5", **wishes).smerl.target_return == 1234.5
        assert resolved("smerl.target_return=runs/pg", **wishes).smerl.target_return == "runs/pg"


def test_an_unknown_robot_needs_a_target_for_smerl_only():
    message = problems(task=PENDULUM, method="smerl")
    assert f"smerl does not know what an able {PENDULUM} earns; set smerl.target_return" in message
    assert resolved("smerl.target_return=-200", task=PENDULUM, method="smerl").smerl.target_return == -200.0
    assert resolved(task=PENDULUM, method="dvd").smerl.target_return is None


def test_the_papers_ant_has_its_own_filter_and_no_contact_forces():
    paper, robust = resolved(task="ant", preset="paper"), resolved(task="ant")
    assert paper.remove == ("leg_*", "torso.orientation")
    assert paper.task_options == {"contact_forces": False}
    assert (robust.remove, robust.task_options) == (None, {})
    assert resolved(task="ant", preset="paper", remove=("leg_1.*",)).remove == ("leg_1.*",)
    assert resolved(task="ant", preset="paper", remove=()).remove == ()


def test_the_ant_learns_its_exploration_noise_unless_told_otherwise():
    assert resolved(task="ant").ppo.learn_std
    assert not resolved("ppo.learn_std=false", task="ant").ppo.learn_std
    assert not resolved(task="ant", preset="paper").ppo.learn_std
    assert not resolved(task="hopper").ppo.learn_std


@pytest.mark.parametrize(
    ("steps", "iterations"), [(1, 1), (4096, 1), (4097, 2), (2_000_000, 489), (4096 * 489, 489)]
)
def test_steps_are_rounded_up_to_whole_rollouts(steps, iterations):
    run = resolved(steps=steps)
    assert run.iterations == iterations == run.ppo.anneal_iterations


@pytest.mark.parametrize("method", METHODS)
def test_ten_members_unless_told_otherwise(method):
    assert resolved(method=method).members == (1 if method == "pg" else 10)
    assert resolved(method=method, members=3).members == (1 if method == "pg" else 3)


def test_pg_is_one_policy_with_the_steps_of_as_many_members_as_asked():
    assert (
        resolved(method="pg", steps=5000).iterations
        == resolved(method="pg", steps=5000, members=1).iterations
    )
    assert resolved(method="pg", steps=5000).steps == 2 * 4096
    for overrides in ((), ("ppo.rollout_steps=1_024",)):
        many = resolved(*overrides, method="multi", steps=5000, members=7)
        one = resolved(*overrides, method="pg", steps=5000, members=7)
        assert one.members == 1
        assert one.iterations == 7 * many.iterations == one.ppo.anneal_iterations
        assert one.steps == 7 * many.iterations * many.ppo.rollout_steps


@pytest.mark.parametrize("method", ["smerl", "dvd"])
def test_members_that_are_compared_must_be_two(method):
    assert f"{method} makes members differ from each other and needs at least 2" in problems(
        method=method, members=1
    )
    assert resolved(method=method, members=2).members == 2


CHANGES = {
    "ppo.learning_rate": ("1e-3", 1e-3),
    "ppo.anneal_iterations": ("7", 7),
    "ppo.anneal_start": ("0.5", 0.5),
    "ppo.anneal_to": ("0.1", 0.1),
    "ppo.desired_kl": ("0.01", 0.01),
    "ppo.final_std": ("0.2", 0.2),
    "ppo.recompute_advantages": ("true", True),
    "ppo.hidden_init_scale": ("1.414", 1.414),
    "ppo.policy_init_scale": ("0.01", 0.01),
    "ppo.adam_epsilon": ("1e-5", 1e-5),
    "ppo.minibatch_size": ("1_024", 1024),
    "ppo.epochs": ("5", 5),
    "ppo.discount": ("1", 1.0),
    "ppo.gae_lambda": ("0.9", 0.9),
    "ppo.clip_ratio": ("0.2", 0.2),
    "ppo.value_coefficient": ("0.5", 0.5),
    "ppo.entropy_coefficient": ("0.01", 0.01),
    "ppo.max_gradient_norm": ("1", 1.0),
    "ppo.policy_hidden": ("32,16", (32, 16)),
    "ppo.critic_hidden": ("(32,)", (32,)),
    "ppo.action_std": ("0.3", 0.3),
    "ppo.learn_std": ("true", True),
    "ppo.std_bounds": ("(0.1, 0.9)", (0.1, 0.9)),
    "ppo.normalize_observations": ("False", False),
    "ppo.scale_rewards": ("false", False),
    "ppo.bootstrap_truncation": ("FALSE", False),
    "ppo.value_target": ("monte-carlo", "monte-carlo"),
    "ppo.rollout_steps": ("8_192", 8192),
    "dir.objective": ("kl", "kl"),
    "dir.bound": ("none", "none"),
    "dir.std_floor": ("0.2", 0.2),
    "dir.hidden": ("64", (64,)),
    "dir.learning_rate": ("1e-3", 1e-3),
    "dir.weight_decay": ("0.01", 0.01),
    "dir.epochs": ("9", 9),
    "dir.minibatch_size": ("128", 128),
    "dir.normalize_inputs": ("false", False),
    "smerl.target_return": ("2_000", 2000.0),
    "smerl.tolerance": ("0.3", 0.3),
    "smerl.floor": ("1e-4", 1e-4),
    "smerl.hidden": ("64,64", (64, 64)),
    "smerl.learning_rate": ("1e-3", 1e-3),
    "smerl.epochs": ("3", 3),
    "smerl.minibatch_size": ("512", 512),
    "smerl.normalize_inputs": ("false", False),
    "dvd.form": ("determinant", "determinant"),
    "dvd.length_scale": ("0.5", 0.5),
    "dvd.ridge": ("0.1", 0.1),
    "keep": ("best-episode", "best-episode"),
}
SECTIONS = {"ppo": PPOConfig, "dir": DirConfig, "smerl": SmerlConfig, "dvd": DvdConfig}


def read(run: RunConfig, path: str) -> Any:
    for name in path.split("."):
        run = getattr(run, name)
    return run


def test_every_setting_can_be_overridden():
    settings = {
        f"{section}.{field.name}" for section, kind in SECTIONS.items() for field in dataclasses.fields(kind)
    }
    assert set(CHANGES) == settings | {"keep"}


@pytest.mark.parametrize("path", CHANGES)
def test_an_override_is_read_in_its_own_type_and_changes_nothing_else(path):
    text, value = CHANGES[path]
    section = path.partition(".")[0]
    method = section if section in METHODS else "dir"
    before = resolved(method=method)
    assert read(before, path) != value
    for written in (f"{path}={text}", f"{path} = {text} "):
        run = resolved(written, method=method)
        assert read(run, path) == value
        assert type(read(run, path)) is type(value)
        for other in CHANGES:
            if other not in (path, "ppo.anneal_iterations"):
                assert read(run, other) == read(before, other)


def test_the_last_override_of_several_holds():
    run = resolved("ppo.epochs=3", "dir.epochs=8", "ppo.epochs=6")
    assert (run.ppo.epochs, run.dir.epochs) == (6, 8)


def test_the_tasks_own_options_can_be_set():
    run = resolved("task.max_episode_steps = 2000", "task.randomize=false", task="minitaur")
    assert run.task_options == {"max_episode_steps": 2000, "randomize": False}
    longer = resolved("task.max_episode_steps=500", task="minitaur", preset="paper")
    assert longer.task_options == {"max_episode_steps": 500}
    assert "quoted text" in problems("task.randomize=maybe not")


def test_an_empty_list_of_layers_is_a_linear_network():
    assert resolved("dir.hidden=()").dir.hidden == ()


@pytest.mark.parametrize("space", ["", " "])
def test_annealing_can_be_switched_off(space):
    assert resolved(f"{space}ppo.anneal_iterations=0").ppo.anneal_iterations == 0


def test_annealing_follows_an_overridden_rollout():
    run = resolved("ppo.rollout_steps=64", steps=640)
    assert run.ppo.anneal_iterations == run.iterations == 10


@pytest.mark.parametrize(
    "text",
    [
        "ppo.epochs=5.5",
        "ppo.epochs=many",
        "ppo.epochs=",
        "ppo.learning_rate=fast",
        "ppo.learn_std=yes",
        "ppo.policy_hidden=64,wide",
        "ppo.value_target=td",
        "dir.bound=box",
        "dvd.form=printed",
        "smerl.epochs=2.5",
        "keep=first",
    ],
)
def test_a_value_of_the_wrong_type_is_named(text):
    message = problems(text)
    path, value = text.split("=")
    assert path in message and repr(value) in message
    assert "keep" not in text or "'best-episode'" in message


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("ppo.epoch=5", "'ppo.epochs'"),
        ("dir.bond=none", "'dir.bound'"),
        ("smerl.target=3000", "'smerl.target_return'"),
        ("dvd.scale=1", "'dvd.length_scale'"),
        ("kep=last", "'keep'"),
        ("ppo.epochs", "'ppo.epochs'"),
        ("epochs=5", "'ppo.epochs'"),
        ("members=5", "Known: "),
    ],
)
def test_an_unknown_setting_gets_a_near_match(text, near):
    message = problems(text)
    assert "Unknown setting" in message and text in message
    assert near in message


@pytest.mark.parametrize(
    "text",
    [
        "ppo.std_bounds=0.1",
        "ppo.std_bounds=0.1,0.2,0.3",
        "ppo.std_bounds=()",
        "ppo.rollout_steps=0",
        "ppo.rollout_steps=-64",
        "ppo.minibatch_size=0",
        "ppo.discount=nan",
        "ppo.learning_rate=nan",
        "ppo.learning_rate=inf",
        "ppo.action_std=inf",
        "dir.std_floor=inf",
        "dir.learning_rate=inf",
        "dir.weight_decay=nan",
        "dir.epochs=0",
        "dir.hidden=8,0",
        "dir.minibatch_size=1_000_000",
        "smerl.target_return=nan",
        "smerl.target_return=-inf",
        "smerl.tolerance=-0.1",
        "smerl.floor=0",
        "smerl.learning_rate=nan",
        "smerl.epochs=0",
        "smerl.hidden=0",
        "dvd.length_scale=0",
        "dvd.length_scale=inf",
        "dvd.ridge=0",
        "dvd.ridge=1",
    ],
)
def test_an_impossible_value_is_a_users_mistake(text):
    assert text.split("=")[0].partition(".")[2] in problems(text)


def test_a_minibatch_cannot_exceed_what_there_is():
    assert "smerl.minibatch_size 8193 exceeds" in problems(
        "smerl.minibatch_size=8193", method="smerl", members=2
    )
    assert resolved("smerl.minibatch_size=8192", method="smerl", members=2).smerl.minibatch_size == 8192


def test_every_problem_is_named_at_once():
    message = problems(
        "ppo.epochs=0",
        "dir.hidden=-3",
        "dir.std_floor=-1",
        "ppo.learning_rat=1",
        "dir.epochs=x",
        method="dirr",
        preset="papper",
        members=0,
        steps=-5,
        seed=-1,
        alpha=float("nan"),
        envs=0,
        threads=-2,
    )
    for word in (
        "epochs must",
        "dir.hidden must",
        "dir.std_floor must",
        "'ppo.learning_rat=1'",
        "dir.epochs cannot be 'x'",
        "'dirr'",
        "'dir'",
        "'papper'",
        "'paper'",
        "members must be at least 1, got 0",
        "steps must be at least 1, got -5",
        "seed must lie between 0 and 4294967295, got -1",
        "alpha must be",
        "envs must be at least 1, got 0",
        "threads must be at least 1, got -2",
    ):
        assert word in message, message
    assert message.endswith("Nothing was started.")


def test_environments_must_share_the_rollout():
    assert "not a multiple of envs 60" in problems(envs=60)
    assert resolved(envs=32).envs == 32


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("task", ["walker", "ant"])
def test_a_run_remembers_its_configuration(task, preset, method):
    run = resolved("ppo.policy_hidden=8,4", task=task, preset=preset, method=method, remove=("torso.*",))
    again = RunConfig.from_json(json.loads(json.dumps(run.to_json())))
    assert again == run
    hints = typing.get_type_hints(RunConfig)
    assert set(run.to_json()) == set(hints)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("ppo"),
        lambda data: data.pop("steps"),
        lambda data: data.update(unknown=1),
        lambda data: data["dir"].update(unknown=1),
        lambda data: data["smerl"].update(unknown=1),
        lambda data: data.update(dvd=[]),
        lambda data: data.update(ppo="large"),
        lambda data: data.update(dir=None),
        lambda data: data.update(ppo=[1, 2]),
    ],
)
def test_an_unreadable_configuration_is_a_users_error(damage):
    data = resolved().to_json()
    damage(data)
    with pytest.raises(UserError, match="cannot be read"):
        RunConfig.from_json(data)


def test_a_run_older_than_a_section_is_read_with_its_defaults():
    data = resolved(method="multi").to_json()
    for section in ("smerl", "dvd"):
        data.pop(section)
    again = RunConfig.from_json(data)
    assert (again.smerl, again.dvd, again.method) == (SmerlConfig(), DvdConfig(), "multi")
    kept = RunFolder.open(Path(__file__).parent / "data" / "walker-dir").manifest["config"]
    assert "smerl" not in kept and RunConfig.from_json(kept).method == "dir"


def test_damage_is_named_without_type_checks_too():
    """As users run it: the tests' own type checks must not be what finds the damage."""
    program = (
        "from polygait.config import TrainConfig; from polygait.errors import UserError\n"
        "from polygait.presets import RunConfig, resolve\n"
        "data = resolve(TrainConfig('walker')).to_json()\n"
        "for part in ({'ppo': 'large'}, {'dir': None}, {'ppo': [1, 2]}):\n"
        "    try:\n"
        "        RunConfig.from_json(data | part)\n"
        "    except UserError:\n"
        "        pass\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_what_the_method_uses_can_be_asked_for():
    for method in ("multi", "pg"):
        assert f"a bonus that {method} does not have" in problems(method=method, alpha=0.1)
    assert "dvd.form=pairwise is for dvd; the method is dir" in problems("dvd.form=pairwise")
    assert resolved("dvd.form=pairwise", method="dvd").dvd.form == "pairwise"


def test_wishes_of_a_wrong_kind_are_named_together():
    code = """
import numpy as np
import polygait as pg
from polygait.presets import resolve

try:
    resolve(pg.TrainConfig("walker", members="5", steps=1e6, envs=True))
except pg.UserError as error:
    for word in ("members", "steps", "envs"):
        assert f"{word} must be a whole number" in str(error), error
else:
    raise AssertionError
made = resolve(pg.TrainConfig("walker", seed=np.int64(3), steps=np.int32(4096), overrides="ppo.epochs=3"))
assert made == resolve(pg.TrainConfig("walker", seed=3, steps=4096, overrides=("ppo.epochs=3",)))
assert type(made.seed) is int and made.ppo.epochs == 3
assert resolve(pg.TrainConfig("walker", remove="right_leg.*")).remove == ("right_leg.*",)
"""  # in a process of its own, since tests refuse such types even earlier
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "got 4294967296" in problems(seed=2**32)


def test_the_page_of_settings_is_current():
    root = Path(__file__).parents[1]
    made = subprocess.run([sys.executable, root / "scripts/settings.py"], capture_output=True, check=True)
    assert made.stdout.decode() == (root / "docs/settings.md").read_text(encoding="utf-8")
