"""Diversity in Regulation (DiR): be unlike each earlier member in what the filter f leaves open.

    r_t + α/(k−1) · Σ_{i<k} −log T_φi(a_t | f(s_t), f(s_{t+1}))        (paper, equation of r^DiR)

The free form (bound "none") rewards a member without limit for states in which an earlier model is
sure of itself. The bounded form (bound "std-floor") gives every model at least the spread of
exploration, reads actions as the robot receives them, clipped to [−1, 1], and subtracts each model's
own mean on its own data: 0 means "behaves like member i", and the action box limits the rest. Three
objectives do not ask these models: "features" and "posture" move the freed parts' own averages apart and
can hold those of the kept ones (features.py), "classifier" pays for actions by which a classifier knows
the member (classifier.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Key

from polygait.diversity.classifier import (
    Classification,
    Samples,
    Turn,
    exported_samples,
    initial_classification,
    recognition,
    updated_classification,
)
from polygait.diversity.earlier_models import OWN, Earlier, likelihood, stacked_models, unlikeness
from polygait.diversity.features import (
    KEPT,
    Features,
    cost_of_change,
    distance_to_nearest,
    exported_features,
    feature_reward,
    initial_features,
    updated_features,
)
from polygait.diversity.inverse_dynamics import (
    InverseDynamics,
    ModelConfig,
    Transitions,
    fit_model,
    initial_optimizer,
    normalized,
)
from polygait.diversity.method import (
    IntrinsicReward,
    Method,
    MethodUpdate,
    Setting,
    Statistics,
    Tensors,
)
from polygait.diversity.strength import fading
from polygait.errors import UserError
from polygait.learning.keys import named_key
from polygait.learning.normalizer import Moments, initial_moments, merge_moments
from polygait.learning.padding import is_sample, padded, padded_order, room_for
from polygait.learning.rollout import Rollout
from polygait.learning.shuffling import order_seeds, sample_order
from polygait.storage.trees import flatten_tree
from polygait.tasks.state import StateFilter

_OWN_SHARE = 0.1
"""Weight of the newest rollout in the running mean of a model's own negative log-likelihood."""
Objective = Literal["cross-entropy", "kl", "features", "posture", "classifier"]
"""What a member is paid for: surprise of the earlier models, distance in the freed parts' features, or
actions that tell it from the earlier members."""
_OF_FEATURES: tuple[Objective, ...] = ("features", "posture")
_POSTURE = {"position", "orientation", "height", "angle", "gravity"}
"""Words in the names of numbers that say where a part is held."""


@dataclass(frozen=True)
class DirConfig(ModelConfig):
    """How Diversity in Regulation tells members apart (paper, Section "Diversity in Regulation")."""

    objective: Objective = "cross-entropy"
    """The paper's reward −log T_φi; with the term + log T_φk that Appendix B.1 drops; being elsewhere than
    the nearest earlier member in the mean features of the freed parts, which needs no model, where posture is
    how they are held and features also how much they move; or what actions tell a classifier about the member
    beyond what the filtered states tell: I(a; z | f, f′)."""
    enough: float = 0.0
    """With features or posture, the distance to the nearest earlier member at which nothing more is paid, in
    standard deviations of the first member (root mean square over the features): from half of it on the bonus
    shrinks, and it comes back when members come nearer. 0 is never enough."""
    regulate: float = 0.0
    """With features or posture, what it costs to hold the parts that the filter keeps otherwise than the
    first member does: this many times as much, at most, as the bonus is worth. 0 is nothing."""
    bound: Literal["std-floor", "none"] = "std-floor"
    """Whether the bonus is bounded; "none" is the paper's form, which can explode."""
    std_floor: float = 0.4
    """Smallest standard deviation of an earlier model when the bonus is bounded."""

    def problems(self) -> list[str]:
        """Every rule these values break, in words; empty when there is none."""
        found = super().problems()
        if self.objective not in get_args(Objective):
            known = ", ".join(map(repr, get_args(Objective)))
            found.append(f"dir.objective must be one of {known}, got {self.objective!r}.")
        if not 0 <= self.enough < math.inf:
            found.append(f"dir.enough must be finite and not negative, got {self.enough}.")
        if not 0 <= self.regulate < math.inf:
            found.append(f"dir.regulate must be finite and not negative, got {self.regulate}.")
        if self.bound not in ("std-floor", "none"):
            found.append(f"dir.bound must be 'std-floor' or 'none', got {self.bound!r}.")
        if not 0 < self.std_floor < math.inf:
            found.append(f"dir.std_floor must be finite and above 0, got {self.std_floor}.")
        return found


class RegulationState(NamedTuple):
    """The model of the member in training, and those before it."""

    model: InverseDynamics
    optimizer: optax.OptState
    moments: Moments
    own: Float[np.ndarray, ""]
    earlier: Earlier
    features: Features | None = None
    """Where these are the objective."""
    classification: Classification | None = None
    """Where this is."""
    held: Features | None = None
    """The postures of the parts that the filter keeps, where these are regulated."""


class Regulation(Method):
    """DiR over one filter f."""

    name = "dir"
    title = "DiR"
    colour = "#0072B2"
    rank = 4
    Config = DirConfig
    presets = {
        "paper": {
            "bound": "none",
            "weight_decay": 0.01,
            "max_gradient_norm": 0.5,
            "epochs": 10,
            "normalize_inputs": False,
        },
    }
    default_alpha = 0.05
    default_diversity = {"robust": 0.1}
    relative = {"robust": {"objective": "posture", "enough": 1.75, "regulate": 1.5}}
    simultaneous = False
    needs_filter = True
    reports_novelty = True
    update_cost = 0.4

    def __init__(self, config: DirConfig, state_filter: StateFilter) -> None:
        super().__init__(config, state_filter)
        self._floor = config.std_floor if config.bound == "std-floor" else 0.0
        freed = sorted(set(range(state_filter.layout.size)) - set(state_filter.kept))
        positions = _postures(state_filter, freed) if config.objective == "posture" else []
        self._freed = positions or freed
        # How fast a member is stays its own business: kept velocities would hold it to the first one's speed.
        self._held = _postures(state_filter, state_filter.kept)
        if config.objective in _OF_FEATURES and not self._freed:
            raise UserError(
                f"dir.objective {config.objective!r} compares what a filter frees, and this one frees none.",
                "Remove a part from the filter (`polygait tasks` lists them), or choose another objective.",
            )

    @classmethod
    def is_stationary(cls, config: DirConfig) -> bool:
        return config.objective == "cross-entropy"  # the others hold what is still learning

    @classmethod
    def problems(cls, config: DirConfig, num_members: int, samples: int) -> list[str]:
        if config.minibatch_size <= config.epochs * samples:
            return []
        return [f"dir.minibatch_size {config.minibatch_size} exceeds dir.epochs × {samples} samples."]

    @classmethod
    def experience_numbers(cls, config: DirConfig, samples: int) -> int:
        return 3 * config.epochs * samples  # the order in which they are read

    @classmethod
    def network_widths(cls, config: DirConfig, sizes: tuple[int, int]) -> list[tuple[int, ...]]:
        return [config.widths(*sizes)]

    def init(
        self, keys: Key[Array, " member"], setting: Setting, earlier: Sequence[Tensors]
    ) -> RegulationState:
        sizes = (self.filter.size, setting.action_size)
        model = InverseDynamics(named_key(keys[0], "inverse dynamics"), *sizes, self.config)
        state = RegulationState(
            model=model,
            optimizer=initial_optimizer(model, self.config),
            moments=initial_moments(1, self.filter.size),
            own=np.array(0.0),
            earlier=stacked_models(earlier, model),
        )
        if self.config.objective in _OF_FEATURES:
            moving = self.config.objective == "features"
            state = state._replace(features=initial_features(len(self._freed), earlier, moving))
            if self.config.regulate:
                held = initial_features(len(self._held), earlier[:1], moving=False, prefix=KEPT)
                state = state._replace(held=held)
            return state
        if self.config.objective == "classifier":
            classification = initial_classification(keys, sizes, earlier, self.config)
            return state._replace(classification=classification)
        return state

    def intrinsic_reward(self, state: RegulationState, rollout: Rollout) -> IntrinsicReward:
        if not np.asarray(state.earlier.used).any():
            return IntrinsicReward(np.zeros(rollout.reward.shape), {})
        if state.features is not None:
            value = feature_reward(state.features, _next_states(rollout, self._freed))
            distance = distance_to_nearest(state.features)
            share = 1.0 if math.isnan(distance) else fading(distance, self.config.enough)
            statistics = {"bonus_share": np.array([share])}
            paid = IntrinsicReward(value.reshape(rollout.reward.shape), statistics, share)
            if state.held is None:
                return paid
            cost = self.config.regulate * cost_of_change(state.held, _next_states(rollout, self._held))
            return paid._replace(cost=cost.reshape(rollout.reward.shape))
        if state.classification is not None:
            known = recognition(state.classification, self._samples(rollout, clipped=True), rollout.varies)
            return IntrinsicReward(known.bonus.reshape(rollout.reward.shape), known.statistics)
        transitions = self._transitions(rollout)
        unlike = unlikeness(state.earlier, transitions, self._floor, _sample(rollout))
        value = _per_step(unlike.mean, rollout)
        if self.config.objective == "kl":
            # Appendix B.1 drops + log T_φk; with it the bonus estimates the divergence itself.
            own = _per_step(likelihood(state.model, transitions, self._floor), rollout)
            value = value - own + float(state.own) * bool(self._floor)
        return IntrinsicReward(value, {"bonus_floored": np.asarray(unlike.floored, dtype=np.float64)[None]})

    def update(
        self, state: RegulationState, rollout: Rollout, keys: Key[Array, " member"], iteration: int
    ) -> MethodUpdate:
        config = self.config
        transitions = self._transitions(rollout)
        moments = state.moments
        model = state.model
        if config.normalize_inputs:
            moments = merge_moments(moments, self.filter(rollout.observation))
            model = normalized(model, moments)
        seed = np.asarray(order_seeds(keys, "inverse dynamics", iteration))[0]
        order = sample_order(seed, rollout.reward.size, config.epochs, config.minibatch_size)
        if rollout.varies:
            most_steps = math.ceil(config.epochs * len(transitions.action) / config.minibatch_size)
            order = padded_order(order, most_steps)
        model, optimizer, loss = fit_model(model, state.optimizer, transitions, order, config)
        own_now = float(likelihood(model, transitions, self._floor).mean(where=_sample(rollout)))
        share = 1.0 if iteration == 0 else _OWN_SHARE
        own = np.array((1 - share) * float(state.own) + share * own_now)
        fitted = state._replace(model=model, optimizer=optimizer, moments=moments, own=own)
        statistics = {"model_loss": np.asarray(loss)[None], "model_own": own[None]}
        if state.features is not None:
            features = updated_features(state.features, _next_states(rollout, self._freed))
            fitted = fitted._replace(features=features)
            statistics["feature_distance"] = np.array([distance_to_nearest(features)])
        if state.held is not None:
            held = updated_features(state.held, _next_states(rollout, self._held))
            fitted = fitted._replace(held=held)
            statistics["kept_distance"] = np.array([distance_to_nearest(held)])
        if state.classification is not None:
            samples, turn = self._samples(rollout, clipped=True), Turn(keys, iteration, rollout.varies)
            classification = updated_classification(state.classification, samples, turn, config)
            fitted = fitted._replace(classification=classification)
        return MethodUpdate(fitted, statistics)

    def export(self, state: RegulationState) -> list[Tensors]:
        left = {**flatten_tree(state.model, dotted=True), OWN: np.asarray(state.own)}
        if state.features is not None:
            left |= exported_features(state.features)
        if state.held is not None:
            left |= exported_features(state.held, KEPT)
        if state.classification is not None:
            left |= exported_samples(state.classification)
        return [left]

    def metrics(self, state: RegulationState, rollout: Rollout) -> Statistics:
        """Novelty: min over earlier i of E_k[log T_k − log T_i] in nats, on a fresh rollout of member k."""
        transitions = self._transitions(rollout)
        sample = _sample(rollout)
        own = float(likelihood(state.model, transitions, self._floor).mean(where=sample))
        others = np.asarray(unlikeness(state.earlier, transitions, self._floor, sample).per_member)
        centred = others + (np.asarray(state.earlier.own) if self._floor else 0.0)
        used = np.asarray(state.earlier.used)
        return {"novelty": np.array([(centred[used] - own).min() if used.any() else np.inf])}

    def _transitions(self, rollout: Rollout) -> Transitions:
        """The member's transitions as the models see them, and rows that only fill."""
        arrays = self._samples(rollout, clipped=self._floor > 0)
        if rollout.varies:
            arrays = [padded(array, room_for(rollout.reward.size)) for array in arrays]
        return Transitions(*map(jnp.asarray, arrays))

    def _samples(self, rollout: Rollout, clipped: bool) -> Samples:
        """The member's transitions, one row per sample; where clipped, with what the robot received."""
        action = rollout.action.reshape(-1, rollout.action.shape[-1])
        if clipped:
            action = np.clip(action, -1.0, 1.0)
        pair = (rollout.observation, rollout.next_observation)
        state, next_state = (self.filter(observed).reshape(len(action), -1) for observed in pair)
        return Samples(state, next_state, action)


def _postures(state_filter: StateFilter, numbers: Sequence[int]) -> list[int]:
    """Those of some numbers of the state that say where a part is held; all where no name says so."""
    said = [bool(_POSTURE.intersection(name.split("."))) for name in state_filter.layout.names]
    return [one for one in numbers if said[one]] if any(said) else list(numbers)


def _next_states(rollout: Rollout, numbers: Sequence[int]) -> Float[np.ndarray, "sample number"]:
    """Some numbers of the state after every step."""
    states = rollout.next_observation[..., numbers].reshape(rollout.reward.size, len(numbers))
    return states.astype(np.float64)


def _sample(rollout: Rollout) -> Bool[np.ndarray, " sample"] | None:
    """Which of a rollout's transitions were made; None where all were."""
    count = rollout.reward.size
    return is_sample(count, room_for(count)) if rollout.varies else None


def _per_step(values: Float[Array, " sample"], rollout: Rollout) -> Float[np.ndarray, "time member env"]:
    """One value for every step of a rollout, from those of its transitions."""
    shape = rollout.reward.shape
    return np.asarray(values, dtype=np.float64)[: rollout.reward.size].reshape(shape)
