"""Multi and PG: members that know nothing of each other; what differs is chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Key

from polygait.diversity.method import Bonus, Fitted, Method, Setting, Tensors
from polygait.learning.rollout import Rollout


class Independent(Method):
    """No bonus. Multi trains all members in one cohort; PG is Multi with one member."""

    name = "multi"
    simultaneous = True

    def begin(self, keys: Key[Array, " member"], setting: Setting, earlier: Sequence[Tensors]) -> Any:
        return np.zeros((setting.num_members, 0))

    def bonus(self, state: Any, rollout: Rollout) -> Bonus:
        return Bonus(np.zeros(rollout.reward.shape), {})

    def fit(self, state: Any, rollout: Rollout, keys: Key[Array, " member"], iteration: int) -> Fitted:
        return Fitted(state, {})

    def leave(self, state: Any) -> list[Tensors]:
        return [{} for _ in range(len(state))]
