"""Where members differ: the share of a number's variance that lies between members, not within them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from polygait.learning.normalizer import SMALLEST_VARIANCE


def between_shares(
    values: Float[np.ndarray, "sample number"], member: Int[np.ndarray, " sample"]
) -> Float[np.ndarray, " number"]:
    """Var_z(E[x|z]) / (Var_z(E[x|z]) + E_z[Var(x|z)]) of every number x; every member counts alike.

    The law of total variance: 0 where all members have the same mean, 1 where only the member matters.
    NaN where nothing varies.
    """
    groups = [values[member == index].astype(np.float64) for index in np.unique(member)]
    between = np.var([group.mean(axis=0) for group in groups], axis=0)
    within = np.mean([group.var(axis=0) for group in groups], axis=0)
    total = between + within
    constant = total < SMALLEST_VARIANCE
    return np.where(constant, np.nan, between / np.where(constant, 1.0, total))
