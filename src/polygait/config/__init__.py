"""Every choice a run is made of: frozen records whose fields are also their documentation."""

from polygait.config.kinds import checked_kinds
from polygait.config.learners import PPOConfig, SACConfig
from polygait.config.options import (
    AdaptConfig,
    EvaluateConfig,
    ExportConfig,
    FiltersConfig,
    FinetuneConfig,
    TrainConfig,
    check_seed,
    count_problems,
    from_options,
    is_whole,
    seed_problems,
    with_whole_numbers,
)

__all__ = [
    "AdaptConfig",
    "EvaluateConfig",
    "ExportConfig",
    "FiltersConfig",
    "FinetuneConfig",
    "PPOConfig",
    "SACConfig",
    "TrainConfig",
    "check_seed",
    "checked_kinds",
    "count_problems",
    "from_options",
    "is_whole",
    "seed_problems",
    "with_whole_numbers",
]
