"""Multi: members that know nothing of each other; what differs is chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Key

from polygait.diversity.method import IntrinsicReward, Method, MethodUpdate, Setting, Tensors
from polygait.learning.rollout import Rollout


class Multi(Method):
    """No bonus; all members train in one cohort."""

    name = "multi"
    title = "Multi"
    colour = "#D55E00"
    rank = 1
    has_bonus = False
    simultaneous = True

    def init(self, keys: Key[Array, " member"], setting: Setting, earlier: Sequence[Tensors]) -> Any:
        return np.zeros((setting.num_members, 0))

    def intrinsic_reward(self, state: Any, rollout: Rollout) -> IntrinsicReward:
        return IntrinsicReward(np.zeros(rollout.reward.shape), {})

    def update(
        self, state: Any, rollout: Rollout, keys: Key[Array, " member"], iteration: int
    ) -> MethodUpdate:
        return MethodUpdate(state, {})

    def export(self, state: Any) -> list[Tensors]:
        return [{} for _ in range(len(state))]
