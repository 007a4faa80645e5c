"""Models that read actions: exact where arithmetic can tell, and not surer than their data allow."""

import jax
import numpy as np
import pytest
from scipy import stats

from polygait.diversity.methods.dir import DirConfig
from polygait.experiments import revealing
from polygait.experiments.revealing import RawTransitions, filtered, fit, infer, marginal
from polygait.tasks.state import StateFilter, StateLayout

LAYOUT = StateLayout(("one.a", "two.b"))


def experience(count: int, seed: int) -> RawTransitions:
    """Actions that the states say nothing about."""
    chance = np.random.default_rng(seed)
    draw = chance.normal
    return RawTransitions(draw(size=(count, 2)), draw(0.2, 0.3, size=(count, 1)), draw(size=(count, 2)))


def test_without_state_the_actions_own_gaussian_remains():
    seen, fresh = experience(500, 0), experience(400, 1)
    found = marginal(seen, fresh)
    mean, std = seen.action.mean(), seen.action.std()
    assert found.variance == pytest.approx([std**2])
    assert found.log_likelihood == pytest.approx(stats.norm.logpdf(fresh.action, mean, std).mean())
    assert found.error == pytest.approx([np.mean((fresh.action - mean) ** 2)])


def test_few_data_do_not_make_a_model_sure():
    """There is nothing to learn: a model that goes on learns its sixty samples by heart."""
    seen, checked, fresh = experience(60, 2), experience(400, 3), experience(2_000, 4)
    config = DirConfig(hidden=(32, 32), learning_rate=3e-3, epochs=300, minibatch_size=32)
    whole = StateFilter.identity(LAYOUT)
    found = infer(fit(seen, checked, whole, config, jax.random.key(0)), filtered(fresh, whole))
    assert found.log_likelihood > marginal(seen, fresh).log_likelihood - 0.25
    assert found.variance > 0.07  # of 0.09


def test_patience_ends_before_the_last_epoch(monkeypatch):
    calls = []
    real = revealing.fit_model
    monkeypatch.setattr(revealing, "fit_model", lambda *given: calls.append(1) or real(*given))
    config = DirConfig(hidden=(4,), learning_rate=0.03, epochs=1_000, minibatch_size=32)
    fit(experience(64, 5), experience(64, 6), StateFilter.identity(LAYOUT), config, jax.random.key(0))
    assert revealing.PATIENCE < len(calls) < 1_000
