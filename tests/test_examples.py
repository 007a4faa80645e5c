"""The examples that the documents lead to run to their end."""

import subprocess
import sys
from pathlib import Path

import pytest

import polygait as pg

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.slow
def test_an_afternoon_at_the_robot(tmp_path):
    """Trained in MuJoCo, chosen in PyBullet by asking and telling; a second call finds all trials made."""
    pytest.importorskip("pybullet", exc_type=ImportError)
    run = tmp_path / "minitaur"
    small = ["--trials", "3", "--episodes", "1", "--seconds", "1"]
    command = [sys.executable, str(EXAMPLES / "on_the_robot.py"), str(run), *small]
    first = subprocess.run([*command, "--train", "4096"], capture_output=True, text=True, check=True)
    trials = pg.Trials(run, name="afternoon")
    assert len(trials.told) == 3 and trials.ask() is None
    assert f"Take member {trials.best}." in first.stdout and "trial 3: member" in first.stdout
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "trial 1" not in again.stdout and f"Take member {trials.best}." in again.stdout
