"""From rewards and values to advantages and value targets, for one member."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from polygait.config import PPOConfig

Discount = float | Float[Array, ""]
"""γ, which may change from one update to the next (optimizer.py)."""


class Experience(NamedTuple):
    """What one member lived through, with the critic's opinion of it."""

    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    value: Float[Array, "time env"]
    """V(s_t)."""
    next_value: Float[Array, "time env"]
    """V(s_{t+1}) of the true next state, also where an episode ended."""


def generalised_advantage(
    experience: Experience, discount: Discount, config: PPOConfig
) -> Float[Array, "time env"]:
    """GAE (Schulman et al. 2016, Eq. 16), with failure and time limit kept apart.

    δ_t = r_t + γ·V(s_{t+1}) − V(s_t), where a terminated step has no V(s_{t+1});
    A_t = δ_t + γλ·A_{t+1}, where A_{t+1} is dropped after any end of an episode and after the rollout.

    A truncated step keeps V(s_{t+1}): the robot would have gone on. With bootstrap_truncation off it
    loses it like a terminated one, as the paper's authors have it.
    """
    future = jnp.where(_is_final(experience, config), 0.0, experience.next_value)
    delta = experience.reward + discount * future - experience.value
    ended = experience.terminated | experience.truncated

    def backwards(
        advantage: Float[Array, " env"], step: tuple[Float[Array, " env"], Bool[Array, " env"]]
    ) -> tuple[Float[Array, " env"], Float[Array, " env"]]:
        delta, ended = step
        following = jnp.where(ended, 0.0, advantage)
        advantage = delta + discount * config.gae_lambda * following
        return advantage, advantage

    start = jnp.zeros_like(delta[0])
    return jax.lax.scan(backwards, start, (delta, ended), reverse=True)[1]


def monte_carlo_return(
    experience: Experience, discount: Discount, config: PPOConfig
) -> Float[Array, "time env"]:
    """Discounted returns G_t = r_t + γ·G_{t+1}, without the critic wherever the episode is known.

    After a terminated step G_{t+1} = 0. Where an episode was cut, by the end of the rollout or by a
    time limit (unless bootstrap_truncation is off: then 0), the critic stands in: G_{t+1} = V(s_{t+1}).
    """
    cut = jnp.where(_is_final(experience, config), 0.0, experience.next_value)
    ended = experience.terminated | experience.truncated

    def backwards(
        following: Float[Array, " env"],
        step: tuple[Float[Array, " env"], Bool[Array, " env"], Float[Array, " env"]],
    ) -> tuple[Float[Array, " env"], Float[Array, " env"]]:
        reward, ended, cut = step
        discounted = reward + discount * jnp.where(ended, cut, following)
        return discounted, discounted

    return jax.lax.scan(backwards, cut[-1], (experience.reward, ended, cut), reverse=True)[1]


def value_target(
    experience: Experience, advantage: Float[Array, "time env"], discount: Discount, config: PPOConfig
) -> Float[Array, "time env"]:
    """What the critic should say: A_t + V(s_t) ("gae") or the discounted return ("monte-carlo")."""
    if config.value_target == "gae":
        return advantage + experience.value
    return monte_carlo_return(experience, discount, config)


def _is_final(experience: Experience, config: PPOConfig) -> Bool[Array, "time env"]:
    """Steps after which nothing more is expected."""
    if config.bootstrap_truncation:
        return experience.terminated
    return experience.terminated | experience.truncated
