"""One policy gets better: networks, acting, rollouts, advantages, PPO."""

from polygait.learning.acting import NumpyPolicy
from polygait.learning.batch import Batch, PreparedBatch, acting_policy, prepare_batch
from polygait.learning.keys import member_keys, named_key
from polygait.learning.networks import Critic, Mlp, Policy
from polygait.learning.normalizer import Moments, Normalizer, initial_normalizer
from polygait.learning.ppo import LearnerState, PPOStatistics, initial_learner, ppo_update
from polygait.learning.rollout import (
    Episodes,
    Position,
    Rollout,
    collect,
    recent_mean,
    rollout_length,
    rollout_noise,
    start_position,
    with_newest,
)

__all__ = [
    "Batch",
    "Critic",
    "Episodes",
    "LearnerState",
    "Mlp",
    "Moments",
    "Normalizer",
    "NumpyPolicy",
    "PPOStatistics",
    "Policy",
    "Position",
    "PreparedBatch",
    "Rollout",
    "acting_policy",
    "collect",
    "initial_learner",
    "initial_normalizer",
    "member_keys",
    "named_key",
    "ppo_update",
    "prepare_batch",
    "recent_mean",
    "rollout_length",
    "rollout_noise",
    "start_position",
    "with_newest",
]
