"""The two-joint arm: models find what can be worked out by hand."""

import numpy as np
import pytest

from polygait.experiments.arm import FILTERS, NOISE, SWING, expected_variance, reveal, swing
from polygait.experiments.arm_chart import chart


@pytest.fixture(scope="module")
def revealed():
    return {one.name: one for one in reveal(num_steps=8_000)}


def test_with_both_angles_the_action_is_certain(revealed):
    assert revealed["both angles"].found.variance.max() < 0.02 * min(np.square(SWING) / 2)


@pytest.mark.parametrize("name", ["without the elbow's", "without the shoulder's", "neither angle"])
def test_a_hidden_joint_varies_as_worked_out_by_hand(revealed, name):
    one = revealed[name]
    hidden = one.expected > 0
    np.testing.assert_allclose(one.found.variance[hidden], one.expected[hidden], rtol=0.1)
    np.testing.assert_allclose(one.found.error[hidden], one.expected[hidden], rtol=0.1)
    assert (one.found.variance[~hidden] < 0.02 * min(np.square(SWING) / 2)).all()


def test_the_hand_worked_variance_is_that_of_the_arm():
    steps = swing(200_000, seed=5)
    np.testing.assert_allclose(
        steps.action.var(axis=0), expected_variance(FILTERS["neither angle"]), rtol=0.02
    )
    np.testing.assert_allclose(expected_variance(FILTERS["without the elbow's"]), [0, 0.5**2 / 2 + NOISE**2])
    assert not expected_variance(FILTERS["both angles"]).any()


def test_what_is_seen_less_is_revealed_less(revealed):
    likelihood = {name: one.found.log_likelihood for name, one in revealed.items()}
    both, neither = likelihood.pop("both angles"), likelihood.pop("neither angle")
    assert both > max(likelihood.values()) > min(likelihood.values()) > neither


def test_the_picture_shows_every_filter(revealed):
    drawn = chart(list(revealed.values())).to_json()
    for name in FILTERS:
        assert name in drawn
