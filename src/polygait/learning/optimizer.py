"""How far an update goes and looks: the optimiser, and what changes from iteration to iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from polygait.config import PPOConfig

KL_FACTOR = 1.5
"""By what an adaptive step size changes at once, as in rsl_rl."""
KL_RANGE = (1 / 30, 30.0)
"""How far it may leave the one that was asked for."""


class Span(NamedTuple):
    """Where an update stands in a run, in iterations of rollout_steps each, which need not be whole."""

    start: int | float
    end: int | float


class KlScale(NamedTuple):
    """The factor of an adaptive step size."""

    factor: Float[Array, "*member"]


def make_optimizer(config: PPOConfig) -> optax.GradientTransformationExtraArgs:
    """Adam's direction for gradients no longer than max_gradient_norm; each network has its own."""
    return optax.with_extra_args_support(
        optax.chain(
            optax.clip_by_global_norm(config.max_gradient_norm),
            optax.scale_by_adam(eps=config.adam_epsilon),
        )
    )


def make_policy_optimizer(config: PPOConfig) -> optax.GradientTransformationExtraArgs:
    """The same for a policy, whose steps also answer to its divergence where desired_kl is given."""
    optimizer = make_optimizer(config)
    return optax.chain(optimizer, scale_by_kl(config.desired_kl)) if config.desired_kl else optimizer


def scale_by_kl(desired_kl: float) -> optax.GradientTransformationExtraArgs:
    """Shorter steps while `kl` is above twice the desired one, longer ones below half of it (rsl_rl)."""

    def init(params: Any) -> KlScale:
        return KlScale(jnp.float32(1.0))

    def update(updates: Any, state: Any, params: Any = None, **measured: Any) -> tuple[Any, KlScale]:
        kl = measured["kl"]
        change = jnp.where(kl > 2 * desired_kl, 1 / KL_FACTOR, jnp.where(kl < desired_kl / 2, KL_FACTOR, 1.0))
        factor = jnp.clip(state.factor * change, *KL_RANGE)
        return jax.tree.map(lambda update: factor * update, updates), KlScale(factor)

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


def learning_rate(iteration: int | float, config: PPOConfig) -> float:
    """The size of a step: whole until anneal_start, then falling linearly to its share anneal_to."""
    fallen = _progress(iteration, config, config.anneal_start)
    return config.learning_rate * (1.0 - (1.0 - config.anneal_to) * fallen)


def is_warming_up(iteration: int | float, config: PPOConfig) -> bool:
    """Whether the critic learns alone: a wrong one would lead the policy astray."""
    return bool(config.anneal_iterations) and _progress(iteration, config, 0.0) < config.critic_warmup


def exploration_std(iteration: int | float, config: PPOConfig) -> float:
    """The standard deviation, where it is not learned: from action_std to any final_std."""
    final_std, share = config.final_std or config.action_std, _progress(iteration, config, config.final_start)
    return config.action_std + (final_std - config.action_std) * share


def discount_at(iteration: int | float, config: PPOConfig) -> float:
    """γ: the horizon 1/(1 − γ) grows by equal factors from that of discount to a longer final one."""
    if config.final_discount <= config.discount:
        return config.discount
    first, final = 1 - config.discount, 1 - config.final_discount
    return 1 - first * (final / first) ** _progress(iteration, config, config.final_start)


def _progress(iteration: int | float, config: PPOConfig, start: float) -> float:
    """How much is over of what anneal_iterations leave after the share `start`; 0 where there are none."""
    over = min(1.0, iteration / config.anneal_iterations) if config.anneal_iterations else 0.0
    return (over - start) / (1.0 - start) if over > start else 0.0
