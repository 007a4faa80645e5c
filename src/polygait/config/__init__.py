"""Every choice a run is made of: frozen records whose fields are also their documentation."""

from polygait.config.learners import PPOConfig, SACConfig
from polygait.config.methods import DirConfig, DvdConfig, SmerlConfig
from polygait.config.wishes import (
    AdaptConfig,
    EvaluateConfig,
    FiltersConfig,
    TrainConfig,
    check_seed,
    count_problems,
    from_wishes,
    is_whole,
    seed_problems,
)

__all__ = [
    "AdaptConfig",
    "DirConfig",
    "DvdConfig",
    "EvaluateConfig",
    "FiltersConfig",
    "PPOConfig",
    "SACConfig",
    "SmerlConfig",
    "TrainConfig",
    "check_seed",
    "count_problems",
    "from_wishes",
    "is_whole",
    "seed_problems",
]
