"""Registers polygait's tasks with Gymnasium, without importing Gymnasium for those who do not use it."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from polygait.registry import module_names


def register_tasks() -> None:
    """Register now if Gymnasium is loaded, otherwise as soon as it is."""
    if "gymnasium" in sys.modules:
        _register(sys.modules["gymnasium"])
    else:
        sys.meta_path.insert(0, _OnGymnasiumImport())


def gymnasium_id(task: str) -> str:
    """What a robot is called there: polygait/MinitaurBullet-v0."""
    return f"polygait/{task.title().replace('-', '')}-v0"


def _register(gymnasium: ModuleType) -> None:
    for task in (*module_names("polygait.tasks.robots"), "minitaur-bullet"):
        gymnasium.register(
            id=gymnasium_id(task),
            entry_point="polygait.report.pictures.environments:RenderedEnv",
            vector_entry_point="polygait.report.pictures.environments:RenderedVectorEnv",
            kwargs={"task": task},
        )


class _OnGymnasiumImport(MetaPathFinder):
    """Steps aside at Gymnasium's first import, and registers once its module has run."""

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_register(module: ModuleType) -> None:
            run(module)
            _register(module)

        spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec
