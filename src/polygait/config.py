"""Every choice a run is made of: frozen records whose fields are also their documentation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from polygait.errors import UserError, unknown_name

Record = TypeVar("Record", bound=Any)


@dataclass(frozen=True)
class PPOConfig:
    """How one policy learns from its own experience (paper, Appendix C.3)."""

    learning_rate: float = 3e-4
    """Step size of Adam, for policy and critic alike."""
    anneal_iterations: int = 0
    """Iterations over which the step size falls linearly to zero; 0 keeps it. A preset may set it."""
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
        if not 0 < lowest < highest < math.inf:
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
        rules = {name: (0 < getattr(self, name) < math.inf, "be finite and above 0") for name in positive}
        for name in ("value_coefficient", "entropy_coefficient", "anneal_iterations"):
            rules[name] = 0 <= getattr(self, name) < math.inf, "be finite and not negative"
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
        if not all(width > 0 for width in self.hidden):
            found.append(f"dir.hidden must hold widths above 0, got {self.hidden}.")
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
        if not all(width > 0 for width in self.hidden):
            found.append(f"smerl.hidden must hold widths above 0, got {self.hidden}.")
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


@dataclass(frozen=True)
class TrainConfig:
    """What a user asks for. `None` leaves a choice to the preset; `resolve` in presets.py fills it in."""

    task: str
    """The robot, or gym:ENV-ID."""
    method: str = "dir"
    """dir, smerl, dvd, multi or pg."""
    members: int | None = None
    """How many different ways to find, 10 when left out. pg finds one, with the steps of so many members."""
    steps: int = 2_000_000
    """Environment steps per member, rounded up to whole rollouts."""
    seed: int = 0
    """All randomness follows from it."""
    preset: str = "robust"
    """robust mends the known flaws; paper follows the paper and its authors."""
    remove: tuple[str, ...] | None = None
    """State parts that f(s) removes: there members may differ. () keeps all, ("*",) keeps none."""
    alpha: float | None = None
    """Factor of the diversity bonus; multi and pg have none."""
    envs: int | None = None
    """Environments per member."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""
    overrides: tuple[str, ...] = ()
    """Any other setting, for example ppo.epochs=5 or dir.bound=none."""


@dataclass(frozen=True)
class AdaptConfig:
    """How to find the member that still works."""

    selector: str = "exhaustive"
    """exhaustive: every member for as many episodes (Algorithm 2); racing: a race with a budget of trials."""
    episodes: int | None = None
    """Exhaustive: episodes per member; 20 when left out."""
    trials: int | None = None
    """Racing: episodes of all members together; four per member when left out."""
    max_falls: int | None = None
    """Racing: a member that has fallen so often is tried no more."""
    held_out: int = 20
    """Fresh episodes on which the chosen member is scored; 0 for none."""
    seed: int = 0
    """All starts follow from it."""
    on: str | None = None
    """Another task with the same state and actions to adapt in, such as another simulator."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""

    def problems(self, num_members: int) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        racing = self.selector == "racing"
        found = []
        if self.selector not in ("exhaustive", "racing"):
            found.append(f"selector must be 'exhaustive' or 'racing', got {self.selector!r}.")
        for name in ("episodes", "trials", "max_falls", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                found.append(f"{name} must be at least 1, got {value}.")
        if self.held_out < 0:
            found.append(f"held_out must not be negative, got {self.held_out}.")
        if racing and self.episodes is not None:
            found.append("racing counts trials of all members together: give trials instead of episodes.")
        if not racing and (self.trials is not None or self.max_falls is not None):
            found.append("trials and max_falls belong to racing: give selector='racing' or leave them out.")
        if racing and self.trials is not None and 1 <= self.trials < num_members:
            found.append(
                f"{self.trials} trials do not reach {num_members} members: give at least {num_members}, "
                "one trial each."
            )
        return found


@dataclass(frozen=True)
class EvaluateConfig:
    """What to measure of a population."""

    suite: str = "paper"
    """nominal, damage, dynamics, sensors, paper, or the path of a TOML file with variations."""
    episodes: int = 20
    """Episodes per member and condition."""
    seed: int = 0
    """All starts follow from it."""
    on: str | None = None
    """Another task with the same state and actions, such as another simulator."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        return [
            f"{name} must be at least 1, got {value}."
            for name, value in (("episodes", self.episodes), ("threads", self.threads))
            if value is not None and value < 1
        ]


@dataclass(frozen=True)
class FiltersConfig:
    """What to ask about filters."""

    remove: tuple[str, ...] = ()
    """Candidates, each the parts to remove joined by commas; the usual ones when there is none."""
    member: int | None = None
    """Whose actions to read; all members' together when left out."""
    episodes: int = 8
    """Episodes per member, with the noise of training; a quarter is held out."""
    epochs: int = 100
    """Passes of each model through its data, at most; it stops when it has learned what it can."""
    seed: int = 0
    """All starts and all first weights follow from it."""
    threads: int | None = None
    """Physics threads; all cores when left out. Results do not depend on it."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        least = (("episodes", self.episodes, 3), ("epochs", self.epochs, 1), ("seed", self.seed, 0))
        return [
            f"{name} must be at least {low}, got {value}."
            for name, value, low in (*least, ("threads", self.threads, 1))
            if value is not None and value < low
        ]


def from_wishes(kind: type[Record], wishes: Mapping[str, Any]) -> Record:
    """A record of choices from a caller's keywords; an unknown one is named with its neighbours."""
    for name in wishes:
        if name not in (known := [field.name for field in fields(kind)]):
            raise unknown_name("option", name, known)
    return kind(**wishes)
