"""Advantages and value targets computed by hand, γ = λ = 1/2."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from polygait.config import PPOConfig
from polygait.learning.advantage import Experience, generalised_advantage, monte_carlo_return, value_target

CONFIG = PPOConfig(discount=0.5, gae_lambda=0.5)


def experience(terminated=(), truncated=()) -> Experience:
    """Rewards 1 2 3 4, values 1 1 2 2, true next values 10 20 30 40."""

    def column(values, dtype=jnp.float32):
        return jnp.array(values, dtype)[:, None]

    return Experience(
        reward=column([1, 2, 3, 4]),
        terminated=column([time in terminated for time in range(4)], bool),
        truncated=column([time in truncated for time in range(4)], bool),
        value=column([1, 1, 2, 2]),
        next_value=column([10, 20, 30, 40]),
    )


# δ with every next value: 1+5−1, 2+10−1, 3+15−2, 4+20−2 = 5, 11, 16, 22.
GAE = [
    pytest.param((), (), True, [5 + 16.375 / 4, 11 + 21.5 / 4, 16 + 22 / 4, 22], id="open end"),
    pytest.param((1,), (), True, [5 + 1 / 4, 1, 21.5, 22], id="terminated in the middle"),
    pytest.param((), (1,), True, [5 + 11 / 4, 11, 21.5, 22], id="truncated in the middle"),
    pytest.param((), (1,), False, [5 + 1 / 4, 1, 21.5, 22], id="truncation as failure"),
    pytest.param((1,), (1,), True, [5 + 1 / 4, 1, 21.5, 22], id="both: failure wins"),
    pytest.param((3,), (), True, [5 + 15.125 / 4, 11 + 16.5 / 4, 16 + 2 / 4, 2], id="terminated at the end"),
]


@pytest.mark.parametrize(("terminated", "truncated", "bootstrap", "expected"), GAE)
def test_generalised_advantage(terminated, truncated, bootstrap, expected):
    config = replace(CONFIG, bootstrap_truncation=bootstrap)
    advantage = generalised_advantage(experience(terminated, truncated), config.discount, config)
    np.testing.assert_allclose(advantage[:, 0], expected, rtol=1e-6)


RETURNS = [
    pytest.param((), (), True, [1 + 9.5 / 2, 2 + 15 / 2, 3 + 24 / 2, 24], id="open end"),
    pytest.param((1,), (), True, [2, 2, 15, 24], id="terminated in the middle"),
    pytest.param((), (1,), True, [7, 12, 15, 24], id="truncated in the middle"),
    pytest.param((), (1,), False, [2, 2, 15, 24], id="truncation as failure"),
    pytest.param((3,), (), True, [1 + 4.5 / 2, 2 + 5 / 2, 5, 4], id="terminated at the end"),
    pytest.param((), (3,), False, [1 + 4.5 / 2, 2 + 5 / 2, 5, 4], id="failure by time limit at the end"),
]


@pytest.mark.parametrize(("terminated", "truncated", "bootstrap", "expected"), RETURNS)
def test_monte_carlo_return(terminated, truncated, bootstrap, expected):
    config = replace(CONFIG, bootstrap_truncation=bootstrap)
    returns = monte_carlo_return(experience(terminated, truncated), config.discount, config)
    np.testing.assert_allclose(returns[:, 0], expected, rtol=1e-6)


def test_value_targets():
    lived = experience()
    advantage = generalised_advantage(lived, CONFIG.discount, CONFIG)
    np.testing.assert_allclose(
        value_target(lived, advantage, CONFIG.discount, CONFIG), advantage + lived.value
    )
    monte_carlo = replace(CONFIG, value_target="monte-carlo")
    np.testing.assert_allclose(
        value_target(lived, advantage, 0.5, monte_carlo), monte_carlo_return(lived, 0.5, monte_carlo)
    )


def test_a_broken_state_after_failure_poisons_nothing():
    lived = experience(terminated=(1,))
    lived = lived._replace(next_value=lived.next_value.at[1].set(jnp.nan))
    assert np.isfinite(generalised_advantage(lived, CONFIG.discount, CONFIG)).all()
    assert np.isfinite(monte_carlo_return(lived, CONFIG.discount, CONFIG)).all()
