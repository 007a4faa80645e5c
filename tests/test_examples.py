"""The examples that the documents lead to run to their end."""

import json
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


@pytest.mark.slow
def test_the_tour_runs_from_its_first_cell_to_its_last(tmp_path):
    """As a plain script: a notebook server would be many packages for one test."""
    cells = json.loads((EXAMPLES / "tour.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    script = tmp_path / "tour.py"
    script.write_text("\n".join(code))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=EXAMPLES, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Population of 2 members: hopper, dir" in done.stdout
    assert "episodes" in done.stderr and "member 1/2" in done.stderr
