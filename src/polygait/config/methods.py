"""How a method tells members apart: DiR, SMERL, DvD."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from polygait.config.learners import WIDTHS, possible_widths


@dataclass(frozen=True)
class DirConfig:
    """How Diversity in Regulation tells members apart (paper, Section "Diversity in Regulation")."""

    objective: Literal["cross-entropy", "kl"] = "cross-entropy"
    """The paper's reward −log T_φi, or with the term + log T_φk that Appendix B.1 drops."""
    bound: Literal["std-floor", "none"] = "std-floor"
    """Whether the bonus is bounded; "none" is the paper's form, which can explode."""
    std_floor: float = 0.4
    """Smallest standard deviation of an earlier model when the bonus is bounded."""
    hidden: tuple[int, ...] = (128, 128)
    """Widths of the inverse-dynamics model's hidden layers."""
    learning_rate: float = 3e-4
    """Step size of its Adam."""
    weight_decay: float = 0.0
    """Factor of the weights added to their gradient."""
    epochs: int = 4
    """How many times each transition of a rollout is used."""
    minibatch_size: int = 256
    """Transitions in one gradient step."""
    normalize_inputs: bool = True
    """Show the model filtered states with running mean 0 and variance 1."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = []
        if self.objective not in ("cross-entropy", "kl"):
            found.append(f"dir.objective must be 'cross-entropy' or 'kl', got {self.objective!r}.")
        if self.bound not in ("std-floor", "none"):
            found.append(f"dir.bound must be 'std-floor' or 'none', got {self.bound!r}.")
        found += [
            f"dir.{name} must be finite and above 0, got {getattr(self, name)}."
            for name in ("std_floor", "learning_rate", "epochs", "minibatch_size")
            if not 0 < getattr(self, name) < math.inf
        ]
        if not 0 <= self.weight_decay < math.inf:
            found.append(f"dir.weight_decay must be finite and not negative, got {self.weight_decay}.")
        if not possible_widths(self.hidden):
            found.append(f"dir.hidden must {WIDTHS}, got {self.hidden}.")
        return found


@dataclass(frozen=True)
class SmerlConfig:
    """How SMERL tells members apart, and when it rewards that (paper, Appendix C.3)."""

    target_return: float | str | None = None
    """R*: what an able member earns in an episode; a number, or a run folder whose best member gives it."""
    tolerance: float = 0.1
    """ε: the reward needs recent episodes of at least R* − ε·|R*|, which is (1 − ε)·R* for R* above 0."""
    floor: float = 0.01
    """Added to the probabilities q and p alike, so that their log-ratio is bounded."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the discriminator's hidden layers."""
    learning_rate: float = 3e-4
    """Step size of its Adam."""
    epochs: int = 1
    """How many times each state of a rollout is used."""
    minibatch_size: int = 256
    """States in one gradient step, from all members mixed."""
    normalize_inputs: bool = True
    """Show the discriminator states with running mean 0 and variance 1."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = [
            f"smerl.{name} must be finite and above 0, got {getattr(self, name)}."
            for name in ("floor", "learning_rate", "epochs", "minibatch_size")
            if not 0 < getattr(self, name) < math.inf
        ]
        if isinstance(self.target_return, float) and not math.isfinite(self.target_return):
            found.append(f"smerl.target_return must be finite, got {self.target_return}.")
        if not 0 <= self.tolerance < math.inf:
            found.append(f"smerl.tolerance must be finite and not negative, got {self.tolerance}.")
        if not possible_widths(self.hidden):
            found.append(f"smerl.hidden must {WIDTHS}, got {self.hidden}.")
        return found


@dataclass(frozen=True)
class DvdConfig:
    """How Diversity via Determinants compares members' actions (paper, Appendix C.3)."""

    form: Literal["pairwise", "determinant", "exponential"] = "pairwise"
    """A kernel between pairs, the marginal of the log-determinant, or the authors' exp(+Δ²)/2."""
    length_scale: float = 1.0
    """Distance of two actions at which the kernel of pairs and determinant falls to exp(−1/2)."""
    ridge: float = 0.01
    """Share of the identity in the determinant's kernel: it bounds the logarithm."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = []
        if self.form not in ("pairwise", "determinant", "exponential"):
            found.append(f"dvd.form must be 'pairwise', 'determinant' or 'exponential', got {self.form!r}.")
        if not 0 < self.length_scale < math.inf:
            found.append(f"dvd.length_scale must be finite and above 0, got {self.length_scale}.")
        if not 0 < self.ridge < 1:
            found.append(f"dvd.ridge must lie between 0 and 1, got {self.ridge}.")
        return found
