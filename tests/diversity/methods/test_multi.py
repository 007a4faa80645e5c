"""Multi: a cohort is nothing but its members, each as if it had trained alone."""

from typing import Any

import jax
import numpy as np
import pytest
from tests import tiny

import polygait as pg
from polygait import learning, training
from polygait.learning import ppo
from polygait.learning.learners import ppo as learner
from polygait.storage.trees import flatten_tree

pytestmark = pytest.mark.usefixtures("quick_compilation")

MEMBERS, ITERATIONS = 3, 2


class Draws:
    """Every random draw of a training: first weights, first states, noise, the order of samples."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.weights: list[np.ndarray] = []
        self.states: list[np.ndarray] = []
        self.noise: list[np.ndarray] = []
        self.orders: list[np.ndarray] = []
        self._watch(monkeypatch, learner, "initial_networks", self._networks)
        self._watch(monkeypatch, training, "start_position", self._position)
        self._watch(monkeypatch, training, "rollout_noise", self._noise)
        self._watch(monkeypatch, ppo, "sample_order", self.orders.append)

    def _watch(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, remember: Any) -> None:
        original = getattr(owner, name)

        def watched(*arguments: Any) -> Any:
            result = original(*arguments)
            remember(result)
            return result

        monkeypatch.setattr(owner, name, watched)

    def _networks(self, networks: learning.PPONetworks) -> None:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((networks.policy, networks.critic))]
        self.weights += [np.concatenate([leaf[m].ravel() for leaf in leaves]) for m in range(len(leaves[0]))]

    def _position(self, position: learning.Position) -> None:
        self.states += list(position.observation)

    def _noise(self, noise: np.ndarray) -> None:
        self.noise += list(np.moveaxis(noise, 1, 0))


def test_a_cohort_of_three_is_three_members_trained_alone(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        together = Draws(patch)
        cohort = tiny.train(tmp_path / "cohort", method="multi", members=MEMBERS, iterations=ITERATIONS)
    with monkeypatch.context() as patch:
        alone = Draws(patch)
        singles = tiny.train(tmp_path / "alone", method="multi", members=1, iterations=ITERATIONS)
        for _ in range(MEMBERS - 1):
            singles = pg.extend(tmp_path / "alone", pg.Extension(1))

    # Alone, draws come member by member; together, turn by turn.
    turns = ITERATIONS + 1  # one more rollout to judge the finished member
    by_turn = [member * turns + turn for turn in range(turns) for member in range(MEMBERS)]
    by_update = [member * ITERATIONS + turn for turn in range(ITERATIONS) for member in range(MEMBERS)]
    for ours, theirs in (
        (together.weights, alone.weights),
        (together.states, alone.states),
        (together.noise, [alone.noise[place] for place in by_turn]),
        (together.orders, [alone.orders[place] for place in by_update]),
    ):
        assert len(ours) == len(theirs) >= MEMBERS
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(cohort.members, singles.members, strict=True):
        theirs = flatten_tree(other.policy)
        for name, array in flatten_tree(one.policy).items():
            np.testing.assert_allclose(array, theirs[name], rtol=1e-5, atol=1e-6, err_msg=name)
        assert one.summary == pytest.approx(other.summary, rel=1e-5, nan_ok=True)
    starts = {array.tobytes() for array in together.states}
    assert len(starts) == len({array.tobytes() for array in together.weights}) == MEMBERS
