"""Soft Actor-Critic (Haarnoja et al. 2018, second version): learn from a replay buffer, be paid for entropy.

    critics      Q_j(s, a) → r + γ·(1 − terminated)·(min_j Q̄_j(s′, a′) − α·log π(a′|s′))
    policy       E[α·log π(a|s) − min_j Q_j(s, a)] → least
    temperature  α, so that the entropy of π comes to target_entropy

Actor (policy, temperature) and critics (with their target networks) learn side by side for `lag` updates,
each from the other as it was before: two compiled programs on two threads. The bits of an update do not
depend on which ends first.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Float32, Key

from polygait.config import SACConfig
from polygait.errors import UserError
from polygait.learning.keys import named_key
from polygait.learning.networks import Mlp
from polygait.learning.replay import Transition, transitions
from polygait.learning.shuffling import order_seeds
from polygait.learning.squashed import SquashedPolicy

_compiled = partial(jax.jit, static_argnames="config")


class TwinCritic(eqx.Module):
    """Two estimates of Q(s, a); the smaller one is believed, since each alone grows too hopeful."""

    networks: tuple[Mlp, Mlp]

    def __init__(self, key: Key[Array, ""], sizes: tuple[int, int], hidden: tuple[int, ...]) -> None:
        """Two fresh critics for `sizes` = (observation size, action size)."""
        widths = (sum(sizes), *hidden, 1)
        first, second = (Mlp(named_key(key, "critic", index), widths, "relu") for index in range(2))
        self.networks = first, second

    def __call__(
        self, observation: Float[Array, "*batch state"], action: Float[Array, "*batch action"]
    ) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
        """Both values of every pair."""
        pair = jnp.concatenate([observation, action], axis=-1)
        first, second = self.networks
        return first(pair)[..., 0], second(pair)[..., 0]


class SACActor(eqx.Module):
    """What chooses: the policy, and the temperature α that entropy is worth."""

    policy: SquashedPolicy
    log_temperature: Float[Array, ""]


class Critics(eqx.Module):
    """What values: the online critics, and the target networks that follow them slowly."""

    online: TwinCritic
    target: TwinCritic


class SACNetworks(eqx.Module):
    """All that learns in one member."""

    actor: SACActor
    critics: Critics
    actor_optimizer: optax.OptState
    critics_optimizer: optax.OptState


class SACStatistics(NamedTuple):
    """How some updates went, means over them."""

    critic_loss: float
    value: float
    """What the first critic says about the replayed pairs."""
    entropy: float
    """−E[log π(a|s)] in nats."""
    temperature: float


class UpdateBatch(NamedTuple):
    """What some updates read."""

    rows: Float[Array, "update sample column"]
    """Minibatches as a Replay draws them."""
    target_noise: Float[Array, "update sample action"]
    """Of the actions a′ in the critics' targets."""
    policy_noise: Float[Array, "update sample action"]
    """Of the actions that the policy is judged by."""


def initial_networks(key: Key[Array, ""], sizes: tuple[int, int], config: SACConfig) -> SACNetworks:
    """Fresh networks; `sizes` = (observation size, action size)."""
    if problems := config.problems():
        raise UserError("\n".join(problems), "Change the named fields of SACConfig.")
    policy = SquashedPolicy(named_key(key, "policy"), sizes, config.policy_hidden)
    actor = SACActor(policy, jnp.log(jnp.float32(config.initial_temperature)))
    critics = TwinCritic(named_key(key, "critics"), sizes, config.critic_hidden)
    optimizer = optax.adam(config.learning_rate)
    trained: tuple[Any, Any] = actor, critics
    return SACNetworks(actor, Critics(critics, critics), *map(optimizer.init, trained))


def sac_update(
    learner: SACNetworks,
    rows: Float32[np.ndarray, "update sample column"],
    key: Key[Array, ""],
    iteration: int,
    config: SACConfig,
) -> tuple[SACNetworks, SACStatistics]:
    """As many updates as there are minibatches; their noise follows from the key and the iteration.

    The noise is drawn by NumPy, since XLA's own would add a tenth to the update.
    """
    generator = np.random.default_rng(order_seeds(key[None], "update noise", iteration)[0])
    shape = (2, *rows.shape[:2], _sizes(learner)[1])
    arrays = (rows, *generator.standard_normal(shape, dtype=np.float32))
    told = []
    with ThreadPoolExecutor(max_workers=1) as pool:
        for start in range(0, len(rows), config.lag):
            batch = UpdateBatch(*(jnp.asarray(part[start : start + config.lag]) for part in arrays))
            improving = pool.submit(_finished, _improve_critics, learner, batch, config)
            actor, actor_optimizer, entropy = _finished(_improve_actor, learner, batch, config)
            critics, critics_optimizer, (loss, value) = improving.result()
            learner = SACNetworks(actor, critics, actor_optimizer, critics_optimizer)
            told.append((len(batch.rows), (loss, value, entropy, jnp.exp(actor.log_temperature))))
    shares = np.array([count for count, _ in told]) / len(rows)
    return learner, SACStatistics(*(shares @ np.array([numbers for _, numbers in told])).tolist())


def critic_target(
    target: TwinCritic,
    actor: SACActor,
    transition: Transition,
    noise: Float[Array, "sample action"],
    config: SACConfig,
) -> Float[Array, " sample"]:
    """What the critics should say, with a′ ~ π(·|s′).

    r + γ·(1 − terminated)·(min_j Q̄_j(s′, a′) − α·log π(a′|s′)).
    """
    action, log_probability = actor.policy.sample(transition.next_observation, noise)
    soft_value = jnp.minimum(*target(transition.next_observation, action))
    soft_value = soft_value - jnp.exp(actor.log_temperature) * log_probability
    return transition.reward + config.discount * jnp.where(transition.terminated, 0.0, soft_value)


def critic_loss(
    critics: TwinCritic, transition: Transition, target: Float[Array, " sample"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """½·Σ_j E[(Q_j(s, a) − target)²] (SAC, Eq. 5), and the first critic's mean value."""
    first, second = critics(transition.observation, transition.action)
    return 0.5 * jnp.mean((first - target) ** 2 + (second - target) ** 2), first.mean()


def actor_loss(
    actor: SACActor,
    critics: TwinCritic,
    observation: Float[Array, "sample state"],
    noise: Float[Array, "sample action"],
    target_entropy: float,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """E[α·log π(a|s) − min_j Q_j(s, a)] for the policy plus log α·(H − target) for the temperature.

    Each is constant in the other's parameters (SAC, Eq. 9 and 18; the temperature's through log α, as the
    authors' code does). Also gives the entropy H = −E[log π].
    """
    action, log_probability = actor.policy.sample(observation, noise)
    temperature = jax.lax.stop_gradient(jnp.exp(actor.log_temperature))
    value = jnp.minimum(*critics(observation, action))
    entropy = -log_probability.mean()
    surplus = jax.lax.stop_gradient(entropy - target_entropy)
    return jnp.mean(temperature * log_probability - value) + actor.log_temperature * surplus, entropy


@_compiled
def _improve_critics(
    learner: SACNetworks, batch: UpdateBatch, config: SACConfig
) -> tuple[Critics, optax.OptState, tuple[Float[Array, ""], Float[Array, ""]]]:
    """Several updates of the critics under one actor."""
    optimizer, sizes = optax.adam(config.learning_rate), _sizes(learner)

    def step(carry: tuple[Critics, optax.OptState], one: UpdateBatch) -> tuple[tuple, tuple]:
        critics, state = carry
        transition = transitions(one.rows, sizes)
        goal = critic_target(critics.target, learner.actor, transition, one.target_noise, config)
        (loss, value), gradient = jax.value_and_grad(critic_loss, has_aux=True)(
            critics.online, transition, goal
        )
        change, state = optimizer.update(gradient, state)
        online = eqx.apply_updates(critics.online, change)
        target = jax.tree.map(lambda old, new: old + config.target_rate * (new - old), critics.target, online)
        return (Critics(online, target), state), (loss, value)

    start = (learner.critics, learner.critics_optimizer)
    (critics, state), told = jax.lax.scan(step, start, batch)
    return critics, state, jax.tree.map(jnp.mean, told)


@_compiled
def _improve_actor(
    learner: SACNetworks, batch: UpdateBatch, config: SACConfig
) -> tuple[SACActor, optax.OptState, Float[Array, ""]]:
    """Several updates of policy and temperature under the same critics."""
    optimizer, sizes = optax.adam(config.learning_rate), _sizes(learner)
    target_entropy = -float(sizes[1]) if config.target_entropy is None else config.target_entropy

    def step(carry: tuple[SACActor, optax.OptState], one: UpdateBatch) -> tuple[tuple, Array]:
        actor, state = carry
        observation = transitions(one.rows, sizes).observation
        gradient, entropy = jax.grad(actor_loss, has_aux=True)(
            actor, learner.critics.online, observation, one.policy_noise, target_entropy
        )
        change, state = optimizer.update(gradient, state)
        return (eqx.apply_updates(actor, change), state), entropy

    start = (learner.actor, learner.actor_optimizer)
    (actor, state), entropy = jax.lax.scan(step, start, batch)
    return actor, state, entropy.mean()


def _sizes(learner: SACNetworks) -> tuple[int, int]:
    """Of observation and action, read from the policy."""
    weights = learner.actor.policy.network.weights
    return weights[0].shape[0], weights[-1].shape[1] // 2


def _finished(program: Any, *arguments: Any) -> Any:
    """A program's result when it is there, not before."""
    return jax.block_until_ready(program(*arguments))
