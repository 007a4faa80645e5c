"""What a user leaves open is filled in, what he gives is read, and every mistake is named at once."""

import dataclasses
import json
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from polygait.config import PPOConfig, SACConfig, TrainConfig
from polygait.config.settings import NoSettings
from polygait.diversity.methods.dir import DirConfig
from polygait.diversity.methods.dvd import DvdConfig
from polygait.diversity.methods.smerl import SmerlConfig
from polygait.diversity.registry import METHODS
from polygait.errors import UserError
from polygait.learning.registry import LEARNERS
from polygait.population.store import RunFolder
from polygait.resolving import is_foreign, resolve
from polygait.run_config import RunConfig
from polygait.tasks.defaults import PRESETS

OWN_LEARNERS = ("ppo", "sac")


def resolved(*overrides: str, **options: Any) -> RunConfig:
    given: dict[str, Any] = {"task": "walker", "overrides": overrides, **options}
    return resolve(TrainConfig(**given))


def problems(*overrides: str, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        resolved(*overrides, **options)
    return str(caught.value)


def test_the_robust_preset_mends_the_known_flaws():
    run = resolved()
    assert (run.preset, run.keep, run.envs, run.remove) == ("robust", "validated", 64, None)
    ppo, own = run.learner, run.method_config
    assert ppo == PPOConfig(
        anneal_iterations=run.iterations,
        minibatch_size=64,
        adam_epsilon=1e-5,
        hidden_init_scale=1.414,
        policy_init_scale=0.01,
        recompute_advantages=True,
        rollout_steps=2048,
    )
    assert own == DirConfig(objective="posture", enough=1.75, regulate=1.5)
    assert (run.diversity, run.fade) == (0.1, 0.0)
    assert ppo.normalize_observations and ppo.scale_rewards and ppo.bootstrap_truncation
    assert ppo.entropy_coefficient == 0
    assert (own.bound, own.std_floor) == ("std-floor", ppo.action_std)
    smerl, dvd = resolved(method="smerl").method_config, resolved(method="dvd").method_config
    assert (smerl, dvd) == (SmerlConfig(3000.0), DvdConfig())
    assert (smerl.hidden, smerl.tolerance, dvd.form) == ((256, 256), 0.1, "pairwise")
    for method in ("multi", "pg"):
        assert resolved(method=method).method_config == NoSettings()


@pytest.mark.parametrize("asked", [{"alpha": 0.05}, {"learner": "sac"}, {"preset": "paper"}])
def test_with_a_fixed_factor_the_bonus_is_the_papers(asked):
    run = resolved(**asked)
    assert (run.method_config.objective, run.diversity, run.fade) == ("cross-entropy", None, 0.0)
    assert run.alpha == 0.05
    chosen = resolved("dir.objective=features", "fade=0.5", **({"alpha": 0.05}))
    assert (chosen.method_config.objective, chosen.fade) == ("features", 0.5)


def test_the_paper_preset_follows_the_paper():
    run = resolved(preset="paper")
    assert run.keep == "best-episode"
    ppo, own = run.learner, run.method_config
    assert ppo.entropy_coefficient == 0.1
    assert not (ppo.normalize_observations or ppo.scale_rewards or ppo.bootstrap_truncation)
    assert not ppo.learn_std and ppo.action_std == 0.4
    assert ppo.value_target == "monte-carlo"
    assert ppo.rollout_steps == 20_000 and ppo.anneal_iterations == 0
    assert (ppo.episodes_per_iteration, run.envs) == (20, 20)
    assert own.bound == "none" and not own.normalize_inputs
    assert (own.hidden, own.weight_decay, own.max_gradient_norm) == ((128, 128), 0.01, 0.5)
    assert own.epochs == ppo.epochs and own.minibatch_size == ppo.minibatch_size
    smerl = resolved(preset="paper", method="smerl").method_config
    assert (smerl.hidden, smerl.tolerance, smerl.floor) == ((256, 256), 0.1, 1e-6)
    assert not smerl.normalize_inputs
    assert smerl.epochs == ppo.epochs and smerl.minibatch_size == ppo.minibatch_size
    assert resolved(preset="paper", method="dvd").method_config.form == "exponential"


def test_members_that_are_compared_have_rollouts_of_one_size():
    for method in ("smerl", "dvd"):
        run = resolved(preset="paper", method=method)
        assert (run.episodes_per_iteration, run.learner.rollout_steps, run.simultaneous) == (0, 20_000, True)
        message = problems("ppo.episodes_per_iteration=20", method=method, preset="paper")
        assert f"a rollout of its own size, but {method} compares members step by step" in message
    for method in ("dir", "multi", "pg"):
        run = resolved(preset="paper", method=method)
        assert (run.episodes_per_iteration, run.simultaneous) == (20, False)
        assert run.steps_per_member == run.steps  # and whole episodes after that
    assert "envs 64 are more than ppo.episodes_per_iteration 20" in problems(preset="paper", envs=64)
    assert "episodes_per_iteration must be" in problems("ppo.episodes_per_iteration=-1")


def test_whole_episodes_are_mentioned_where_there_are_any():
    """Jobs of studies are named by what is stored."""
    run, whole = resolved(), resolved(preset="paper")
    assert "episodes_per_iteration" not in run.to_json()["learner"]
    assert whole.to_json()["learner"]["episodes_per_iteration"] == 20
    for one in (run, whole):
        assert RunConfig.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_soft_actor_critic_is_asked_for_by_name():
    run = resolved(learner="sac", method="multi")
    assert (run.learner, run.envs, run.keep) == (SACConfig(), 16, "validated")
    assert run.iterations == 2_000_000 // 64 and run.steps_per_member == 2_000_000
    assert resolved(learner="sac").method == "dir"  # its bonus does not change while a member trains


@pytest.mark.parametrize(
    ("method", "overrides"), [("smerl", ()), ("dvd", ()), ("dir", ("dir.objective=kl",))]
)
def test_a_bonus_that_changes_is_not_remembered(method, overrides):
    message = problems(*overrides, learner="sac", method=method)
    assert f"sac learns again and again from remembered rewards, but the bonus of {method}" in message
    assert "changes while members train" in message
    assert resolved(*overrides, method=method).learner.name == "ppo"


PENDULUM = "gym:Pendulum-v1"
ALPHAS = {
    "dir": {"hopper": 0.05, "walker": 0.05, "ant": 0.01, "minitaur": 0.0005, PENDULUM: 0.05},
    "smerl": dict.fromkeys(("hopper", "walker", "ant", "minitaur", PENDULUM), 10.0),
    "dvd": {"hopper": 0.1, "walker": 0.1, "ant": 0.01, "minitaur": 0.001, PENDULUM: 0.1},
    "multi": dict.fromkeys(("hopper", PENDULUM), 0.0),
    "pg": dict.fromkeys(("hopper", PENDULUM), 0.0),
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS.names())
def test_alpha_is_the_papers_unless_given(method, preset):
    for task, alpha in ALPHAS[method].items():
        options = {"task": task, "preset": preset, "method": method}
        target = ["smerl.target_return=1"] if method == "smerl" else []
        assert resolved(*target, **options).alpha == alpha
        if METHODS.find(method).has_bonus:
            assert resolved(*target, **options, alpha=0.7).alpha == 0.7
            assert resolved(*target, **options, alpha=0.0).alpha == 0.0


@pytest.mark.parametrize("preset", PRESETS)
def test_smerls_target_is_the_authors_unless_given(preset):
    targets = {"hopper": 3000.0, "walker": 3000.0, "ant": 2500.0, "minitaur": 30.0}
    for task, target in targets.items():
        options = {"task": task, "preset": preset, "method": "smerl"}
        assert resolved(**options).method_config.target_return == target
        assert resolved("smerl.target_return=1_234.5", **options).method_config.target_return == 1234.5
        assert resolved("smerl.target_return=runs/pg", **options).method_config.target_return == "runs/pg"


def test_an_unknown_robot_needs_a_target_for_smerl_only():
    message = problems(task=PENDULUM, method="smerl")
    assert "smerl does not know what an able robot of this kind earns; set smerl.target_return" in message
    assert (
        resolved("smerl.target_return=-200", task=PENDULUM, method="smerl").method_config.target_return
        == -200.0
    )
    assert resolved(task=PENDULUM, method="dvd").method_config == DvdConfig()


def test_the_papers_ant_has_its_own_filter_and_no_contact_forces():
    paper, robust = resolved(task="ant", preset="paper"), resolved(task="ant")
    assert paper.remove == ("leg_*", "torso.orientation")
    assert paper.task_options == {"contact_forces": False}
    assert (robust.remove, robust.task_options) == (None, {})
    assert resolved(task="ant", preset="paper", remove=("leg_1.*",)).remove == ("leg_1.*",)
    assert resolved(task="ant", preset="paper", remove=()).remove == ()


def test_the_papers_walker_has_the_feet_of_its_time():
    paper, robust = resolved(task="walker", preset="paper"), resolved(task="walker")
    assert (paper.task_options, robust.task_options) == ({"right_foot_friction": 0.9}, {})
    assert resolved("task.right_foot_friction=1.9", preset="paper").task_options == {
        "right_foot_friction": 1.9
    }


def test_the_ant_learns_its_exploration_noise_unless_told_otherwise():
    assert resolved(task="ant").learner.learn_std
    assert not resolved("ppo.learn_std=false", task="ant").learner.learn_std
    assert not resolved(task="ant", preset="paper").learner.learn_std
    assert not resolved(task="hopper").learner.learn_std


@pytest.mark.parametrize(
    ("steps", "iterations"), [(1, 1), (2048, 1), (2049, 2), (2_000_000, 977), (2048 * 977, 977)]
)
def test_steps_are_rounded_up_to_whole_rollouts(steps, iterations):
    run = resolved(steps=steps)
    assert run.iterations == iterations == run.learner.anneal_iterations


@pytest.mark.parametrize("method", METHODS.names())
def test_ten_members_unless_told_otherwise(method):
    assert resolved(method=method).members == (1 if method == "pg" else 10)
    assert resolved(method=method, members=3).members == (1 if method == "pg" else 3)


def test_pg_is_one_policy_with_the_steps_of_as_many_members_as_asked():
    assert (
        resolved(method="pg", steps=5000).iterations
        == resolved(method="pg", steps=5000, members=1).iterations
    )
    assert resolved(method="pg", steps=5000).steps == 3 * 2048
    for overrides in ((), ("ppo.rollout_steps=1_024",)):
        many = resolved(*overrides, method="multi", steps=5000, members=7)
        one = resolved(*overrides, method="pg", steps=5000, members=7)
        assert one.members == 1
        assert one.iterations == 7 * many.iterations == one.learner.anneal_iterations
        assert one.steps == 7 * many.iterations * many.learner.rollout_steps


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
    "ppo.critic_warmup": ("0.2", 0.2),
    "ppo.desired_kl": ("0.01", 0.01),
    "ppo.final_std": ("0.2", 0.2),
    "ppo.recompute_advantages": ("false", False),
    "ppo.hidden_init_scale": ("1.2", 1.2),
    "ppo.policy_init_scale": ("0.1", 0.1),
    "ppo.adam_epsilon": ("1e-6", 1e-6),
    "ppo.minibatch_size": ("1_024", 1024),
    "ppo.epochs": ("5", 5),
    "ppo.discount": ("1", 1.0),
    "ppo.final_discount": ("0.998", 0.998),
    "ppo.final_start": ("0.7", 0.7),
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
    "ppo.deterministic_action": ("clipped-mean", "clipped-mean"),
    "ppo.min_observation_std": ("0.25", 0.25),
    "ppo.scale_rewards": ("false", False),
    "ppo.bootstrap_truncation": ("FALSE", False),
    "ppo.value_target": ("monte-carlo", "monte-carlo"),
    "ppo.rollout_steps": ("8_192", 8192),
    "ppo.episodes_per_iteration": ("80", 80),
    "sac.learning_rate": ("1e-3", 1e-3),
    "sac.minibatch_size": ("128", 128),
    "sac.discount": ("0.9", 0.9),
    "sac.target_rate": ("0.005", 0.005),
    "sac.updates_per_step": ("0.25", 0.25),
    "sac.block_steps": ("128", 128),
    "sac.lag": ("8", 8),
    "sac.warmup_steps": ("1_000", 1000),
    "sac.replay_size": ("50_000", 50_000),
    "sac.policy_hidden": ("32", (32,)),
    "sac.critic_hidden": ("32,16", (32, 16)),
    "sac.initial_temperature": ("0.1", 0.1),
    "sac.target_entropy": ("-2", -2.0),
    "dir.objective": ("kl", "kl"),
    "dir.enough": ("2", 2.0),
    "dir.regulate": ("0.5", 0.5),
    "dir.bound": ("none", "none"),
    "dir.std_floor": ("0.2", 0.2),
    "dir.hidden": ("64", (64,)),
    "dir.learning_rate": ("1e-3", 1e-3),
    "dir.weight_decay": ("0.01", 0.01),
    "dir.max_gradient_norm": ("0.5", 0.5),
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
    "keep": ("last", "last"),
    "fade": ("0.4", 0.4),
    "guard": ("0.8", 0.8),
}


def read(run: RunConfig, path: str) -> Any:
    section, _, name = path.partition(".")
    return getattr(run.sections[section], name) if name else getattr(run, path)


def owner(path: str) -> dict[str, str]:
    """The wish for the method or the learner to which a setting belongs."""
    section = path.partition(".")[0]
    if section in METHODS.names():
        return {"method": section}
    return {"learner": section, "method": "multi"} if section in OWN_LEARNERS else {}


def test_every_setting_can_be_overridden():
    owners = [*METHODS.all(), *(LEARNERS.find(name) for name in OWN_LEARNERS)]
    settings = {f"{one.name}.{field.name}" for one in owners for field in dataclasses.fields(one.Config)}
    assert set(CHANGES) == settings | {"keep", "fade", "guard"}


@pytest.mark.parametrize("path", CHANGES)
def test_an_override_is_read_in_its_own_type_and_changes_nothing_else(path):
    text, value = CHANGES[path]
    before = resolved(**owner(path))
    assert read(before, path) != value
    for written in (f"{path}={text}", f"{path} = {text} "):
        run = resolved(written, **owner(path))
        assert read(run, path) == value
        assert type(read(run, path)) is type(value)
        for other in CHANGES:
            known = "." not in other or other.partition(".")[0] in run.sections
            if known and other not in (path, "ppo.anneal_iterations"):
                assert read(run, other) == read(before, other)


@pytest.mark.parametrize("method", ["multi", "pg", "smerl", "dvd"])
def test_a_guard_is_for_methods_that_find_members_one_after_another(method):
    with pytest.raises(UserError, match=f"guard holds the bonus .*; {method} has none such"):
        resolved("guard=0.8", method=method)
    with pytest.raises(UserError, match=r"guard must lie in \[0, 1\]"):
        resolved("guard=1.5")


def test_the_last_override_of_several_holds():
    run = resolved("ppo.epochs=3", "dir.epochs=8", "ppo.epochs=6")
    assert (run.learner.epochs, run.method_config.epochs) == (6, 8)


def test_the_tasks_own_options_can_be_set():
    run = resolved("task.max_episode_steps = 2000", "task.randomize=false", task="minitaur")
    assert run.task_options == {"max_episode_steps": 2000, "randomize": False}
    longer = resolved("task.max_episode_steps=500", task="minitaur", preset="paper")
    assert longer.task_options == {"max_episode_steps": 500}
    assert "quoted text" in problems("task.randomize=maybe not")


@pytest.mark.parametrize("text", ["4k", "4e3", "4_000", "0.004M", "4000"])
def test_counts_are_written_as_people_write_them(text):
    assert resolved(f"ppo.rollout_steps={text}", envs=50).learner.rollout_steps == 4000
    found = resolved(f"task.max_episode_steps={text}").task_options["max_episode_steps"]
    assert found == 4000 and type(found) is int


def test_a_real_number_among_the_tasks_options_stays_one():
    found = resolved("task.a=2.0", "task.b=1e-3", "task.c=7").task_options
    assert [repr(one) for one in found.values()] == ["2.0", "0.001", "7"]


def test_an_empty_list_of_layers_is_a_linear_network():
    assert resolved("dir.hidden=()").method_config.hidden == ()


@pytest.mark.parametrize("space", ["", " "])
def test_annealing_can_be_switched_off(space):
    assert resolved(f"{space}ppo.anneal_iterations=0").learner.anneal_iterations == 0


def test_annealing_follows_an_overridden_rollout():
    run = resolved("ppo.rollout_steps=64", steps=640)
    assert run.learner.anneal_iterations == run.iterations == 10


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
        "sac.lag=all",
        "sac.target_entropy=low",
        "keep=first",
    ],
)
def test_a_value_of_the_wrong_type_is_named(text):
    message = problems(text, **owner(text))
    path, value = text.split("=")
    assert f"{path} must be " in message and repr(value) in message
    assert not re.search(r" a [aeiou]|<class|tuple\[", message)  # a sentence, not a type
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
        ("sac.warmup=5", "'sac.warmup_steps'"),
        ("members=5", "Known: "),
    ],
)
def test_an_unknown_setting_gets_a_near_match(text, near):
    message = problems(text, **owner(text))
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
        "dir.max_gradient_norm=-1",
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
        "sac.replay_size=63",
        "sac.updates_per_step=0.001",
    ],
)
def test_an_impossible_value_is_a_users_mistake(text):
    assert text.split("=")[0].partition(".")[2] in problems(text, **owner(text))


def test_a_minibatch_cannot_exceed_what_there_is():
    assert "smerl.minibatch_size 4097 exceeds" in problems(
        "smerl.minibatch_size=4097", method="smerl", members=2
    )
    assert (
        resolved("smerl.minibatch_size=4096", method="smerl", members=2).method_config.minibatch_size == 4096
    )


def test_every_problem_is_named_at_once():
    message = problems(
        "ppo.epochs=0",
        "dir.hidden=-3",
        "dir.std_floor=-1",
        "ppo.learning_rat=1",
        "dir.epochs=x",
        "dvd.ridge=0.1",
        "sac.lag=8",
        members=0,
        steps=-5,
        seed=-1,
        alpha=float("nan"),
        envs=0,
        threads=-2,
    )
    for word in (
        "ppo.epochs must",
        "dir.hidden must",
        "dir.std_floor must",
        "Unknown setting: 'ppo.learning_rat=1'",
        "1_000_000, got 'x'",
        "dvd.ridge=0.1 is for dvd; the method is dir",
        "sac.lag=8 is for sac; the learner is ppo",
        "members must be at least 1, got 0",
        "steps must be at least 1, got -5",
        "seed must lie between 0 and 4294967295, got -1",
        "alpha must be",
        "envs must be at least 1, got 0",
        "threads must be at least 1, got -2",
    ):
        assert word in message, message
    lines = message.splitlines()
    assert lines[-1] == "Nothing was started."
    assert sum("dvd.ridge" in line for line in lines) == sum("sac.lag" in line for line in lines) == 1


def test_unknown_names_get_near_matches_together():
    message = problems(method="dirr", preset="papper", learner="saac", members=0)
    for word in ("'dirr'", "'dir'", "'papper'", "'paper'", "'saac'", "'sac'", "members must be at least 1"):
        assert word in message, message


def test_environments_must_share_the_rollout():
    assert "envs 60 cannot share the 2048 steps of ppo between two updates" in problems(envs=60)
    assert "envs 24 cannot share the 64 steps of sac" in problems(envs=24, learner="sac", method="multi")
    assert resolved(envs=32).envs == 32


@pytest.mark.parametrize("method", METHODS.names())
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("task", ["walker", "ant"])
def test_a_run_remembers_its_configuration(task, preset, method):
    run = resolved("ppo.policy_hidden=8,4", task=task, preset=preset, method=method, remove=("torso.*",))
    again = RunConfig.from_json(json.loads(json.dumps(run.to_json())))
    assert again == run
    hints = typing.get_type_hints(RunConfig)
    # Changed worlds, a guard and specialists are written down where there are any, so that a run without them
    # keeps its name.
    options: dict[str, Any] = {
        "variation": "broken-foot",
        "worlds": "delay=1",
        "curriculum": 0.5,
        "guard": 0.8,
    }
    options |= {"specialists": 1, "against": "mesh", "specialist_steps": 10}
    assert set(run.to_json()) == set(hints) - set(options)
    changed = dataclasses.replace(run, **options)
    assert set(changed.to_json()) == set(hints)
    assert RunConfig.from_json(json.loads(json.dumps(changed.to_json()))) == changed


@pytest.mark.parametrize("name", ["enough", "regulate"])
def test_what_came_later_is_written_down_where_it_does_something(name):
    assert name not in resolved(f"dir.{name}=0").to_json()["method_config"]
    run = resolved(f"dir.{name}=2")
    assert run.to_json()["method_config"][name] == 2.0
    assert RunConfig.from_json(json.loads(json.dumps(run.to_json()))) == run


def test_soft_actor_critic_is_remembered_too():
    run = resolved("sac.policy_hidden=8,4", learner="sac")
    assert RunConfig.from_json(json.loads(json.dumps(run.to_json()))) == run
    assert run.to_json()["learner"]["name"] == "sac"


DAMAGES: list[dict[str, Any]] = [
    {"unknown": 1},
    {"steps": ...},
    {"learner": ...},
    {"learner": "large"},
    {"learner": [1, 2]},
    {"learner": {}},
    {"learner": {"name": "ppo", "unknown": 1}},
    {"method_config": ...},
    {"method_config": {"unknown": 1}},
    {"method_config": []},
    {"method_config": None},
]
"""Other values of some entries; ... takes one away."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_unreadable_configuration_is_a_users_error(damage):
    data = resolved().to_json() | damage
    with pytest.raises(UserError, match="cannot be read"):
        RunConfig.from_json({name: value for name, value in data.items() if value is not ...})


def test_a_learner_or_method_that_is_gone_is_named():
    data = resolved().to_json()
    with pytest.raises(UserError, match="Unknown learner: 'gone'"):
        RunConfig.from_json(data | {"learner": {"name": "gone"}})
    with pytest.raises(UserError, match="Unknown method: 'gone'"):
        RunConfig.from_json(data | {"method": "gone"})


def test_a_run_older_than_a_setting_is_read_with_its_default():
    data = resolved("dir.bound=none", "ppo.epochs=3").to_json()
    for later in ("std_floor", "enough", "regulate"):
        data["method_config"].pop(later)
    data["learner"].pop("std_bounds")
    again = RunConfig.from_json(data)
    assert again.method_config == DirConfig(objective="posture", bound="none")
    assert (again.learner.epochs, again.learner.std_bounds) == (3, PPOConfig.std_bounds)
    kept = RunFolder.open(Path(__file__).parent / "data" / "walker-dir").manifest["config"]
    assert RunConfig.from_json(kept).method == "dir"


def test_damage_is_named_without_type_checks_too():
    """As users run it: the tests' own type checks must not be what finds the damage."""
    program = (
        "from polygait.config import TrainConfig; from polygait.errors import UserError\n"
        "from polygait.resolving import resolve; from polygait.run_config import RunConfig\n"
        "data = resolve(TrainConfig('walker')).to_json()\n"
        "for part in ({'learner': 'large'}, {'method_config': None}, {'learner': [1, 2]}):\n"
        "    try:\n"
        "        RunConfig.from_json(data | part)\n"
        "    except UserError:\n"
        "        continue\n"
        "    raise AssertionError(part)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_what_the_method_uses_can_be_asked_for():
    for method in ("multi", "pg"):
        assert f"a bonus that {method} does not have" in problems(method=method, alpha=0.1)
    assert "dvd.form=pairwise is for dvd; the method is dir" in problems("dvd.form=pairwise")
    assert "ppo.epochs=3 is for ppo; the learner is sac" in problems("ppo.epochs=3", learner="sac")
    assert resolved("dvd.form=pairwise", method="dvd").method_config.form == "pairwise"


def test_wishes_of_a_wrong_kind_are_named_together():
    code = """
import numpy as np
import polygait as pg
from polygait.resolving import resolve

try:
    resolve(pg.TrainConfig("walker", members="5", steps=1.5, envs=True))
except pg.UserError as error:
    for word in ("members", "steps", "envs"):
        assert f"{word} must be a whole number" in str(error), error
else:
    raise AssertionError
assert resolve(pg.TrainConfig("walker", steps=1e6)) == resolve(pg.TrainConfig("walker", steps=1_000_000))
made = resolve(pg.TrainConfig("walker", seed=np.int64(3), steps=np.int32(4096), overrides="ppo.epochs=3"))
assert made == resolve(pg.TrainConfig("walker", seed=3, steps=4096, overrides=("ppo.epochs=3",)))
assert type(made.seed) is int and made.learner.epochs == 3
assert resolve(pg.TrainConfig("walker", remove="right_leg.*")).remove == ("right_leg.*",)
"""  # in a process of its own, since tests refuse such types even earlier
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "got 4294967296" in problems(seed=2**32)


def test_whose_a_setting_is():
    assert not is_foreign("dir.bound=none", "dir") and is_foreign("dir.bound=none", "multi")
    assert not is_foreign("ppo.epochs=3", "multi") and is_foreign("ppo.epochs=3", "multi", "sac")
    assert not is_foreign("task.randomize=false", "multi")


def test_the_page_of_settings_is_current():
    root = Path(__file__).parents[1]
    made = subprocess.run([sys.executable, root / "scripts/settings.py"], capture_output=True, check=True)
    assert made.stdout.decode() == (root / "docs/settings.md").read_text(encoding="utf-8")
