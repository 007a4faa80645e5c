"""One policy gets better: networks, acting, rollouts, advantages, PPO."""

from polygait.learning.acting import NumpyPolicy
from polygait.learning.batch import Batch, PreparedBatch, prepare_batch
from polygait.learning.keys import member_keys, named_key
from polygait.learning.networks import Critic, Mlp, Policy
from polygait.learning.normalizer import Moments, Normalizer, initial_normalizer
from polygait.learning.ppo import PPONetworks, PPOStatistics, initial_networks, ppo_update
from polygait.learning.rollout import (
    FinishedEpisodes,
    Position,
    Rollout,
    collect,
    recent_mean,
    rollout_noise,
    start_position,
    with_newest,
)
from polygait.learning.whole_episodes import collect_episodes

__all__ = [
    "Batch",
    "Critic",
    "FinishedEpisodes",
    "Mlp",
    "Moments",
    "Normalizer",
    "NumpyPolicy",
    "PPONetworks",
    "PPOStatistics",
    "Policy",
    "Position",
    "PreparedBatch",
    "Rollout",
    "collect",
    "collect_episodes",
    "initial_networks",
    "initial_normalizer",
    "member_keys",
    "named_key",
    "ppo_update",
    "prepare_batch",
    "recent_mean",
    "rollout_noise",
    "start_position",
    "with_newest",
]
