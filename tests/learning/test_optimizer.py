"""The size of steps and of noise, by hand."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from polygait.config import PPOConfig
from polygait.errors import UserError
from polygait.learning.optimizer import (
    discount_at,
    exploration_std,
    learning_rate,
    make_optimizer,
    make_policy_optimizer,
)

CONFIG = PPOConfig()
WEIGHTS: Any = {"layer": jnp.array([1.0, 2.0])}
GRADIENT: Any = {"layer": jnp.array([0.3, -0.4])}


def test_the_step_size_falls_to_its_last_share():
    config = replace(CONFIG, learning_rate=2e-3, anneal_iterations=10)
    assert [learning_rate(iteration, config) for iteration in (0, 5, 10, 11)] == pytest.approx(
        [2e-3, 1e-3, 0, 0]
    )
    tenth = replace(config, anneal_to=0.1)
    assert [learning_rate(iteration, tenth) for iteration in (0, 5, 10, 11)] == pytest.approx(
        [2e-3, 1.1e-3, 2e-4, 2e-4]
    )
    assert learning_rate(7, replace(config, anneal_to=1.0)) == pytest.approx(2e-3)
    late = replace(tenth, anneal_start=0.5)
    assert [learning_rate(iteration, late) for iteration in (5, 6, 10, 11)] == pytest.approx(
        [2e-3, 1.64e-3, 2e-4, 2e-4]
    )
    assert learning_rate(10, replace(tenth, anneal_start=1.0)) == pytest.approx(2e-3)


def test_noise_goes_linearly_to_its_final_std():
    config = replace(CONFIG, anneal_iterations=4, final_std=0.2, final_start=0.0)
    assert [exploration_std(iteration, config) for iteration in (0, 1, 4, 5)] == pytest.approx(
        [0.4, 0.35, 0.2, 0.2]
    )
    assert exploration_std(3, replace(config, final_std=0.0)) == 0.4
    late = replace(config, final_start=0.5)
    assert [exploration_std(iteration, late) for iteration in (0, 2, 3, 4, 5)] == pytest.approx(
        [0.4, 0.4, 0.3, 0.2, 0.2]
    )
    assert exploration_std(3, replace(config, anneal_iterations=0)) == 0.4


def test_the_horizon_grows_by_equal_factors_to_its_final_discount():
    config = replace(CONFIG, anneal_iterations=4, discount=0.9, final_discount=0.99, final_start=0.0)
    horizons = [1 / (1 - discount_at(iteration, config)) for iteration in (0, 2, 4, 5)]
    assert horizons == pytest.approx([10, 1000**0.5, 100, 100])
    assert discount_at(2, replace(config, final_start=0.5)) == pytest.approx(0.9)
    assert discount_at(3, replace(config, final_discount=0.8)) == 0.9
    assert discount_at(3, replace(config, anneal_iterations=0)) == pytest.approx(0.9)


def test_no_horizon_grows_without_end():
    with pytest.raises(UserError, match="final_discount must be below 1"):
        replace(CONFIG, final_discount=1.0).check()
    replace(CONFIG, final_discount=1.0, discount=1.0).check()


def test_long_gradients_are_shortened_before_adam_forgets_their_size():
    optimizer = make_optimizer(replace(CONFIG, max_gradient_norm=0.25, adam_epsilon=0.1))
    direction: Any = optimizer.update(GRADIENT, optimizer.init(WEIGHTS))[0]
    short = np.array([0.15, -0.2])
    np.testing.assert_allclose(direction["layer"], short / (np.abs(short) + 0.1), rtol=1e-5)


def test_steps_of_a_policy_answer_to_its_divergence():
    config = replace(CONFIG, desired_kl=0.01)
    plain: Any = make_optimizer(config)
    adaptive: Any = make_policy_optimizer(config)
    direction = np.asarray(plain.update(GRADIENT, plain.init(WEIGHTS))[0]["layer"])
    state = adaptive.init(WEIGHTS)
    # Above twice the desired divergence, within the band, below half of it.
    for kl, factor in ((0.021, 1 / 1.5), (0.019, 1 / 1.5), (0.006, 1 / 1.5), (0.004, 1.0), (0.004, 1.5)):
        step, state = adaptive.update(GRADIENT, state, kl=jnp.float32(kl))
        np.testing.assert_allclose(step["layer"], factor * direction, rtol=1e-5)
    for _ in range(20):
        step, state = adaptive.update(GRADIENT, state, kl=jnp.float32(1.0))
    np.testing.assert_allclose(step["layer"], direction / 30, rtol=1e-5)


def test_without_a_desired_divergence_nothing_answers_to_it():
    first = make_policy_optimizer(CONFIG).init(WEIGHTS)
    assert jax.tree.structure(first) == jax.tree.structure(make_optimizer(CONFIG).init(WEIGHTS))
