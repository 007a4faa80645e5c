"""A trained Walker population whose episodes are short, so that whole pages are made in seconds."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import polygait as pg
from polygait.population.store import RunFolder
from polygait.report.pictures.scene import require_robot
from polygait.tasks.mujoco import MujocoTask

TRAINED = Path(__file__).parents[1] / "data" / "walker-dir"
STEPS = 60


def copy_run(target: Path, steps: int = STEPS) -> Path:
    """The trained run with episodes of so many steps."""
    shutil.copytree(TRAINED, target)
    run = RunFolder.open(target)
    with run.writing():
        config = run.manifest["config"] | {"task_options": {"max_episode_steps": steps}}
        run.update_manifest({"config": config})
    return target


def become_gymnasium(target: Path) -> None:
    """Make a Walker's run one of the Gymnasium environment with as many numbers and actions."""
    run = RunFolder.open(target)
    with run.writing():
        config = run.manifest["config"] | {
            "task": "gym:Walker2d-v5",
            "task_options": {"max_episode_steps": 10},
        }
        run.update_manifest({"config": config})


def robot_task(name: str) -> MujocoTask:
    """One robot whose body can be looked at."""
    return require_robot(pg.make_task(name))


def redness(picture: np.ndarray) -> np.ndarray:
    """Where a picture is red, and not amber."""
    picture = picture.astype(int)
    return picture[..., 0] > 2 * picture[..., 1:].max(axis=2)


@pytest.fixture
def run(tmp_path):
    return copy_run(tmp_path / "walker")


@pytest.fixture(scope="session")
def population(tmp_path_factory):
    return pg.load(copy_run(tmp_path_factory.mktemp("trained") / "walker"))
