"""Soft Actor-Critic in the loop that all learners share: exact after a crash, and members that act."""

import shutil

import jax.numpy as jnp
import numpy as np
import pytest

import polygait as pg
from polygait.population.store import RunFolder
from tests import tiny

pytestmark = pytest.mark.usefixtures("quick_compilation")

MULTI = {"method": "multi", "learner": "sac", "iterations": 4}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, quick_compilation):
    """Two independent members."""
    out = tmp_path_factory.mktemp("sac") / "run"
    tiny.train(out, **MULTI)
    return out


def test_a_crash_changes_nothing(finished, tmp_path, monkeypatch):
    out = tmp_path / "run"
    tiny.crashed(out, 4, monkeypatch, tiny.config(**MULTI))
    checkpoint = RunFolder.open(out).load_checkpoint()
    assert checkpoint is not None and checkpoint.iteration == 3
    for member in range(2):
        assert checkpoint.tensors[f"learner.{member}.rows"].shape == (3 * 64, 2 * 11 + 3 + 2)
    counts = checkpoint.tensors["state.learner.actor_optimizer[0].count"]
    assert counts.tolist() == [32, 32]  # two blocks of 16 updates, after one of warm-up
    pg.resume(out)
    tiny.assert_same_run(out, finished)


def test_the_log_has_a_line_now_and_then_and_at_the_end(finished):
    (line,) = RunFolder.open(finished).metrics()
    assert (line["iteration"], line["steps"], line["members"]) == (3, 4 * 64, [0, 2])
    for name in ("critic_loss", "value", "entropy", "temperature"):
        assert len(line[name]) == 2 and np.isfinite(line[name]).all()


def test_loaded_members_act_like_the_policy_that_learned(finished):
    population = pg.load(finished)
    assert population.config.learner.name == "sac" and len(population) == 2
    rows = np.random.default_rng(0).normal(size=(20, 11)).astype(np.float32)
    for member in population.members:
        expected = member.policy.policy.sample(jnp.asarray(rows), jnp.zeros((20, 3))).action
        np.testing.assert_allclose(population.act(rows, member.index), expected, atol=2e-6)
    assert np.abs(population.act(rows, 0) - population.act(rows, 1)).max() > 0.01


def test_members_are_adapted_evaluated_and_added_to(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    result = pg.adapt(pg.load(out), "broken-leg", episodes=2, held_out=1)
    assert result.returns.shape == (2, 2) and np.isfinite(result.held_out_return)
    frame = pg.evaluate(pg.load(out), suite="nominal", episodes=2)
    assert frame.height == 2 and frame["mean_return"].is_finite().all()
    before = tiny.digests(out)
    assert len(pg.extend(out, pg.Extension(1))) == 3
    assert before.items() < tiny.digests(out).items()


def test_dir_pays_its_second_member(tmp_path):
    population = tiny.train(tmp_path / "run", learner="sac", iterations=3)
    first, second = RunFolder.open(tmp_path / "run").metrics()
    assert first["bonus_mean"] == [0.0] and np.isfinite(second["bonus_mean"]).all()
    assert second["bonus_ratio"][0] > 0
    novelty = [member.summary["novelty"] for member in population.members]
    assert novelty[0] == np.inf and np.isfinite(novelty[1])


def test_the_bonus_is_remembered_with_the_step(tmp_path, monkeypatch):
    """What the critics learn from is the task's reward and the bonus together."""
    remembered = {}
    for alpha in (0.0, 0.5):
        out = tmp_path / str(alpha)
        wanted = tiny.config(learner="sac", iterations=2, alpha=alpha)
        tiny.crashed(out, 4, monkeypatch, wanted)  # the last iteration of the second member
        checkpoint = RunFolder.open(out).load_checkpoint()
        assert checkpoint is not None and checkpoint.metadata["first"] == 1
        remembered[alpha] = checkpoint.tensors["learner.0.rows"]
    paid, unpaid = remembered[0.5], remembered[0.0]
    reward = 11 + 3  # behind observation and action
    np.testing.assert_array_equal(np.delete(paid, reward, axis=1), np.delete(unpaid, reward, axis=1))
    assert (paid[:, reward] != unpaid[:, reward]).all()


def test_the_weights_of_the_best_episode_are_kept_across_a_crash(tmp_path, monkeypatch):
    wanted = tiny.config("keep=best-episode", "sac.learning_rate=0.03", **MULTI)
    pg.train(wanted, tmp_path / "alone")
    tiny.crashed(tmp_path / "run", 3, monkeypatch, wanted)
    pg.resume(tmp_path / "run")
    tiny.assert_same_run(tmp_path / "run", tmp_path / "alone")
