"""SMERL (Kumar et al. 2020) on PPO: visit states that tell members apart, once the task is mastered.

    r_t + α·1[R̄_k ≥ R* − ε·|R*|] · (log q(z = k | s_{t+1}) − log p(z)),   p(z) = 1/M     (paper, Appendix C.3)

q is a discriminator that all members of a cohort share: which of them visits this state? R̄_k is the mean
return of member k's newest completed episodes. The original gates each trajectory by its own return, but a
rollout cuts trajectories into pieces too short to have one.

The state is the one the action led to, so that the reward falls on the action that earned it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Float32, Float64, Int, Key

from polygait.config import SmerlConfig
from polygait.diversity.method import Bonus, Fitted, Method, Setting, Tensors, bonus_statistics
from polygait.errors import UserError
from polygait.learning.keys import named_key
from polygait.learning.networks import Mlp
from polygait.learning.normalizer import Moments, initial_moments, merge_moments, normalize
from polygait.learning.rollout import Rollout, recent_mean, with_newest
from polygait.learning.shuffling import order_seeds, sample_order

GATE_EPISODES = 20
"""Newest completed episodes per member whose mean return opens or shuts its gate."""
LONGEST_GRADIENT = 0.5
"""The discriminator's gradients are shortened to this norm, like those of policy and critic."""


class SmerlState(NamedTuple):
    """The discriminator that all members share, and what each of them earned lately."""

    network: Mlp
    optimizer: optax.OptState
    moments: Moments
    """Of the states of all members together."""
    recent: Float64[np.ndarray, "member episode"]


class Smerl(Method):
    """Reward for states by which a discriminator knows the member, behind a gate on its return."""

    name = "smerl"
    simultaneous = True

    def __init__(self, config: SmerlConfig, state_size: int, alpha: float) -> None:
        target = config.target_return
        if not isinstance(target, float):
            raise UserError(f"SMERL needs R* as a number, got {target!r}.", "Set smerl.target_return.")
        self.config = config
        self.state_size = state_size
        self.alpha = alpha
        self.threshold = target - config.tolerance * abs(target)

    def begin(self, keys: Key[Array, " member"], setting: Setting, earlier: Sequence[Tensors]) -> SmerlState:
        widths = (self.state_size, *self.config.hidden, setting.num_members)
        network: Any = Mlp(named_key(keys[0], "discriminator"), widths, "relu")
        return SmerlState(
            network=network,
            optimizer=_optimizer(self.config).init(network),
            moments=initial_moments(1, self.state_size),
            recent=np.full((setting.num_members, GATE_EPISODES), np.nan),
        )

    def bonus(self, state: SmerlState, rollout: Rollout) -> Bonus:
        value = log_ratio(self._own_probability(state, rollout), rollout.reward.shape[1], self.config.floor)
        gate = self.open(with_newest(state.recent, rollout.episodes))
        reward = self.alpha * np.where(gate[:, None], value, 0.0)
        return Bonus(reward, {**bonus_statistics(value, reward, rollout), "gate": gate.astype(np.float64)})

    def open(self, recent: Float64[np.ndarray, "member episode"]) -> Bool[np.ndarray, " member"]:
        """Whose newest episodes reach the threshold; nobody's before the first has ended."""
        return recent_mean(recent) >= self.threshold

    def fit(self, state: SmerlState, rollout: Rollout, keys: Key[Array, " member"], iteration: int) -> Fitted:
        config = self.config
        moments = state.moments
        if config.normalize_inputs:
            moments = merge_moments(moments, _of_all(rollout))
        inputs = self._inputs(moments, rollout)
        labels = _labels(rollout)
        seed = order_seeds(keys, "discriminator", iteration)[0]
        order = sample_order(seed, len(labels), config.epochs, config.minibatch_size)
        network, optimizer, loss = _fit(
            state.network, state.optimizer, (inputs, jnp.asarray(labels)), jnp.asarray(order), config
        )
        fitted = SmerlState(network, optimizer, moments, with_newest(state.recent, rollout.episodes))
        size = rollout.reward.shape[1]
        return Fitted(fitted, {"discriminator_loss": np.full(size, float(loss))})

    def leave(self, state: SmerlState) -> list[Tensors]:
        """Nothing: a later cohort has members, and a discriminator, of its own."""
        return [{} for _ in range(len(state.recent))]

    def _own_probability(self, state: SmerlState, rollout: Rollout) -> Float64[np.ndarray, "time member env"]:
        """q(z = k | s) for every state that member k reached."""
        every = np.asarray(_probabilities(state.network, self._inputs(state.moments, rollout)), np.float64)
        own = every[np.arange(len(every)), _labels(rollout)]
        return own.reshape(rollout.reward.shape)

    def _inputs(self, moments: Moments, rollout: Rollout) -> Float32[Array, "sample state"]:
        states = _of_all(rollout)
        if self.config.normalize_inputs:
            states = normalize(moments, states)
        return jnp.asarray(states.reshape(-1, self.state_size))


def log_ratio(
    probability: Float64[np.ndarray, "*batch"], num_members: int, floor: float
) -> Float64[np.ndarray, "*batch"]:
    """The reward log q(z|s) − log p(z), with `floor` added to both: 0 at chance, and bounded where q is 0."""
    return np.log(probability + floor) - math.log(1 / num_members + floor)


def _of_all(rollout: Rollout) -> Float32[np.ndarray, "time 1 sample state"]:
    """The states that actions led to, as if one member had met them all."""
    time, members, envs, size = rollout.next_observation.shape
    return rollout.next_observation.reshape(time, 1, members * envs, size)


def _labels(rollout: Rollout) -> Int[np.ndarray, " sample"]:
    """Whose state each is."""
    time, members, envs = rollout.reward.shape
    return np.tile(np.repeat(np.arange(members, dtype=np.int32), envs), time)


def _optimizer(config: SmerlConfig) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(LONGEST_GRADIENT), optax.adam(config.learning_rate))


@jax.jit
def _probabilities(network: Mlp, inputs: Float32[Array, "sample state"]) -> Float32[Array, "sample member"]:
    return jax.nn.softmax(network(inputs))


@functools.partial(jax.jit, static_argnames="config")
def _fit(
    network: Mlp,
    optimizer: optax.OptState,
    samples: tuple[Float32[Array, "sample state"], Int[Array, " sample"]],
    order: Int[Array, "step minibatch"],
    config: SmerlConfig,
) -> tuple[Mlp, optax.OptState, Float[Array, ""]]:
    """All epochs of −E[log q(z|s)], every minibatch with states of all members."""
    descend = _optimizer(config)

    def loss(network: Mlp, ids: Int[Array, " minibatch"]) -> Float[Array, ""]:
        states, labels = (array[ids] for array in samples)
        return optax.softmax_cross_entropy_with_integer_labels(network(states), labels).mean()

    def step(carry: tuple, ids: Int[Array, " minibatch"]) -> tuple[tuple, Float[Array, ""]]:
        network, state = carry
        value, gradient = jax.value_and_grad(loss)(network, ids)
        change, state = descend.update(gradient, state, network)
        return (eqx.apply_updates(network, change), state), value

    (network, optimizer), losses = jax.lax.scan(step, (network, optimizer), order)
    return network, optimizer, losses.mean()
