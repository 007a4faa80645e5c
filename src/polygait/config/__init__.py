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
    ExportConfig,
    Extension,
    FiltersConfig,
    FinetuneConfig,
    MotivationConfig,
    StudyRunConfig,
    TrainConfig,
    specialist_choices,
    specialist_problems,
)
from polygait.config.showing import (
    DemoConfig,
    RenderConfig,
    ReportConfig,
    TasksConfig,
    WatchConfig,
    ZooConfig,
)
from polygait.config.trials import TrialsConfig

__all__ = [
    "AdaptConfig",
    "BehaviourConfig",
    "DemoConfig",
    "EvaluateConfig",
    "ExportConfig",
    "Extension",
    "FiltersConfig",
    "FinetuneConfig",
    "MotivationConfig",
    "PPOConfig",
    "RenderConfig",
    "ReportConfig",
    "SACConfig",
    "StudyRunConfig",
    "TasksConfig",
    "TrainConfig",
    "TrialsConfig",
    "WatchConfig",
    "ZooConfig",
    "check_seed",
    "checked_kinds",
    "count_problems",
    "from_options",
    "is_whole",
    "seed_problems",
    "specialist_choices",
    "specialist_problems",
    "with_whole_numbers",
]
