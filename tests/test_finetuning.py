"""A member goes on learning in a changed world: from its own weights, bit for bit, and recorded."""

import dataclasses
import math
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import polygait as pg
from polygait import cli, finetuning, training
from polygait.adaptation import Adaptation
from polygait.cohort import Cohort, make_cohort
from polygait.config import AdaptConfig, FinetuneConfig
from polygait.errors import UserError
from polygait.finetuning import begin_finetuning
from polygait.learning.optimizer import discount_at
from polygait.learning.stacking import member_of
from polygait.population.population import section
from polygait.population.store import RunFolder
from polygait.report.run.reproduce import run_command
from polygait.resolving import resolve, resolve_finetuning
from polygait.run_config import RunConfig
from tests import tiny
from tests.tiny import Killed, assert_same_run, crash_at, digests

pytestmark = pytest.mark.usefixtures("quick_compilation")
WORLD = "broken-foot"
SHORT: dict[str, Any] = {"steps": 64 * 3, "member": 1}


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """Two members of Hopper."""
    out = tmp_path_factory.mktemp("origin") / "run"
    tiny.train(out, "ppo.final_std=0.2")
    return out


@pytest.fixture(scope="module")
def tuned(origin, tmp_path_factory):
    """Its second member after three rollouts with a broken foot."""
    out = tmp_path_factory.mktemp("tuned") / "run"
    pg.finetune(origin, WORLD, out, **SHORT)
    return out


@pytest.fixture(scope="module")
def sac_origin(tmp_path_factory):
    out = tmp_path_factory.mktemp("sac") / "run"
    tiny.train(out, learner="sac", method="multi", members=1)
    return out


def start(path: Path) -> tuple[Cohort, training.LoopState]:
    cohort = make_cohort(RunFolder.open(path), None, 1)
    return cohort, training._initial_state(cohort)


@pytest.mark.parametrize("learner", ["ppo", "sac"])
def test_it_starts_from_the_member_and_nothing_else_is_kept(learner, origin, sac_origin, tmp_path):
    source, member = (origin, 1) if learner == "ppo" else (sac_origin, 0)
    options = FinetuneConfig(member, 64)
    run = begin_finetuning(source, WORLD, tmp_path / "run", options)
    cohort, state = start(run.path)
    kept = RunFolder.open(source).load_member(member)
    exported = cohort.learner.export(state.learner)
    for part, prefix in ((exported, "brain"), (cohort.learner.critic(state.learner), "critic")):
        found = {name: np.asarray(array) for name, array in training.flatten_tree(member_of(part, 0)).items()}
        expected = section(kept, prefix)
        different = [name for name in expected if not np.array_equal(found[name], expected[name])]
        # Noise that is not learned begins as the settings say, not where the origin's had come to.
        assert different == ([".policy.std_parameter"] if prefix == "brain" and learner == "ppo" else [])
    fresh = cohort.learner.init(cohort.keys)
    optimizers = ("policy_optimizer", "critic_optimizer", "actor_optimizer", "critics_optimizer")
    networks, anew = (getattr(one, "networks", one) for one in (state.learner, fresh))
    for name in filter(lambda one: hasattr(networks, one), optimizers):
        jax.tree.map(np.testing.assert_array_equal, getattr(networks, name), getattr(anew, name))


def test_a_soft_actor_critic_fills_its_memory_by_itself(sac_origin, tmp_path):
    run = begin_finetuning(sac_origin, WORLD, tmp_path / "run", FinetuneConfig(0, 64))
    cohort, state = start(run.path)
    seen = np.random.default_rng(0).normal(size=(1, 8, 11)).astype(np.float32)
    actions = cohort.learner.policy(state.learner, 0).mean(seen)
    np.testing.assert_allclose(actions[0], pg.load(sac_origin).act(seen[0], 0), atol=1e-6)
    assert np.abs(actions).max() > 0  # the even actor of a fresh learner would stay in the middle


def test_all_of_training_happens_in_the_changed_world(origin, tuned, tmp_path):
    cohort, _ = start(begin_finetuning(origin, WORLD, tmp_path / "run", FinetuneConfig(1, 64)).path)
    assert cohort.config.variation == WORLD
    model = cohort.task.physics.batch.expand("jnt_range")  # type: ignore[attr-defined]
    nominal = pg.make_task("hopper").physics.batch.expand("jnt_range")  # type: ignore[attr-defined]
    assert model.shape[0] == 8 and all(not np.array_equal(row, nominal[0]) for row in model)
    summary = pg.load(tuned).members[0].summary
    assert {"nominal_return", "variation_return", "variation_falls"} <= summary.keys()
    shutil.copytree(tuned, tmp_path / "copy")  # results are kept in the folder
    measured = pg.evaluate(tmp_path / "copy", suite=[WORLD, "nominal"], episodes=2)
    assert measured.height == 2
    assert "variation_return" not in pg.load(origin).members[0].summary


def test_the_origin_is_recorded_and_kept(origin, tuned):
    manifest, population = RunFolder.open(tuned).manifest, pg.load(origin)
    told = manifest["origin"]
    assert (told["run"], told["member"], told["variation"]) == (str(origin), 1, WORLD)
    assert told["weights"] == population.weights(1) and told["world"] == "broken(foot_joint)"
    assert told["adaptation"] is None
    config = RunConfig.from_json(manifest["config"])
    assert (config.method, config.members, config.alpha, config.steps) == ("multi", 1, 0.0, 64 * 3)
    assert config.learner.anneal_iterations == 3  # over its own steps, not the origin's
    kept, expected = RunFolder.open(tuned).load_origin(), RunFolder.open(origin).load_member(1)
    assert kept is not None and kept.keys() == expected.keys()
    assert all(np.array_equal(kept[name], expected[name]) for name in kept)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_crash_at_any_iteration_changes_nothing(at, origin, tuned, tmp_path, monkeypatch):
    tiny.save_every_iteration(monkeypatch)
    with pytest.raises(Killed):
        pg.finetune(origin, WORLD, tmp_path / "run", crash_at(at), **SHORT)
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", tuned)


def test_it_needs_its_origin_no_more_and_can_be_resumed_before_the_first_checkpoint(origin, tuned, tmp_path):
    copy = tmp_path / "origin"
    shutil.copytree(origin, copy)
    begin_finetuning(copy, WORLD, tmp_path / "run", FinetuneConfig(1, 64 * 3))
    shutil.rmtree(copy)
    pg.resume(tmp_path / "run")
    assert digests(tmp_path / "run") == digests(tuned)


def test_auto_takes_the_member_that_comes_farthest(origin, tmp_path):
    run = begin_finetuning(origin, WORLD, tmp_path / "run", FinetuneConfig("auto", 64))
    chosen = pg.adapt(origin, WORLD, by="progress")
    told = run.manifest["origin"]
    assert (told["member"], told["adaptation"]) == (chosen.best, chosen.name)


def one_gait(speed: float, falls: int, earned: float) -> dict[str, Any]:
    """Two episodes of ten seconds."""
    return {"progress": [10 * speed] * 2, "falls": falls, "returns": [earned] * 2}


@pytest.mark.parametrize(
    ("gaits", "chosen"),
    [
        ([one_gait(0.02, 0, 1000), one_gait(-0.1, 2, 14), one_gait(-0.3, 2, -30)], 1),  # one falls, and moves
        ([one_gait(0.02, 0, 1000), one_gait(0.4, 0, 900), one_gait(0.5, 2, 50)], 2),
        ([one_gait(0.02, 0, 1000), one_gait(0.03, 0, 900)], 1),  # all stand still
        ([one_gait(math.nan, 0, 1000), one_gait(math.nan, 0, 900)], 0),  # nobody knows
    ],
)
def test_who_stands_still_goes_on_only_when_all_do(gaits, chosen, monkeypatch):
    policies = {str(place): lambda seen: np.zeros((len(seen), 6)) for place in range(len(gaits))}
    shown = pg.Population.from_policies(policies, task="walker")
    columns: dict[str, Any] = {
        name: np.array([gait[name] for gait in gaits]) for name in ("progress", "falls", "returns")
    }
    by_progress = np.isfinite(columns["progress"]).all()
    worth = columns["progress" if by_progress else "returns"].mean(axis=1)
    asked = []

    def adapted(*_: Any, by: str, **__: Any) -> Adaptation:
        asked.append(by)
        config = AdaptConfig(by=by)
        nobody = np.zeros(0)
        return Adaptation(
            "walker",
            WORLD,
            config,
            int(worth.argmax()),
            diverged=0 * columns["falls"],
            stopped=(),
            held_out_returns=nobody,
            held_out_progress=nobody,
            seconds=10.0,
            **columns,
        )

    monkeypatch.setattr(finetuning, "adapt", adapted)
    if not by_progress:
        monkeypatch.setattr(shown, "make_task", lambda: pg.make_task("gym:Pendulum-v1"))
    assert finetuning.choose(shown, WORLD, FinetuneConfig("auto", 64)).member == chosen
    assert asked == ["progress" if by_progress else "return"]


def test_a_member_that_was_trained_in_worlds_goes_on_without_them():
    """Nor with the curriculum and the bonus of its origin: the changed world is all there is."""
    options = {
        "worlds": "nominal, broken(any(*)), delay=0..2",
        "curriculum": 0.5,
        "method": "dir",
        "diversity": 0.3,
    }
    wanted = pg.TrainConfig("hopper", members=1, steps=64, **options)
    resolved = resolve_finetuning(resolve(wanted), FinetuneConfig(0, 64), WORLD)
    assert (resolved.worlds, resolved.curriculum, resolved.method) == ("", 0.0, "multi")
    assert (resolved.variation, resolved.members) == (WORLD, 1)


def test_a_member_whose_horizon_grew_goes_on_with_the_last_one():
    """Its critic knows no other."""
    wanted = pg.TrainConfig("hopper", members=1, steps=64, overrides=("ppo.final_discount=0.997",))
    learner = resolve_finetuning(resolve(wanted), FinetuneConfig(0, 64), WORLD).learner
    assert discount_at(0, learner) == discount_at(1, learner) == 0.997


@pytest.mark.slow
def test_a_run_with_worlds_is_finetuned_to_its_end(tmp_path):
    tiny.train(tmp_path / "run", worlds="nominal, broken(any(*)), delay=0..2", curriculum=0.5)
    population = pg.finetune(tmp_path / "run", WORLD, tmp_path / "tuned", **SHORT)
    assert population.config.worlds == "" and population.config.variation == WORLD
    assert math.isfinite(population.members[0].summary["variation_return"])


@pytest.mark.slow
def test_it_is_a_run_like_any_other(tuned, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(tuned, copy)
    before = digests(copy)
    extended = pg.extend(copy, 1)  # another try from the same start
    assert len(extended) == 2 and before.items() < digests(copy).items()
    assert extended.weights(0) != extended.weights(1)
    assert pg.adapt(copy, WORLD, episodes=2, held_out=0).best in (0, 1)
    again = pg.finetune(copy, "nominal", tmp_path / "again", member=0, steps=64)
    assert again.config.variation is None


@pytest.mark.slow
def test_every_option_changes_the_result(origin, tuned, tmp_path):
    changes: dict[str, Any] = {"member": 0, "steps": 64, "seed": 1, "overrides": "ppo.learning_rate=1e-4"}
    assert {*changes, "threads"} == {field.name for field in dataclasses.fields(FinetuneConfig)}
    for name, value in changes.items():
        pg.finetune(origin, WORLD, tmp_path / name, **{**SHORT, name: value})
        assert digests(tmp_path / name) != digests(tuned), name
    pg.finetune(origin, WORLD, tmp_path / "threads", **SHORT, threads=1)
    assert digests(tmp_path / "threads") == digests(tuned)


def test_a_damaged_start_is_named_and_finished_members_still_work(tuned, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(tuned, copy)
    file = copy / "origin.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    assert len(pg.load(copy)) == 1
    with pytest.raises(UserError, match=r"origin\.safetensors is truncated"):
        pg.extend(copy, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"member": 7}, "There is no member 7"),
        ({"member": "best"}, "There is no member 'best'"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"overrides": "ppo.policy_hidden=16"}, "keeps the layers of its networks"),
        ({"overrides": "dir.bound=none"}, "is for dir"),
        ({"overrides": "ppo.epoch=3"}, "Unknown setting"),
        ({"stpes": 3}, "Unknown option"),
    ],
)
def test_mistakes_are_named_before_anything_begins(options, message, origin, tmp_path):
    with pytest.raises(UserError, match=message):
        pg.finetune(origin, WORLD, tmp_path / "run", **{"member": 0, **options})
    assert not (tmp_path / "run").exists()


def test_an_unknown_world_and_a_used_folder_are_named(origin, tuned, tmp_path):
    with pytest.raises(UserError, match="broken-foto"):
        pg.finetune(origin, "broken-foto", tmp_path / "run")
    with pytest.raises(UserError, match="There is a run in"):
        pg.finetune(origin, WORLD, tuned)


def test_the_command_says_who_goes_on_and_how_to_make_it_again(origin, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    words = ["finetune", origin, "--variation", WORLD, "--member", "1", "--steps", "192", "--out", out]
    monkeypatch.setattr("sys.argv", ["polygait", *map(str, words)])
    cli.main()
    told = capsys.readouterr().out
    assert f"Member 1 of {origin} goes on for 192 steps." in told and "adapt" in told
    manifest = RunFolder.open(out).manifest
    command = run_command(RunConfig.from_json(manifest["config"]), manifest, "NEW")
    assert command == (
        f"polygait finetune {origin} --variation broken-foot --member 1 --steps 192 --seed 0 --out NEW"
    )


def test_a_run_that_trains_in_the_nominal_world_is_written_as_before(origin):
    config = RunConfig.from_json(RunFolder.open(origin).manifest["config"])
    assert "variation" not in config.to_json()
    changed = resolve_finetuning(config, FinetuneConfig(), "broken-foot")
    assert RunConfig.from_json(changed.to_json()) == changed
