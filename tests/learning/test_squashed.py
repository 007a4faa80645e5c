"""The squashed policy against its density worked out another way, and against its NumPy twin."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from polygait.learning.squashed import LOG_STD_RANGE, EvenActor, NumpySquashed, SquashedPolicy
from polygait.learning.stacking import stacked

pytestmark = pytest.mark.usefixtures("quick_compilation")


def constant(mean: float, log_std: float) -> SquashedPolicy:
    """A policy that does the same in every state."""
    fresh = SquashedPolicy(jax.random.key(0), (2, 1), ())
    silent = jax.tree.map(jnp.zeros_like, fresh)
    return eqx.tree_at(lambda one: one.network.biases[0], silent, jnp.array([mean, log_std]))


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.7, 0.3), (-2.0, 0.5)])
def test_the_density_is_that_of_a_bent_gaussian(mean, std):
    """p(a) = N(artanh(a); μ, σ) / (1 − a²), by the rule for densities under a monotone map."""
    noise = jnp.array([[-1.5], [0.0], [0.4], [2.0]])
    action, found = constant(mean, math.log(std)).sample(jnp.zeros((4, 2)), noise)
    before = mean + std * np.asarray(noise, np.float64)
    np.testing.assert_allclose(action, np.tanh(before), atol=1e-6)
    expected = stats.norm.logpdf(before, mean, std) - np.log(1 - np.tanh(before) ** 2)
    np.testing.assert_allclose(found, expected[:, 0], rtol=1e-4)


def test_the_density_integrates_to_one():
    edges = np.linspace(-6, 6, 4001)
    noise = jnp.asarray((edges - 0.5) / 0.8)[:, None]
    action, density = constant(0.5, math.log(0.8)).sample(jnp.zeros((len(edges), 2)), noise)
    assert np.trapezoid(np.exp(density), np.asarray(action)[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_actions_far_out_keep_finite_likelihoods_and_gradients():
    def likelihood(mean):
        return constant(0.0, 0.0).sample(jnp.zeros((1, 2)), mean[None, None])[1][0]

    for mean in (-60.0, 60.0):
        assert np.isfinite(likelihood(jnp.array(mean)))
        assert np.isfinite(jax.grad(likelihood)(jnp.array(mean)))


def test_the_spread_is_cut():
    for raw, expected in ((-50.0, LOG_STD_RANGE[0]), (9.0, LOG_STD_RANGE[1])):
        action, _ = constant(0.0, raw).sample(jnp.zeros((1, 2)), jnp.full((1, 1), 0.1))
        assert float(action[0, 0]) == pytest.approx(math.tanh(0.1 * math.exp(expected)), abs=1e-6)


@pytest.mark.parametrize("num_envs", [1, 16, 21])
def test_the_numpy_twin_does_the_same(num_envs):
    policy = SquashedPolicy(jax.random.key(3), (5, 2), (8, 6))
    chance = np.random.default_rng(1)
    seen, noise = (chance.normal(size=(1, num_envs, size)).astype(np.float32) for size in (5, 2))
    out = np.empty_like(noise)
    actor = NumpySquashed(stacked([policy]), num_envs)
    actor.act(seen, noise, out)
    np.testing.assert_allclose(
        out[0], policy.sample(jnp.asarray(seen[0]), jnp.asarray(noise[0])).action, atol=2e-6
    )
    actor.act(seen, np.zeros_like(noise), out)
    np.testing.assert_array_equal(actor.mean(seen), out)


def test_neighbours_do_not_change_an_action():
    policy = stacked([SquashedPolicy(jax.random.key(3), (5, 2), (8,))])
    chance = np.random.default_rng(1)
    seen, noise = (chance.normal(size=(1, 40, size)).astype(np.float32) for size in (5, 2))
    together, alone = np.empty_like(noise), np.empty_like(noise[:, :21])
    NumpySquashed(policy, 40).act(seen, noise, together)
    NumpySquashed(policy, 21).act(seen[:, :21], noise[:, :21], alone)
    np.testing.assert_array_equal(together[:, :21], alone)


def test_even_actions_fill_the_box_evenly():
    noise = np.random.default_rng(0).normal(size=(1, 20_000, 2)).astype(np.float32)
    out = np.empty_like(noise)
    even, seen = EvenActor(2), np.zeros((1, 20_000, 3), np.float32)
    even.act(seen, noise, out)
    assert not even.mean(seen).any() and even.mean(seen).shape == out.shape
    assert stats.kstest(out.ravel(), stats.uniform(-1, 2).cdf).pvalue > 0.01
