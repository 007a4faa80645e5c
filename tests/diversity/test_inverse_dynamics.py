"""The inverse-dynamics model against numbers worked out by hand."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from polygait.diversity.inverse_dynamics import LOG_STD_RANGE, InverseDynamics, Transitions
from polygait.diversity.methods.dir import DirConfig

pytestmark = pytest.mark.usefixtures("quick_compilation")

LINEAR = DirConfig(hidden=())
HALF_LOG_TWO_PI = 0.9189385332046727


def model(kept, action, config=LINEAR, **arrays):
    """A model whose arrays are set by hand; those left out are zero."""
    fresh = InverseDynamics(jax.random.key(0), kept, action, config)
    if not config.hidden:
        zeros = jax.tree.map(jnp.zeros_like, fresh.network)
        fresh = eqx.tree_at(lambda one: one.network, fresh, zeros)
    places = {
        "weights": lambda one: one.network.weights[0],
        "biases": lambda one: one.network.biases[0],
        "center": lambda one: one.center,
        "factor": lambda one: one.factor,
    }
    for name, value in arrays.items():
        fresh = eqx.tree_at(places[name], fresh, jnp.asarray(value, jnp.float32))
    return fresh


def transitions(state, next_state, action):
    return Transitions(*(jnp.asarray(one, jnp.float32) for one in (state, next_state, action)))


def raw(std):
    """What the network must say for the soft clamp to give this standard deviation."""
    inner = math.log(math.expm1(math.log(std) + 10)) - 10
    return 0.5 - math.log(math.expm1(0.5 - inner))


def test_the_likelihood_of_a_unit_gaussian():
    one = model(1, 1, biases=[0.0, raw(1.0)])
    found = one.negative_log_likelihood(transitions(np.zeros((3, 1)), np.zeros((3, 1)), [[0], [1], [-2]]))
    assert found.shape == (3, 1)
    expected = [HALF_LOG_TWO_PI, 0.5 + HALF_LOG_TWO_PI, 2 + HALF_LOG_TWO_PI]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-5)


def test_every_dimension_has_its_own_mean_and_spread():
    # Outputs are (mean of 1, mean of 2, log-std of 1, log-std of 2), inputs (s, s′).
    weights = [[1.0, 0.0, 0.0, 0.0], [0.0, -2.0, 0.0, 0.0]]
    one = model(1, 2, weights=weights, biases=[0.1, 0.2, raw(0.5), raw(0.2)])
    found = one.negative_log_likelihood(transitions([[0.3]], [[0.7]], [[0.9, -0.5]]))[0]
    first = (0.9 - math.tanh(0.3 + 0.1)) ** 2 / (2 * 0.25) + math.log(0.5) + HALF_LOG_TWO_PI
    second = (-0.5 - math.tanh(-1.4 + 0.2)) ** 2 / (2 * 0.04) + math.log(0.2) + HALF_LOG_TWO_PI
    np.testing.assert_allclose(found, [first, second], rtol=1e-5)


def test_both_states_are_normalised_alike():
    weights = np.array([[1, 0], [0, 0], [-3, 0], [0, 0]])  # reads the first number of s and of s′
    one = model(2, 1, weights=weights, center=[2.0, 5.0], factor=[0.5, 7.0])
    mean, _ = one.mean_and_log_std(transitions([[2.4, 9.0]], [[1.8, 9.0]], [[0.0]]))
    assert float(mean[0, 0]) == pytest.approx(math.tanh(0.2 + 0.3), abs=1e-6)


def test_hidden_layers_are_rectified():
    one = InverseDynamics(jax.random.key(1), 2, 1, DirConfig(hidden=(5,)))
    state, next_state = np.array([[0.4, -1.0]]), np.array([[2.0, 0.3]])
    hidden = np.maximum(np.concatenate([state, next_state], axis=1) @ np.asarray(one.network.weights[0]), 0)
    expected = np.tanh(hidden @ np.asarray(one.network.weights[1]))[:, :1]
    mean, _ = one.mean_and_log_std(transitions(state, next_state, [[0.0]]))
    np.testing.assert_allclose(mean, expected, rtol=1e-5)


def test_the_floor_acts_only_below_itself():
    one = model(1, 2, biases=[0.0, 0.0, raw(0.1), raw(0.8)])
    given = transitions([[0.0]], [[0.0]], [[0.6, 0.6]])
    free = one.negative_log_likelihood(given)[0]
    floored = one.negative_log_likelihood(given, 0.4)[0]
    by_hand = [0.6**2 / (2 * std**2) + math.log(std) + HALF_LOG_TWO_PI for std in (0.1, 0.4, 0.8)]
    np.testing.assert_allclose(free, [by_hand[0], by_hand[2]], rtol=1e-5)
    np.testing.assert_allclose(floored, [by_hand[1], by_hand[2]], rtol=1e-5)
    np.testing.assert_array_equal(one.negative_log_likelihood(given, 0.05)[0], free)


def test_the_spread_is_clamped_softly():
    outputs = np.array([-1e4, -30.0, -10.0, -4.0, -1.0, 0.5, 5.0, 1e4])
    found = [
        float(model(1, 1, biases=[0, one]).mean_and_log_std(transitions([[0]], [[0]], [[0]]))[1][0, 0])
        for one in outputs
    ]
    low, high = LOG_STD_RANGE
    upper = high - np.log1p(np.exp(np.minimum(high - outputs, 500)))
    expected = low + np.log1p(np.exp(np.maximum(upper - low, -500)))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert (np.diff(found) >= 0).all()
    assert low <= min(found) and max(found) <= high + 1e-4
    assert found[3] == pytest.approx(-4, abs=0.02)  # in the middle it hardly acts


def test_the_clamp_lets_gradients_through_at_its_ends():
    def log_std(output):
        one = eqx.tree_at(
            lambda m: m.network.biases[0], model(1, 1), jnp.stack([jnp.zeros_like(output), output])
        )
        return one.mean_and_log_std(transitions([[0]], [[0]], [[0]]))[1][0, 0]

    for output in (-14.0, 4.0):
        assert float(jax.grad(log_std)(jnp.float32(output))) > 1e-3


def test_statistics_are_not_parameters():
    one = InverseDynamics(jax.random.key(1), 2, 1, DirConfig(hidden=(4,)))
    given = transitions([[1.0, 2.0]], [[0.5, 1.5]], [[0.3]])
    gradient = jax.grad(lambda m: m.negative_log_likelihood(given).mean())(one)
    np.testing.assert_array_equal(gradient.center, np.zeros(2))
    np.testing.assert_array_equal(gradient.factor, np.zeros(2))
    assert float(jnp.abs(gradient.network.weights[0]).max()) > 0


@pytest.mark.parametrize("hidden", [(), (6,), (6, 4)])
def test_a_filter_that_keeps_nothing_gives_one_distribution(hidden):
    one = InverseDynamics(jax.random.key(2), 0, 2, DirConfig(hidden=hidden))
    given = transitions(np.zeros((5, 0)), np.zeros((5, 0)), np.zeros((5, 2)))
    mean, log_std = one.mean_and_log_std(given)
    assert mean.shape == log_std.shape == (5, 2)
    np.testing.assert_array_equal(mean, np.zeros((5, 2)))
    assert np.isfinite(np.asarray(one.negative_log_likelihood(given))).all()


def test_leading_axes_are_free():
    one = InverseDynamics(jax.random.key(3), 2, 3, DirConfig(hidden=(4,)))
    chance = np.random.default_rng(0)
    arrays = [chance.normal(size=(2, 5, width)) for width in (2, 2, 3)]
    whole = one.negative_log_likelihood(transitions(*arrays))
    rows = one.negative_log_likelihood(transitions(*(array.reshape(10, -1) for array in arrays)))
    assert whole.shape == (2, 5, 3)
    np.testing.assert_allclose(whole.reshape(10, 3), rows, rtol=1e-5)
