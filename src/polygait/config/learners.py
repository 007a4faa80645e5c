"""How one policy learns: PPO, Soft Actor-Critic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from polygait.errors import UserError


@dataclass(frozen=True)
class PPOConfig:
    """How one policy learns from its own experience (paper, Appendix C.3)."""

    learning_rate: float = 3e-4
    """Step size of Adam, for policy and critic alike."""
    anneal_iterations: int = 0
    """Iterations over which the step size falls linearly; 0 keeps it. A preset may set it."""
    anneal_start: float = 0.0
    """The share of anneal_iterations during which the step size stays whole."""
    anneal_to: float = 0.0
    """The share of the step size that is left in the end, after anneal_iterations."""
    desired_kl: float = 0.0
    """KL divergence from the policy that acted which the policy's steps aim at, by growing and shrinking in
    between; 0 leaves them alone."""
    adam_epsilon: float = 1e-8
    """What Adam adds to its denominator."""
    minibatch_size: int = 256
    """Samples in one gradient step."""
    epochs: int = 10
    """How many times each sample of a rollout is used."""
    recompute_advantages: bool = False
    """Ask the critic for advantages and value targets anew before every epoch, not once for all of them."""
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
    hidden_init_scale: float = 1.0
    """Gain of the orthogonal first weights of both networks' hidden layers; many a PPO has √2."""
    policy_init_scale: float = 1.0
    """The same for the policy's last layer; with 0.01 every mean action begins near 0."""
    action_std: float = 0.4
    """Standard deviation of exploration: fixed, or where learning begins (learn_std)."""
    final_std: float = 0.0
    """Where a standard deviation that is not learned ends: it goes there linearly in anneal_iterations, and
    0 keeps it at action_std."""
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
        if self.minibatch_size == 1:
            found.append("minibatch_size must be at least 2: one advantage is always the mean of all.")
        lowest, highest = self.std_bounds
        if not 0 < lowest < highest < math.inf:
            found.append(f"std_bounds must rise and lie above 0, got {self.std_bounds}.")
        elif self.learn_std and not lowest < self.action_std < highest:
            found.append(f"action_std must lie inside std_bounds {self.std_bounds}, got {self.action_std}.")
        if self.final_std and self.learn_std:
            found.append(
                f"final_std is for a standard deviation that is not learned; leave it at 0 with learn_std, "
                f"got {self.final_std}."
            )
        if self.epochs * self.rollout_steps < self.minibatch_size:
            found.append(
                f"minibatch_size must not exceed epochs × rollout_steps, {self.epochs} × "
                f"{self.rollout_steps}, got {self.minibatch_size}."
            )
        return found

    def _range_problems(self) -> list[str]:
        """The fields whose value alone is impossible."""
        positive = ("learning_rate", "adam_epsilon", "minibatch_size", "epochs", "clip_ratio")
        positive += (
            "max_gradient_norm",
            "action_std",
            "rollout_steps",
            "hidden_init_scale",
            "policy_init_scale",
        )
        rules = {name: (0 < getattr(self, name) < math.inf, "be finite and above 0") for name in positive}
        for name in (
            "value_coefficient",
            "entropy_coefficient",
            "anneal_iterations",
            "final_std",
            "desired_kl",
        ):
            rules[name] = 0 <= getattr(self, name) < math.inf, "be finite and not negative"
        for name in ("discount", "gae_lambda", "anneal_start", "anneal_to"):
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


@dataclass(frozen=True)
class SACConfig:
    """How Soft Actor-Critic learns from a replay buffer (paper, Appendix A; Haarnoja et al. 2018)."""

    learning_rate: float = 3e-4
    """Step size of Adam, for policy, critics and temperature alike."""
    minibatch_size: int = 256
    """Transitions in one gradient step."""
    discount: float = 0.99
    """γ: what a reward one step later is worth."""
    target_rate: float = 0.001
    """τ: the share of the critics that their slow copies take over at each update."""
    updates_per_step: float = 1.0
    """Gradient steps per environment step; fewer learn less from the same experience, and sooner."""
    block_steps: int = 64
    """Environment steps, over all environments, between two turns of learning."""
    lag: int = 16
    """Updates during which policy and critics learn side by side, each from the other as it was before."""
    warmup_steps: int = 5_000
    """Steps with actions drawn evenly from the box, before the first update."""
    replay_size: int = 1_000_000
    """Transitions remembered; the oldest are forgotten first."""
    policy_hidden: tuple[int, ...] = (128, 128)
    """Widths of the policy's hidden layers."""
    critic_hidden: tuple[int, ...] = (128, 128)
    """Widths of each critic's hidden layers."""
    initial_temperature: float = 1.0
    """What entropy is worth at first; it then follows target_entropy."""
    target_entropy: float | None = None
    """Entropy in nats that the temperature steers to; minus the number of actions when left out."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        positive = ("learning_rate", "minibatch_size", "block_steps", "lag", "replay_size")
        positive += ("initial_temperature",)
        rules = {name: (0 < getattr(self, name) < math.inf, "be finite and above 0") for name in positive}
        rules["warmup_steps"] = self.warmup_steps >= 0, "not be negative"
        rules["discount"] = 0 <= self.discount <= 1, "lie in [0, 1]"
        rules["target_rate"] = 0 < self.target_rate <= 1, "lie above 0 and at most at 1"
        updates = self.updates_per_step * self.block_steps
        rules["updates_per_step"] = (
            self.updates_per_step > 0 and math.isfinite(updates) and updates == round(updates),
            f"give a whole number of updates in a block of {self.block_steps} steps",
        )
        rules["target_entropy"] = math.isfinite(self.target_entropy or 0.0), "be finite"
        for name in ("policy_hidden", "critic_hidden"):
            rules[name] = all(width > 0 for width in getattr(self, name)), "hold widths above 0"
        found = [
            f"sac.{name} must {rule}, got {getattr(self, name)}."
            for name, (kept, rule) in rules.items()
            if not kept
        ]
        if self.replay_size < self.block_steps:
            found.append(
                f"sac.replay_size must hold a block of {self.block_steps} steps, got {self.replay_size}."
            )
        return found

    @property
    def block_updates(self) -> int:
        """Gradient steps after every block of environment steps."""
        return round(self.updates_per_step * self.block_steps)
