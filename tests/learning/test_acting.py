"""Acting in NumPy says what the JAX policy says, whoever acts beside it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from polygait.config import PPOConfig
from polygait.learning.acting import ALONE, NumpyPolicy
from polygait.learning.clipping import clipped_mean
from polygait.learning.keys import member_keys
from polygait.learning.networks import Policy
from polygait.learning.normalizer import Moments, normalize

CONFIG = PPOConfig(policy_hidden=(32, 16))


def cohort(num_members: int) -> Policy:
    keys = member_keys(jax.random.key(0), 0, num_members)
    return jax.vmap(lambda key: Policy(key, (7, 3), CONFIG))(keys)


def moments(num_members: int) -> Moments:
    random = np.random.default_rng(1)
    variance = random.uniform(0.01, 4, (num_members, 7))
    variance[:, 0] = 0
    return Moments(np.full(num_members, 9.0), random.normal(size=(num_members, 7)), variance)


def observations(num_members: int, num_envs: int) -> np.ndarray:
    return np.random.default_rng(2).normal(0, 3, (num_members, num_envs, 7)).astype(np.float32)


@pytest.mark.parametrize("num_envs", [1, 16, 21])
@pytest.mark.parametrize("normalized", [False, True])
def test_agrees_with_the_jax_policy(num_envs, normalized):
    policy, seen = cohort(3), observations(3, num_envs)
    statistics = moments(3) if normalized else None
    acting = NumpyPolicy(policy, statistics, num_envs)
    shown = seen if statistics is None else normalize(statistics, seen)
    expected = jax.vmap(lambda policy, rows: policy.mean(rows))(policy, jnp.asarray(shown))
    for _ in range(2):
        mean = acting.mean(seen)
        assert mean.dtype == np.float32
        np.testing.assert_allclose(mean, expected, atol=2e-6)
    noise, out = np.ones((3, num_envs, 3), np.float32), np.empty((3, num_envs, 3), np.float32)
    acting.act(seen, noise, out)
    np.testing.assert_allclose(out, np.asarray(expected) + 0.4, atol=2e-6)


def test_without_noise_it_may_send_what_robots_received_with_it():
    policy, seen = cohort(3), observations(3, 16)
    acting = NumpyPolicy(policy, moments(3), 16, clips=True)
    plain = NumpyPolicy(policy, moments(3), 16)
    center = plain.mean(seen).copy()
    received = acting.mean(seen)
    np.testing.assert_array_equal(received, clipped_mean(center, np.full(3, 0.4, np.float32)))
    assert np.abs(received - center).max() > 0.05
    noise = np.random.default_rng(3).normal(size=(3, 16, 3)).astype(np.float32)
    explored, expected = np.empty_like(noise), np.empty_like(noise)
    acting.act(seen, noise, explored)
    plain.act(seen, noise, expected)
    np.testing.assert_array_equal(explored, expected)


def test_an_action_does_not_depend_on_its_neighbours():
    seen = observations(3, 40)
    together = NumpyPolicy(cohort(3), moments(3), 40).mean(seen)
    fewer_envs = NumpyPolicy(cohort(3), moments(3), 21).mean(seen[:, :21])
    np.testing.assert_array_equal(together[:, :21], fewer_envs)
    first = jax.tree.map(lambda array: array[:1], cohort(3))
    alone = NumpyPolicy(first, Moments(*(field[:1] for field in moments(3))), 40).mean(seen[:1])
    np.testing.assert_array_equal(together[:1], alone)


def test_rows_alone_have_the_same_bits_wherever_they_stand():
    seen = observations(1, 40)
    together = NumpyPolicy(cohort(1), moments(1), 40, tile=ALONE).mean(seen).copy()
    shifted = NumpyPolicy(cohort(1), moments(1), 7, tile=ALONE).mean(seen[:, 30:37])
    assert np.array_equal(together[:, 30:37], shifted)
