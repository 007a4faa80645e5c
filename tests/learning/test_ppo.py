"""The update of a cohort: exact, independent per member, and moved by every option."""

from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learning import probes

from polygait import learning
from polygait.config import PPOConfig
from polygait.errors import UserError
from polygait.learning.advantage import Experience, generalised_advantage
from polygait.learning.losses import PolicySamples, policy_loss
from polygait.learning.optimizer import make_optimizer
from polygait.learning.shuffling import sample_order

CONFIG = replace(probes.PROBE_CONFIG, rollout_steps=48, minibatch_size=16, epochs=2)
TINY = replace(CONFIG, rollout_steps=16, minibatch_size=8)


def batch(num_members: int) -> learning.Batch:
    random = np.random.default_rng(0)
    rows = (12, num_members, 4)

    def normal(*shape: int) -> np.ndarray:
        return random.normal(size=shape).astype(np.float32)

    terminated, truncated = random.random((2, *rows)) < 0.1
    observation, following = normal(*rows, 5), normal(*rows, 5)
    goes_on = ~(terminated | truncated)[:-1]
    following[:-1][goes_on] = observation[1:][goes_on]
    return learning.Batch(observation, following, normal(*rows, 2), normal(*rows), terminated, truncated)


def leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_same_inputs_same_bits():
    keys = learning.member_keys(jax.random.key(0), 0, 2)
    networks = learning.initial_networks(keys, (5, 2), CONFIG)
    once = learning.ppo_update(networks, batch(2), keys, 3, CONFIG)
    for _ in range(5):
        again = learning.ppo_update(networks, batch(2), keys, 3, CONFIG)
        for ours, theirs in zip(leaves(once), leaves(again), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    later = learning.ppo_update(networks, batch(2), keys, 4, CONFIG)
    assert any(not np.array_equal(a, b) for a, b in zip(leaves(once[0]), leaves(later[0]), strict=True))


def test_a_cohort_of_three_is_three_cohorts_of_one():
    keys = learning.member_keys(jax.random.key(0), 0, 3)
    networks = learning.initial_networks(keys, (5, 2), CONFIG)
    lived = batch(3)
    together = learning.ppo_update(networks, lived, keys, 0, CONFIG)
    for index in range(3):
        own = slice(index, index + 1)
        alone = learning.initial_networks(keys[own], (5, 2), CONFIG)
        share = learning.Batch(*(array[:, own] for array in lived))
        update = learning.ppo_update(alone, share, keys[own], 0, CONFIG)
        for ours, theirs in zip(leaves(together), leaves(update), strict=True):
            np.testing.assert_array_equal(ours[own], theirs)


def test_every_epoch_uses_every_sample():
    config = replace(CONFIG, minibatch_size=10, epochs=3)
    order = sample_order(np.array([1, 2], np.uint32), 48, config.epochs, config.minibatch_size)
    assert order.shape == (14, 10)
    stream = order.reshape(-1)
    assert sorted(stream[:48]) == sorted(stream[48:96]) == list(range(48))
    assert not np.array_equal(stream[:48], stream[48:96])
    assert len(set(stream[96:])) == 140 - 96


def test_a_first_step_stays_on_the_old_policy():
    config = replace(CONFIG, minibatch_size=48, epochs=1)
    keys = learning.member_keys(jax.random.key(0), 0, 1)
    networks = learning.initial_networks(keys, (5, 2), config)
    statistics = learning.ppo_update(networks, batch(1), keys, 0, config)[1]
    assert statistics.clip_fraction[0] == 0
    assert statistics.approximate_kl[0] == pytest.approx(0, abs=1e-6)
    assert statistics.policy_loss[0] == pytest.approx(0, abs=1e-5)
    assert statistics.std[0] == pytest.approx(0.4)


def test_noise_goes_to_its_final_std():
    config = replace(TINY, anneal_iterations=4, final_std=0.2, final_start=0.0)
    keys = learning.member_keys(jax.random.key(0), 0, 2)
    learner = learning.initial_networks(keys, (5, 2), config)
    updated, statistics = learning.ppo_update(learner, batch(2), keys, 1, config)
    np.testing.assert_allclose(updated.policy.std(), np.full((2, 2), 0.3), rtol=1e-6)
    assert statistics.std == pytest.approx([0.4, 0.4])  # the noise that was learned from
    learned = replace(config, learn_std=True)
    learner = learning.initial_networks(keys, (5, 2), learned)
    kept = learning.ppo_update(learner, batch(2), keys, 1, learned)[0]
    np.testing.assert_allclose(kept.policy.std(), np.full((2, 2), 0.4), atol=0.02)


def test_recomputed_advantages_are_those_of_the_newer_critic():
    """Two epochs of one step each, the second one by hand."""
    once = replace(CONFIG, minibatch_size=48, epochs=1)
    keys, lived = learning.member_keys(jax.random.key(0), 0, 1), batch(1)
    learner = learning.initial_networks(keys, (5, 2), once)
    first = learning.ppo_update(learner, lived, keys, 0, once)[0]
    acted, newer = probes.member(learner.policy), probes.member(first)
    own: Any = jax.tree.map(lambda array: jnp.asarray(array[:, 0]), lived)
    values = newer.critic(own.observation), newer.critic(own.next_observation)
    advantage = generalised_advantage(
        Experience(own.reward, own.terminated, own.truncated, *values), once.discount, once
    )
    seen, done = own.observation.reshape(48, 5), own.action.reshape(48, 2)
    samples = PolicySamples(seen, done, acted.log_probability(seen, done), advantage.reshape(48))
    gradient = jax.grad(lambda policy: policy_loss(policy, samples, once)[0])(newer.policy)
    direction, _ = make_optimizer(once).update(gradient, newer.policy_optimizer)
    expected = jax.tree.map(lambda weight, step: weight - once.learning_rate * step, newer.policy, direction)
    twice = replace(once, epochs=2, recompute_advantages=True)
    second = learning.ppo_update(learner, lived, keys, 0, twice)[0]
    for ours, by_hand in zip(leaves(second.policy), leaves(expected), strict=True):
        np.testing.assert_allclose(ours[0], by_hand, atol=2e-5)
    kept = learning.ppo_update(learner, lived, keys, 0, replace(twice, recompute_advantages=False))[0]
    assert any(
        not np.allclose(a, b, atol=1e-4)
        for a, b in zip(leaves(second.policy), leaves(kept.policy), strict=True)
    )


CHANGES = {
    "learning_rate": 1e-3,
    "anneal_start": 0.5,
    "anneal_to": 0.5,
    "final_std": 0.2,
    "recompute_advantages": True,
    "hidden_init_scale": 1.4,
    "policy_init_scale": 0.01,
    "desired_kl": 0.01,
    "adam_epsilon": 1e-2,
    "minibatch_size": 4,
    "anneal_iterations": 100,
    "epochs": 1,
    "discount": 0.5,
    "final_discount": 0.9,
    "final_start": 0.0,
    "gae_lambda": 0.5,
    "clip_ratio": 0.02,
    "value_coefficient": 1e-4,
    "entropy_coefficient": 0.1,
    "max_gradient_norm": 0.01,
    "policy_hidden": (8,),
    "critic_hidden": (8,),
    "critic_warmup": 0.5,
    "action_std": 0.3,
    "learn_std": True,
    "std_bounds": (0.1, 0.8),
    "normalize_observations": True,
    "min_observation_std": 3.0,
    "scale_rewards": True,
    "bootstrap_truncation": False,
    "value_target": "monte-carlo",
    "rollout_steps": 8,
    "episodes_per_iteration": 6,
}
WITH_LEARNED_STD = ("entropy_coefficient", "std_bounds")
NEEDS = {
    **{name: {"anneal_iterations": 4} for name in ("anneal_start", "anneal_to", "critic_warmup")},
    **{name: {"anneal_iterations": 4, "final_start": 0.0} for name in ("final_std", "final_discount")},
    "final_start": {"anneal_iterations": 4, "final_std": 0.2},
    "min_observation_std": {"normalize_observations": True},
}
"""What must be on for an option to act."""


class Mixed(probes.Probe):
    """A little of everything: two-step episodes cut by time, rewards that follow sight and action."""

    episode_length = 2
    time_limit = True

    def observe(self, ids: np.ndarray) -> np.ndarray:
        return 2 + self.steps[ids, None] * 0.5 + self.random.random((len(ids), 1))

    def earn(self, actions: np.ndarray) -> np.ndarray:
        return 3 * self.seen[:, 0] + actions[:, 0]


@pytest.fixture(scope="module")
def unchanged(quick_compilation):
    """Two tiny iterations, without and with a learned standard deviation."""
    return {
        learn: leaves(probes.train(Mixed(4), replace(TINY, learn_std=learn), 2).networks)
        for learn in (False, True)
    }


LEARNING = [field.name for field in fields(PPOConfig) if field.name != "deterministic_action"]
"""Options that change what is learned, and not only what is done with it (test_acting.py)."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNING)
def test_every_option_changes_the_result(name, unchanged):
    learn_std = name in WITH_LEARNED_STD
    config = replace(TINY, learn_std=learn_std, **NEEDS.get(name, {}))
    changed = replace(config, **{name: CHANGES[name]})
    result = leaves(probes.train(Mixed(4), changed, 2).networks)
    shapes = [array.shape for array in result]
    before = unchanged[learn_std]
    if name in NEEDS:
        before = leaves(probes.train(Mixed(4), config, 2).networks)
    assert shapes != [array.shape for array in before] or any(
        not np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(before, result, strict=True)
    )


def test_the_critic_goes_ahead_where_it_is_asked_to():
    config = replace(TINY, anneal_iterations=4, critic_warmup=0.5)
    first, second, third = (probes.train(Mixed(4), config, count).networks for count in (1, 2, 3))
    assert all(
        np.array_equal(*pair) for pair in zip(leaves(first.policy), leaves(second.policy), strict=True)
    )
    assert any(
        not np.array_equal(*pair) for pair in zip(leaves(first.critic), leaves(second.critic), strict=True)
    )
    assert any(
        not np.array_equal(*pair) for pair in zip(leaves(second.policy), leaves(third.policy), strict=True)
    )
    whole = replace(config, anneal_iterations=0)  # no end from which a share could be told
    assert any(
        not np.array_equal(*pair)
        for pair in zip(
            leaves(probes.train(Mixed(4), whole, 1).networks.policy), leaves(first.policy), strict=True
        )
    )


def test_impossible_options_are_named_at_once():
    config = PPOConfig(discount=1.5, epochs=0, learn_std=True, action_std=2.0)
    with pytest.raises(UserError) as caught:
        learning.initial_networks(learning.member_keys(jax.random.key(0), 0, 1), (5, 2), config)
    for word in ("discount", "epochs", "action_std"):
        assert word in caught.value.problem
