"""Learning solves tasks so small that each can fail for one reason only."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learning import probes
from tests.learning.probes import PROBE_CONFIG, train, values

pytestmark = pytest.mark.usefixtures("quick_compilation")


def test_the_critic_learns_a_constant():
    trained = train(probes.ConstantReward(16), PROBE_CONFIG, 25)
    assert values(trained, 0) == pytest.approx([1.0], abs=0.02)


def test_the_critic_tells_observations_apart():
    trained = train(probes.ObservedReward(16), PROBE_CONFIG, 25)
    assert values(trained, -1, 1) == pytest.approx([-1.0, 1.0], abs=0.05)
    assert trained.statistics["explained_variance"][0] > 0.95


MONTE_CARLO = replace(PROBE_CONFIG, value_target="monte-carlo", bootstrap_truncation=False)


@pytest.mark.parametrize("config", [PROBE_CONFIG, MONTE_CARLO], ids=["gae", "monte-carlo"])
def test_a_later_reward_is_discounted(config):
    trained = train(probes.DelayedReward(16), config, 25)
    assert values(trained, 0, 1) == pytest.approx([0.8, 1.0], abs=0.05)


def test_a_time_limit_is_not_an_end():
    trained = train(probes.TimeLimit(16), PROBE_CONFIG, 60)
    assert values(trained, 0) == pytest.approx([1 / (1 - 0.8)], abs=0.25)
    failing = train(probes.TimeLimit(16), replace(PROBE_CONFIG, bootstrap_truncation=False), 60)
    assert values(failing, 0)[0] < 4.0


def test_complete_episodes_without_bootstrap_have_their_own_returns():
    trained = train(probes.TimeLimit(16), MONTE_CARLO, 60)
    returns = np.mean([(1 - 0.8**left) / 0.2 for left in range(1, 6)])
    assert values(trained, 0) == pytest.approx([returns], abs=0.25)


@pytest.mark.parametrize("learn_std", [False, True])
def test_the_policy_finds_the_rewarded_action(learn_std):
    scaled = {"normalize_observations": not learn_std, "scale_rewards": not learn_std}
    config = replace(PROBE_CONFIG, learn_std=learn_std, rollout_steps=256, **scaled)
    trained = train(probes.RewardedAction(16), config, 20)
    seen = jnp.array([[-1.0], [1.0]])
    mean = np.asarray(probes.member(trained.networks.policy).mean(seen))[:, 0]
    assert mean == pytest.approx([-0.2, 0.2], abs=0.1)
    if learn_std:
        assert 0.05 < trained.statistics["std"][0] < 0.35
    else:
        assert trained.statistics["std"][0] == pytest.approx(0.4)


def test_members_train_side_by_side_as_alone():
    together = train(probes.ConstantReward(3 * 16), PROBE_CONFIG, 3, num_members=3)
    for index in range(3):
        alone = train(probes.ConstantReward(16), PROBE_CONFIG, 3, first=index)
        for ours, theirs in zip(
            jax.tree.leaves(together.networks), jax.tree.leaves(alone.networks), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(ours)[index], np.asarray(theirs)[0])
