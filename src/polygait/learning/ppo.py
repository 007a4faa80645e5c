"""Proximal policy optimisation of a cohort (Schulman et al. 2017), on every core at once.

Policy and critic share no parameter and clip their gradients apart, so once the advantages are known
their updates are independent, as are the members'. Each (member, network) is one compiled program
over all epochs and minibatches, or over one epoch where advantages are recomputed before each; a
thread pool runs them side by side. A member's result has the same bits whoever trains beside it and
in whatever order the programs finish.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Int32, Key

from polygait.config import PPOConfig
from polygait.learning.advantage import Experience, generalised_advantage, value_target
from polygait.learning.batch import Batch
from polygait.learning.keys import named_key
from polygait.learning.losses import PolicyMeasures, PolicySamples, policy_loss, value_loss
from polygait.learning.member_batch import MemberBatch, share_of
from polygait.learning.networks import Critic, Policy
from polygait.learning.optimizer import (
    Span,
    discount_at,
    exploration_std,
    is_warming_up,
    learning_rate,
    make_optimizer,
    make_policy_optimizer,
)
from polygait.learning.padding import Order, over_minibatches, padded_order, room_for
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


class AdvantageBatch(NamedTuple):
    """What one member learns from its rollout, one row per sample."""

    observation: Float[Array, "sample state"]
    action: Float[Array, "sample action"]
    log_probability: Float[Array, " sample"]
    """Of the policy that acted."""
    advantage: Float[Array, " sample"]
    value_target: Float[Array, " sample"]
    explained_variance: Float[Array, ""]


class UpdateSchedule(NamedTuple):
    """Which samples each gradient step reads, and how far it goes."""

    order: Order
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


class Update(NamedTuple):
    """What one member learned, and from what."""

    batch: AdvantageBatch
    policy: PolicyUpdate
    critic: CriticUpdate

    @property
    def learner(self) -> PPONetworks:
        """The member after the update."""
        policy, critic = self.policy, self.critic
        return PPONetworks(policy.policy, critic.critic, policy.optimizer, critic.optimizer)


def initial_networks(
    member_keys: Key[Array, " member"], sizes: tuple[int, int], config: PPOConfig
) -> PPONetworks:
    """Fresh networks for every member; `sizes` = (observation size, action size).

    Made one after the other: batched over members, the last bits could depend on their number.
    """
    config.check()
    policy_optimizer, critic_optimizer = make_policy_optimizer(config), make_optimizer(config)

    def of_member(key: Key[Array, ""]) -> PPONetworks:
        policy = Policy(named_key(key, "policy"), sizes, config)
        critic = Critic(named_key(key, "critic"), sizes[0], config)
        networks: tuple[Any, Any] = policy, critic
        return PPONetworks(*networks, policy_optimizer.init(networks[0]), critic_optimizer.init(networks[1]))

    return jax.device_put(stacked([of_member(key) for key in member_keys]))


def ppo_update(
    learner: PPONetworks,
    batch: Batch,
    member_keys: Key[Array, " member"],
    iteration: int,
    config: PPOConfig,
    span: Span | None = None,
) -> tuple[PPONetworks, PPOStatistics]:
    """Improve every member on its own part of the batch, whose reward already holds any bonus.

    Only the order of samples is random, and it follows from a member's key and the iteration. `span` is where
    the update stands in a run whose iterations differ in size.
    """
    span = span or Span(iteration, iteration + 1)
    length, num_members, envs_per_member = batch.reward.shape
    arrays = jax.tree.map(np.asarray, learner)
    members = [member_of(arrays, m) for m in range(num_members)]
    shares = [share_of(batch, m, config) for m in range(num_members)]
    members, shares = jax.device_put((members, shares))
    seeds = order_seeds(member_keys, "sample order", iteration)
    samples = length * envs_per_member
    orders = [sample_order(seed, samples, config.epochs, config.minibatch_size) for seed in seeds]
    stages = [_stages(order, samples, config) for order in orders]
    rate = jnp.float32(learning_rate(span.start, config))
    own = jnp.zeros_like(rate) if is_warming_up(span.start, config) else rate
    discounts = [jnp.float32(discount_at(span.start, config))] * num_members
    statistics: list[PPOStatistics] = []
    with ThreadPoolExecutor() as pool:
        each = partial(_each_member, pool, config)
        acted = list(each(_log_probability, members, shares))
        for orders in zip(*stages, strict=True):
            schedules = [UpdateSchedule(order, rate) for order in orders]
            batches = list(each(_advantages, members, shares, acted, discounts))
            # The critic's program is the longer one: started first, it leaves no core idle at the end.
            critics = each(_improve_critic, members, batches, schedules)
            policies = each(_improve_policy, members, batches, [one._replace(rate=own) for one in schedules])
            updates = [Update(*parts) for parts in zip(batches, policies, critics, strict=True)]
            members = [update.learner for update in updates]
            statistics.append(_statistics(updates))
    improved = stacked(members)
    if config.final_std and not config.learn_std:
        improved = dataclasses.replace(
            improved, policy=improved.policy.exploring(exploration_std(span.end, config))
        )
    return jax.device_put(improved), _over_stages(statistics)


def _stages(order: Int32[np.ndarray, "step minibatch"], samples: int, config: PPOConfig) -> list[Any]:
    """The gradient steps that share one look at the advantages: all of them, or those of an epoch."""
    stages = np.array_split(order, min(config.epochs, len(order))) if config.recompute_advantages else [order]
    if not config.episodes_per_iteration:
        return [jnp.asarray(stage) for stage in stages]
    most_steps = math.ceil(config.epochs * room_for(samples) / config.minibatch_size / len(stages))
    return [padded_order(stage, most_steps) for stage in stages]


def _each_member(
    pool: ThreadPoolExecutor, config: PPOConfig, program: Callable[..., Any], *arguments: Iterable[Any]
) -> Iterator[Any]:
    """One program for every member, side by side; results come in the order of members."""
    return pool.map(lambda *one: jax.block_until_ready(program(*one, config)), *arguments)


def _statistics(updates: Sequence[Update]) -> PPOStatistics:
    """How every member's update went."""
    policies = [update.policy for update in updates]
    return PPOStatistics(
        policy_loss=np.stack([policy.measures.loss for policy in policies]),
        value_loss=np.stack([update.critic.loss for update in updates]),
        approximate_kl=np.stack([policy.measures.approximate_kl for policy in policies]),
        clip_fraction=np.stack([policy.measures.clip_fraction for policy in policies]),
        explained_variance=np.stack([update.batch.explained_variance for update in updates]),
        entropy=np.stack([policy.entropy for policy in policies]),
        std=np.stack([policy.std for policy in policies]),
    )


def _over_stages(stages: Sequence[PPOStatistics]) -> PPOStatistics:
    """Means over stages; but the critic as it was before the first, the noise as it is after the last."""
    means = PPOStatistics(*(np.mean(values, axis=0) for values in zip(*stages, strict=True)))
    first, last = stages[0], stages[-1]
    return means._replace(explained_variance=first.explained_variance, entropy=last.entropy, std=last.std)


@_compiled
def _log_probability(learner: PPONetworks, batch: MemberBatch, config: PPOConfig) -> Float[Array, " sample"]:
    """What the policy that acted gives to one member's actions: log π(a|s)."""
    return learner.policy.log_probability(_flat(batch.observation), _flat(batch.action))


@_compiled
def _advantages(
    learner: PPONetworks,
    batch: MemberBatch,
    log_probability: Float[Array, " sample"],
    discount: Float[Array, ""],
    config: PPOConfig,
) -> AdvantageBatch:
    """Advantages and value targets of one member's rollout, as its critic sees it now."""
    value = learner.critic(batch.observation)
    following = jnp.roll(value, -1, axis=0).reshape(-1)
    following = following.at[batch.cut].set(learner.critic(batch.cut_observation))
    experience = Experience(
        reward=batch.reward,
        terminated=batch.terminated,
        truncated=batch.truncated,
        value=value,
        next_value=following.reshape(value.shape),
    )
    advantage = generalised_advantage(experience, discount, config)
    target = value_target(experience, advantage, discount, config)
    variance = jnp.var(target, where=batch.sample)
    unexplained = jnp.var(target - experience.value, where=batch.sample)
    return AdvantageBatch(
        observation=_flat(batch.observation),
        action=_flat(batch.action),
        log_probability=log_probability,
        advantage=advantage.reshape(-1),
        value_target=target.reshape(-1),
        explained_variance=jnp.where(variance > 0, 1 - unexplained / variance, 0.0),
    )


@_compiled
def _improve_policy(
    learner: PPONetworks, batch: AdvantageBatch, schedule: UpdateSchedule, config: PPOConfig
) -> PolicyUpdate:
    """All epochs of one member's policy."""
    optimizer = make_policy_optimizer(config)
    samples = PolicySamples(
        observation=batch.observation,
        action=batch.action,
        log_probability=batch.log_probability,
        advantage=batch.advantage,
    )

    def step(
        carry: tuple[Policy, optax.OptState], ids: Int[Array, " minibatch"]
    ) -> tuple[tuple[Policy, optax.OptState], PolicyMeasures]:
        policy, state = carry
        minibatch = jax.tree.map(lambda array: array[ids], samples)
        gradient, measures = jax.grad(policy_loss, has_aux=True)(policy, minibatch, config)
        direction, state = optimizer.update(gradient, state, kl=measures.approximate_kl)
        return (_stepped(policy, direction, schedule.rate), state), measures

    start = (learner.policy, learner.policy_optimizer)
    (policy, state), measures = over_minibatches(step, start, schedule.order)
    return PolicyUpdate(policy, state, measures, policy.entropy(), policy.std().mean())


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
        direction, state = optimizer.update(gradient, state)
        return (_stepped(critic, direction, schedule.rate), state), loss

    start = (learner.critic, learner.critic_optimizer)
    (critic, state), loss = over_minibatches(step, start, schedule.order)
    return CriticUpdate(critic, state, loss)


def _stepped(network: Tree, direction: Any, rate: Float[Array, ""]) -> Tree:
    """A network after one step against its direction."""
    return eqx.apply_updates(network, jax.tree.map(lambda step: -rate * step, direction))


def _flat(array: Float[Array, "time env feature"]) -> Float[Array, "sample feature"]:
    """Time and environment as one axis of samples."""
    return array.reshape(-1, array.shape[-1])
