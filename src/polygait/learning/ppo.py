"""Proximal policy optimisation of a cohort (Schulman et al. 2017), on every core at once.

Policy and critic share no parameter and clip their gradients apart, so once the advantages are known
their updates are independent, as are the members'. Each (member, network) is one compiled program
over all epochs and minibatches; a thread pool runs them side by side. A member's result has the same
bits whoever trains beside it and in whatever order the programs finish.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from polygait.config import PPOConfig
from polygait.learning.advantage import Experience, generalised_advantage, value_target
from polygait.learning.batch import Batch
from polygait.learning.keys import named_key
from polygait.learning.losses import PolicyMeasures, PolicySamples, policy_loss, value_loss
from polygait.learning.networks import Critic, Policy
from polygait.learning.shuffling import order_seeds, sample_order
from polygait.learning.stacking import member_of, stacked

Tree = TypeVar("Tree")

_compiled = partial(jax.jit, static_argnames="config")


class PPONetworks(eqx.Module):
    """What learns. Every array has a leading member axis, except inside the update of one member."""

    policy: Policy
    critic: Critic
    policy_optimizer: optax.OptState
    critic_optimizer: optax.OptState


class PPOStatistics(NamedTuple):
    """How an update went; losses, divergence and clipping are means over its minibatches."""

    policy_loss: Float[np.ndarray, " member"]
    value_loss: Float[np.ndarray, " member"]
    approximate_kl: Float[np.ndarray, " member"]
    """Mean of ratio − 1 − log ratio, which estimates KL(old policy ‖ new policy)."""
    clip_fraction: Float[np.ndarray, " member"]
    """Share of samples whose ratio lies beyond the clip."""
    explained_variance: Float[np.ndarray, " member"]
    """1 − Var(target − V)/Var(target) before the update: 1 is a perfect critic, 0 a constant one."""
    entropy: Float[np.ndarray, " member"]
    std: Float[np.ndarray, " member"]
    """Mean standard deviation of the actions, like the entropy after the update."""


class MemberBatch(NamedTuple):
    """One member's share of a Batch."""

    observation: Float[Array, "time env state"]
    next_observation: Float[Array, "time env state"]
    action: Float[Array, "time env action"]
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]


class AdvantageBatch(NamedTuple):
    """What one member learns from its rollout, one row per sample."""

    observation: Float[Array, "sample state"]
    action: Float[Array, "sample action"]
    advantage: Float[Array, " sample"]
    value_target: Float[Array, " sample"]
    explained_variance: Float[Array, ""]


class UpdateSchedule(NamedTuple):
    """Which samples each gradient step reads, and how far it goes."""

    order: Int[Array, "step minibatch"]
    rate: Float[Array, ""]


class PolicyUpdate(NamedTuple):
    """A member's policy after all epochs."""

    policy: Policy
    optimizer: optax.OptState
    measures: PolicyMeasures
    entropy: Float[Array, ""]
    std: Float[Array, ""]


class CriticUpdate(NamedTuple):
    """A member's critic after all epochs."""

    critic: Critic
    optimizer: optax.OptState
    loss: Float[Array, ""]


def initial_networks(
    member_keys: Key[Array, " member"], sizes: tuple[int, int], config: PPOConfig
) -> PPONetworks:
    """Fresh networks for every member; `sizes` = (observation size, action size).

    Made one after the other: batched over members, the last bits could depend on their number.
    """
    config.check()
    optimizer = make_optimizer(config)

    def of_member(key: Key[Array, ""]) -> PPONetworks:
        policy = Policy(named_key(key, "policy"), sizes, config)
        critic = Critic(named_key(key, "critic"), sizes[0], config)
        networks: tuple[Any, Any] = policy, critic
        return PPONetworks(*networks, *map(optimizer.init, networks))

    return jax.device_put(stacked([of_member(key) for key in member_keys]))


def make_optimizer(config: PPOConfig) -> optax.GradientTransformation:
    """Adam's direction for gradients no longer than max_gradient_norm; each network has its own."""
    return optax.chain(
        optax.clip_by_global_norm(config.max_gradient_norm),
        optax.scale_by_adam(eps=config.adam_epsilon),
    )


def learning_rate(iteration: int, config: PPOConfig) -> float:
    """The size of a step, which falls linearly to zero over anneal_iterations when these are given."""
    if not config.anneal_iterations:
        return config.learning_rate
    return config.learning_rate * max(0.0, 1.0 - iteration / config.anneal_iterations)


def ppo_update(
    learner: PPONetworks, batch: Batch, member_keys: Key[Array, " member"], iteration: int, config: PPOConfig
) -> tuple[PPONetworks, PPOStatistics]:
    """Improve every member on its own part of the batch, whose reward already holds any bonus.

    Only the order of samples is random, and it follows from a member's key and the iteration.
    """
    length, num_members, envs_per_member = batch.reward.shape
    arrays = jax.tree.map(np.asarray, learner)
    members = [member_of(arrays, m) for m in range(num_members)]
    shares = [_share(batch, m) for m in range(num_members)]
    seeds = order_seeds(member_keys, "sample order", iteration)
    num_samples = length * envs_per_member
    rate = jnp.float32(learning_rate(iteration, config))
    sizes = (num_samples, config.epochs, config.minibatch_size)
    schedules = [UpdateSchedule(jnp.asarray(sample_order(seed, *sizes)), rate) for seed in seeds]
    members, shares = jax.device_put((members, shares))
    with ThreadPoolExecutor() as pool:
        batches = list(
            pool.map(
                lambda member, share: jax.block_until_ready(_advantages(member.critic, share, config)),
                members,
                shares,
            )
        )
        # The critic's program is the longer one: started first, it leaves no core idle at the end.
        critics = pool.map(
            lambda *arguments: jax.block_until_ready(_improve_critic(*arguments, config)),
            members,
            batches,
            schedules,
        )
        policies = pool.map(
            lambda *arguments: jax.block_until_ready(_improve_policy(*arguments, config)),
            members,
            batches,
            schedules,
        )
        policy_updates, critic_updates = stacked(list(policies)), stacked(list(critics))
    improved = PPONetworks(
        policy_updates.policy, critic_updates.critic, policy_updates.optimizer, critic_updates.optimizer
    )
    statistics = PPOStatistics(
        policy_loss=policy_updates.measures.loss,
        value_loss=critic_updates.loss,
        approximate_kl=policy_updates.measures.approximate_kl,
        clip_fraction=policy_updates.measures.clip_fraction,
        explained_variance=np.stack([one.explained_variance for one in batches]),
        entropy=policy_updates.entropy,
        std=policy_updates.std,
    )
    return jax.device_put(improved), statistics


@_compiled
def _advantages(critic: Critic, batch: MemberBatch, config: PPOConfig) -> AdvantageBatch:
    """Advantages and value targets of one member's rollout, as the critic sees it before the update."""
    experience = Experience(
        reward=batch.reward,
        terminated=batch.terminated,
        truncated=batch.truncated,
        value=critic(batch.observation),
        next_value=critic(batch.next_observation),
    )
    advantage = generalised_advantage(experience, config)
    target = value_target(experience, advantage, config)
    variance = jnp.var(target)
    unexplained = jnp.var(target - experience.value)
    return AdvantageBatch(
        observation=_flat(batch.observation),
        action=_flat(batch.action),
        advantage=advantage.reshape(-1),
        value_target=target.reshape(-1),
        explained_variance=jnp.where(variance > 0, 1 - unexplained / variance, 0.0),
    )


@_compiled
def _improve_policy(
    learner: PPONetworks, batch: AdvantageBatch, schedule: UpdateSchedule, config: PPOConfig
) -> PolicyUpdate:
    """All epochs of one member's policy."""
    optimizer = make_optimizer(config)
    samples = PolicySamples(
        observation=batch.observation,
        action=batch.action,
        log_probability=learner.policy.log_probability(batch.observation, batch.action),
        advantage=batch.advantage,
    )

    def step(
        carry: tuple[Policy, optax.OptState], ids: Int[Array, " minibatch"]
    ) -> tuple[tuple[Policy, optax.OptState], PolicyMeasures]:
        policy, state = carry
        minibatch = jax.tree.map(lambda array: array[ids], samples)
        gradient, measures = jax.grad(policy_loss, has_aux=True)(policy, minibatch, config)
        return _descend(optimizer, gradient, (policy, state), schedule.rate), measures

    (policy, state), measures = jax.lax.scan(step, (learner.policy, learner.policy_optimizer), schedule.order)
    mean_measures = jax.tree.map(jnp.mean, measures)
    return PolicyUpdate(policy, state, mean_measures, policy.entropy(), policy.std().mean())


@_compiled
def _improve_critic(
    learner: PPONetworks, batch: AdvantageBatch, schedule: UpdateSchedule, config: PPOConfig
) -> CriticUpdate:
    """All epochs of one member's critic."""
    optimizer = make_optimizer(config)

    def step(
        carry: tuple[Critic, optax.OptState], ids: Int[Array, " minibatch"]
    ) -> tuple[tuple[Critic, optax.OptState], Float[Array, ""]]:
        critic, state = carry
        observation, target = batch.observation[ids], batch.value_target[ids]
        gradient, loss = jax.grad(value_loss, has_aux=True)(critic, observation, target, config)
        return _descend(optimizer, gradient, (critic, state), schedule.rate), loss

    (critic, state), losses = jax.lax.scan(step, (learner.critic, learner.critic_optimizer), schedule.order)
    return CriticUpdate(critic, state, losses.mean())


def _descend(
    optimizer: optax.GradientTransformation,
    gradient: Any,
    carry: tuple[Tree, optax.OptState],
    rate: Float[Array, ""],
) -> tuple[Tree, optax.OptState]:
    """One step of a network against its gradient."""
    network, state = carry
    direction, state = optimizer.update(gradient, state)
    return eqx.apply_updates(network, jax.tree.map(lambda one: -rate * one, direction)), state


def _share(batch: Batch, member: int) -> MemberBatch:
    """What belongs to one member."""
    return MemberBatch(**{name: array[:, member] for name, array in batch._asdict().items()})


def _flat(array: Float[Array, "time env feature"]) -> Float[Array, "sample feature"]:
    """Time and environment as one axis of samples."""
    return array.reshape(-1, array.shape[-1])
