"""A script of at most 50 lines, with a model that does not come with polygait, from nothing to a film."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import polygait as pg

FILES = Path(__file__).parent / "data" / "quadruped"


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=1200, check=False
    )


@pytest.mark.slow
def test_a_script_trains_breaks_adapts_reports_and_films_a_foreign_quadruped(tmp_path):
    assert len((FILES / "my_quadruped.py").read_text().splitlines()) <= 50
    for file in FILES.iterdir():
        shutil.copy(file, tmp_path)
    done = call(tmp_path, "my_quadruped.py", "4096")
    assert done.returncode == 0, done.stderr
    assert "keeps" in done.stdout
    assert (tmp_path / "gait.mp4").stat().st_size > 10_000
    page = (tmp_path / "run" / "report.html").read_text()
    assert "broken-knee" in page
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["config"]["task"] == "my_quadruped.py:Quadruped"
    assert len(pg.load(tmp_path / "run")) == 2

    again = ("-m", "polygait", "adapt", "run", "--variation", "heavy", "--episodes", "1", "--held-out", "1")
    refused = call(tmp_path, *again)
    assert refused.returncode == 2
    assert "--task my_quadruped.py:Quadruped" in refused.stderr
    assert call(tmp_path, *again, "--task", "my_quadruped.py:Quadruped").returncode == 0
