"""How one policy learns: PPO, Soft Actor-Critic."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from polygait.errors import UserError

WIDTHS = "hold widths from 1 to 1,000,000"
_MOST_SAMPLES = 2**31


def possible_widths(widths: tuple[int, ...]) -> bool:
    """Whether layers can be so wide."""
    return all(1 <= width <= 1_000_000 for width in widths)


@dataclass(frozen=True)
class PPOConfig:
    """How one policy learns from its own experience (paper, Appendix C.3)."""

    name: ClassVar[str] = "ppo"
    learning_rate: float = 3e-4
    """Step size of Adam, for policy and critic alike."""
    anneal_iterations: int | None = 0
    """Iterations over which the step size falls linearly; 0 keeps it, none means all of a run's."""
    anneal_start: float = 0.0
    """The share of anneal_iterations during which the step size stays whole."""
    anneal_to: float = 0.0
    """The share of the step size that is left in the end, after anneal_iterations."""
    critic_warmup: float = 0.0
    """The share of anneal_iterations, at the beginning, in which the critic learns alone and the policy stays
    as it is: 0.1 for who goes on in another world, where the critic is wrong at first."""
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
    final_discount: float = 0.0
    """Where γ ends, if above discount: from final_start on the horizon 1/(1 − γ) grows by equal factors, so
    that who has learned to run learns not to fall."""
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
    """Where a standard deviation that is not learned ends: from final_start on it goes there linearly, and 0
    keeps it at action_std. With learn_std this acts on nothing."""
    final_start: float = 0.5
    """The share of anneal_iterations during which discount and standard deviation stay as they began."""
    learn_std: bool = False
    """Learn one standard deviation per action dimension, the same in every state."""
    std_bounds: tuple[float, float] = (0.05, 1.0)
    """What a learned standard deviation can never leave."""
    deterministic_action: Literal["mean", "clipped-mean"] = "mean"
    """What a policy does when it does not explore: the mean μ of its actions, or the mean of what the robot
    received while it explored, clip(μ + noise) to [−1, 1], which is what it learned to walk with."""
    normalize_observations: bool = True
    """Show the networks observations with running mean 0 and variance 1."""
    min_observation_std: float = 0.0
    """The least spread an observation is credited with when it is normalised, in its own units: what hardly
    ever moves, such as the force on a limb that rarely touches, is not blown up."""
    scale_rewards: bool = True
    """Divide rewards by the running standard deviation of the discounted return."""
    bootstrap_truncation: bool = True
    """At a time limit go on with the critic's value; otherwise a time limit counts as failure."""
    value_target: Literal["gae", "monte-carlo"] = "gae"
    """What the critic learns: advantage plus value, or the discounted return itself."""
    rollout_steps: int = 4096
    """Steps of one member between updates, over all of its environments; with episodes_per_iteration only the
    steps that count as one of anneal_iterations."""
    episodes_per_iteration: int = 0
    """Whole episodes of one member between updates, however many steps they take; 0 makes rollout_steps
    instead, wherever episodes end."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = self._range_problems()
        if self.value_target not in ("gae", "monte-carlo"):
            found.append(f"ppo.value_target must be 'gae' or 'monte-carlo', got {self.value_target!r}.")
        if self.deterministic_action not in ("mean", "clipped-mean"):
            known = "'mean' or 'clipped-mean'"
            found.append(f"ppo.deterministic_action must be {known}, got {self.deterministic_action!r}.")
        if self.minibatch_size == 1:
            found.append("ppo.minibatch_size must be at least 2: one advantage is always the mean of all.")
        lowest, highest = self.std_bounds
        if not 0 < lowest < highest < math.inf:
            found.append(f"ppo.std_bounds must rise and lie above 0, got {self.std_bounds}.")
        elif self.learn_std and not lowest < self.action_std < highest:
            found.append(
                f"ppo.action_std must lie inside std_bounds {self.std_bounds}, got {self.action_std}."
            )
        if self.final_discount == 1 > self.discount:
            found.append("ppo.final_discount must be below 1: no horizon grows without end.")
        if self.epochs * self.rollout_steps < self.minibatch_size:
            found.append(
                f"ppo.minibatch_size must not exceed epochs × rollout_steps, {self.epochs} × "
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
            "min_observation_std",
            "desired_kl",
            "episodes_per_iteration",
        ):
            rules[name] = 0 <= (getattr(self, name) or 0) < math.inf, "be finite and not negative"
        for name in (
            "discount",
            "final_discount",
            "gae_lambda",
            "anneal_start",
            "anneal_to",
            "final_start",
            "critic_warmup",
        ):
            rules[name] = 0 <= getattr(self, name) <= 1, "lie in [0, 1]"
        if self.rollout_steps >= _MOST_SAMPLES:  # which the order of samples could not number
            rules["rollout_steps"] = False, f"be below {_MOST_SAMPLES:,}"
        for name in ("policy_hidden", "critic_hidden"):
            rules[name] = possible_widths(getattr(self, name)), WIDTHS
        return [
            f"ppo.{name} must {rule}, got {getattr(self, name)}."
            for name, (kept, rule) in rules.items()
            if not kept
        ]

    def for_run(self, iterations: int) -> PPOConfig:
        """The same with what depends on a run's length filled in."""
        return replace(self, anneal_iterations=iterations) if self.anneal_iterations is None else self

    @property
    def steps_per_iteration(self) -> int:
        """A member's environment steps between two updates."""
        return self.rollout_steps

    @property
    def update_cost(self) -> float:
        """Time of an update, as a share of one with ten epochs."""
        return self.epochs / 10

    def network_widths(self, sizes: tuple[int, int]) -> list[tuple[int, ...]]:
        """The layers of every network; `sizes` = (observation size, action size)."""
        states, actions = sizes
        return [(states, *self.policy_hidden, actions), (states, *self.critic_hidden, 1)]

    def experience_numbers(self, sizes: tuple[int, int]) -> int:
        """How many numbers one member's rollout holds."""
        states, actions = sizes
        # Four states and three actions of each transition, raw and normalised; the order of samples.
        return self.rollout_steps * (4 * states + 3 * actions + 15 + 3 * self.epochs)

    def check(self) -> None:
        """Raise one UserError that names every problem."""
        found = self.problems()
        if found:
            raise UserError("\n".join(found), "Change the named fields of PPOConfig.")


@dataclass(frozen=True)
class SACConfig:
    """How Soft Actor-Critic learns from a replay buffer (paper, Appendix A; Haarnoja et al. 2018)."""

    name: ClassVar[str] = "sac"
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
            rules[name] = possible_widths(getattr(self, name)), WIDTHS
        found = [
            f"`{self.name}.{name}` must {rule}, got {getattr(self, name)}."
            for name, (kept, rule) in rules.items()
            if not kept
        ]
        if self.replay_size < self.block_steps:
            found.append(
                f"{self.name}.replay_size must hold a block of {self.block_steps} steps, "
                f"got {self.replay_size}."
            )
        return found

    @property
    def block_updates(self) -> int:
        """Gradient steps after every block of environment steps."""
        return round(self.updates_per_step * self.block_steps)

    def for_run(self, iterations: int) -> SACConfig:
        """Nothing here depends on a run's length."""
        return self

    @property
    def steps_per_iteration(self) -> int:
        """A member's environment steps between two updates."""
        return self.block_steps

    @property
    def update_cost(self) -> float:
        """Time of an update, as a share of PPO's with ten epochs (docs/results.md)."""
        return 60 * self.updates_per_step

    def network_widths(self, sizes: tuple[int, int]) -> list[tuple[int, ...]]:
        """The layers of every network; `sizes` = (observation size, action size)."""
        states, actions = sizes
        critic = (states + actions, *self.critic_hidden, 1)
        return [(states, *self.policy_hidden, 2 * actions), critic, critic]

    def experience_numbers(self, sizes: tuple[int, int]) -> int:
        """How many numbers one member's replay buffer holds."""
        states, actions = sizes
        return self.replay_size * (2 * states + actions + 2)
