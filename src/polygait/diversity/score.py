"""How differently members act, as one number: the logarithm of a kernel's determinant.

Functions of mean actions on common states, (member, state, action). A determinant is the volume that the
members span: it grows with every difference, and one member that repeats another makes it zero. Its
logarithm is then −inf.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from polygait.errors import UserError

RBF_BANDWIDTH = math.sqrt(0.5)
"""In root mean squared differences of an action number; with √½ a pair's kernel is exp(−mean Δ²)."""

Actions = Float[np.ndarray, "member state action"]


def paper_score(actions: Actions) -> float:
    """The paper's log det K (Table 1): K_ij = Σ_d exp(−(a_i,d − a_j,d)²)/2 over all states and actions d."""
    embeddings = _embeddings(actions)
    kernel = [np.exp(-np.square(embeddings - embedding)).sum(axis=1) / 2 for embedding in embeddings]
    return _log_determinant(np.array(kernel))


def paper_ceiling(num_members: int, num_states: int, action_size: int) -> float:
    """What the paper's score cannot exceed (Hadamard): n·ln(states·actions/2), were K diagonal."""
    return num_members * math.log(num_states * action_size / 2)


def rbf_score(actions: Actions, bandwidth: float = RBF_BANDWIDTH) -> float:
    """The log det K of DvD's own paper: K_ij = exp(−‖a_i − a_j‖²/(2l²)); at most 0.

    A member's embedding is all its D action numbers, and l = bandwidth·√D: without the √D every two
    members that differ at all would be as different as can be.
    """
    if not 0 < bandwidth < math.inf:
        raise UserError(f"bandwidth must be finite and above 0, got {bandwidth}.")
    embeddings = _embeddings(actions)
    difference = np.array([np.square(embeddings - embedding).mean(axis=1) for embedding in embeddings])
    return _log_determinant(np.exp(-difference / (2 * bandwidth**2)))


def _embeddings(actions: Actions) -> Float[np.ndarray, "member number"]:
    if not actions.size or not np.isfinite(actions).all():
        raise UserError(
            f"A diversity score needs finite actions of at least one member, got shape {actions.shape}.",
            "Give every member's actions on the same states, (member, state, action).",
        )
    return actions.reshape(len(actions), -1).astype(np.float64)


def _log_determinant(kernel: Float[np.ndarray, "member member"]) -> float:
    """−inf where rounding decides: a kernel that has lost its rank has no volume."""
    if np.linalg.matrix_rank(kernel, hermitian=True) < len(kernel):
        return -math.inf
    return float(np.linalg.slogdet(kernel).logabsdet)
