"""Every choice a run is made of: frozen records whose fields are also their documentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polygait.errors import UserError


@dataclass(frozen=True)
class PPOConfig:
    """How one policy learns from its own experience (paper, Appendix C.3)."""

    learning_rate: float = 3e-4
    """Step size of Adam, for policy and critic alike."""
    adam_epsilon: float = 1e-8
    """What Adam adds to its denominator."""
    minibatch_size: int = 256
    """Samples in one gradient step."""
    epochs: int = 10
    """How many times each sample of a rollout is used."""
    discount: float = 0.99
    """γ: what a reward one step later is worth."""
    gae_lambda: float = 0.95
    """λ of generalised advantage estimation: 0 trusts the critic, 1 trusts the returns."""
    clip_ratio: float = 0.25
    """How far the probability ratio may leave 1 before the surrogate goes flat."""
    value_coefficient: float = 1.0
    """Factor of the value loss; it acts through the gradient clip, since Adam forgets scale."""
    entropy_coefficient: float = 0.0
    """Factor of the entropy bonus; without learn_std the entropy is constant and this acts on nothing."""
    max_gradient_norm: float = 0.5
    """Longest gradient of one network; longer ones are shortened to it."""
    policy_hidden: tuple[int, ...] = (64, 64)
    """Widths of the policy's hidden layers."""
    critic_hidden: tuple[int, ...] = (128, 128)
    """Widths of the critic's hidden layers."""
    action_std: float = 0.4
    """Standard deviation of exploration: fixed, or where learning begins (learn_std)."""
    learn_std: bool = False
    """Learn one standard deviation per action dimension, the same in every state."""
    std_bounds: tuple[float, float] = (0.05, 1.0)
    """What a learned standard deviation can never leave."""
    normalize_observations: bool = True
    """Show the networks observations with running mean 0 and variance 1."""
    scale_rewards: bool = True
    """Divide rewards by the running standard deviation of the discounted return."""
    bootstrap_truncation: bool = True
    """At a time limit go on with the critic's value; otherwise a time limit counts as failure."""
    value_target: Literal["gae", "monte-carlo"] = "gae"
    """What the critic learns: advantage plus value, or the discounted return itself."""
    rollout_steps: int = 4096
    """Steps of one member between updates, over all of its environments."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = self._range_problems()
        if self.value_target not in ("gae", "monte-carlo"):
            found.append(f"value_target must be 'gae' or 'monte-carlo', got {self.value_target!r}.")
        lowest, highest = self.std_bounds
        if not 0 < lowest < highest:
            found.append(f"std_bounds must rise and lie above 0, got {self.std_bounds}.")
        elif self.learn_std and not lowest < self.action_std < highest:
            found.append(f"action_std must lie inside std_bounds {self.std_bounds}, got {self.action_std}.")
        if self.epochs * self.rollout_steps < self.minibatch_size:
            found.append(
                f"minibatch_size must not exceed epochs × rollout_steps, {self.epochs} × "
                f"{self.rollout_steps}, got {self.minibatch_size}."
            )
        return found

    def _range_problems(self) -> list[str]:
        """The fields whose value alone is impossible."""
        positive = ("learning_rate", "adam_epsilon", "minibatch_size", "epochs", "clip_ratio")
        positive += ("max_gradient_norm", "action_std", "rollout_steps")
        rules = {name: (getattr(self, name) > 0, "be above 0") for name in positive}
        for name in ("value_coefficient", "entropy_coefficient"):
            rules[name] = getattr(self, name) >= 0, "not be negative"
        for name in ("discount", "gae_lambda"):
            rules[name] = 0 <= getattr(self, name) <= 1, "lie in [0, 1]"
        for name in ("policy_hidden", "critic_hidden"):
            rules[name] = all(width > 0 for width in getattr(self, name)), "hold widths above 0"
        return [
            f"{name} must {rule}, got {getattr(self, name)}."
            for name, (kept, rule) in rules.items()
            if not kept
        ]

    def check(self) -> None:
        """Raise one UserError that names every problem."""
        found = self.problems()
        if found:
            raise UserError("\n".join(found), "Change the named fields of PPOConfig.")
