"""Every choice a run is made of: frozen records whose fields are also their documentation."""

from polygait.config.checks import (
    check_seed,
    count_problems,
    from_options,
    is_whole,
    seed_problems,
    with_whole_numbers,
)
from polygait.config.kinds import checked_kinds
from polygait.config.learners import PPOConfig, SACConfig
from polygait.config.options import (
    AdaptConfig,
    BehaviourConfig,
    EvaluateConfig,
    Extension,
    FiltersConfig,
    MotivationConfig,
    StudyRunConfig,
    TrainConfig,
    TrialsConfig,
)
from polygait.config.showing import RenderConfig, ReportConfig

__all__ = [
    "AdaptConfig",
    "BehaviourConfig",
    "EvaluateConfig",
    "Extension",
    "FiltersConfig",
    "MotivationConfig",
    "PPOConfig",
    "RenderConfig",
    "ReportConfig",
    "SACConfig",
    "StudyRunConfig",
    "TrainConfig",
    "TrialsConfig",
    "check_seed",
    "checked_kinds",
    "count_problems",
    "from_options",
    "is_whole",
    "seed_problems",
    "with_whole_numbers",
]
