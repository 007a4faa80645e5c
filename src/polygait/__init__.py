"""Many different ways for a robot to do a task, and the one that still works after damage.

    import polygait as pg
    task = pg.make_task("walker", num_envs=64, variation="broken-foot")
    population = pg.train("walker", out="runs/walker", members=5, steps=1_000_000)
    table = pg.evaluate("runs/walker", suite=["broken-foot", "gravity=1.4"])

Public names are imported when first used, so that `import polygait` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polygait import _gymnasium

if TYPE_CHECKING:
    from polygait.adaptation import Adaptation, Trials, adapt
    from polygait.behaviour import contact_pattern, contact_shares, diversity_score
    from polygait.config import Extension, TrainConfig
    from polygait.errors import UserError
    from polygait.evaluation import evaluate
    from polygait.exporting import Exported, export
    from polygait.finetuning import finetune
    from polygait.information import conditional_information, variance_shares
    from polygait.population.population import Population, load
    from polygait.report.pictures.video import render
    from polygait.report.run.page import write_report
    from polygait.runs import extend, resume, train
    from polygait.tasks.model_robot import robot_from_mjcf
    from polygait.tasks.registry import make_task
    from polygait.tasks.robot import Motion, Motors, Physics, Robot
    from polygait.tasks.state import StateFilter, StateLayout
    from polygait.tasks.task import Step, Task
    from polygait.variations import Variation

__version__ = "0.1.0"
__all__ = [
    "Adaptation",
    "Exported",
    "Extension",
    "Motion",
    "Motors",
    "Physics",
    "Population",
    "Robot",
    "StateFilter",
    "StateLayout",
    "Step",
    "Task",
    "TrainConfig",
    "Trials",
    "UserError",
    "Variation",
    "adapt",
    "conditional_information",
    "contact_pattern",
    "contact_shares",
    "diversity_score",
    "evaluate",
    "export",
    "extend",
    "finetune",
    "load",
    "make_task",
    "render",
    "resume",
    "robot_from_mjcf",
    "train",
    "variance_shares",
    "write_report",
]

_HOMES = {
    "Adaptation": "polygait.adaptation",
    "Extension": "polygait.config",
    "Exported": "polygait.exporting",
    "Motion": "polygait.tasks.robot",
    "Motors": "polygait.tasks.robot",
    "Physics": "polygait.tasks.robot",
    "Population": "polygait.population.population",
    "Robot": "polygait.tasks.robot",
    "StateFilter": "polygait.tasks.state",
    "StateLayout": "polygait.tasks.state",
    "Step": "polygait.tasks.task",
    "Task": "polygait.tasks.task",
    "TrainConfig": "polygait.config",
    "Trials": "polygait.adaptation",
    "UserError": "polygait.errors",
    "Variation": "polygait.variations",
    "adapt": "polygait.adaptation",
    "conditional_information": "polygait.information",
    "contact_pattern": "polygait.behaviour",
    "contact_shares": "polygait.behaviour",
    "diversity_score": "polygait.behaviour",
    "evaluate": "polygait.evaluation",
    "export": "polygait.exporting",
    "extend": "polygait.runs",
    "finetune": "polygait.finetuning",
    "load": "polygait.population.population",
    "make_task": "polygait.tasks.registry",
    "render": "polygait.report.pictures.video",
    "resume": "polygait.runs",
    "robot_from_mjcf": "polygait.tasks.model_robot",
    "train": "polygait.runs",
    "variance_shares": "polygait.information",
    "write_report": "polygait.report.run.page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'polygait' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_gymnasium.register_tasks()
