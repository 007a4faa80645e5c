"""What a user of pip gets: the wheel alone, in a fresh environment, with every Python that is promised."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMANDS = [
    "zoo",
    "study list",
    "adapt zoo:hopper --variation broken-leg --selector informed --trials 3 --held-out 0",
    "report zoo:hopper --no-pictures --out page.html",
    "train hopper --members 2 --steps 64 --out run",
]


def interpreter(version: str) -> str:
    """A Python of that version; a name on the path may be an empty promise."""
    for name in (sys.executable, f"python{version}"):
        code = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
        if found := shutil.which(name):
            told = subprocess.run([found, "-c", code], capture_output=True, text=True, check=False)
            if told.stdout.strip() == version:
                return found
    pytest.skip(f"There is no Python {version} here.")


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_in_a_fresh_environment(version, tmp_path):
    subprocess.run([interpreter(version), "-m", "venv", tmp_path / "fresh"], check=True)
    pip = [tmp_path / "fresh" / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    made = subprocess.run(wheel, capture_output=True, text=True, check=False)
    if "Failed to establish a new connection" in made.stderr or "No matching distribution" in made.stderr:
        pytest.skip("There is no package index here.")
    assert made.returncode == 0, made.stderr
    (file,) = tmp_path.glob("*.whl")
    assert file.stat().st_size < 12e6
    done = subprocess.run([*pip, "install", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    place = tmp_path / "place"
    place.mkdir()
    settings = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "POLYGAIT"))
    }
    for words in COMMANDS:
        command = [tmp_path / "fresh" / "bin" / "polygait", *words.split()]
        told = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=place,
            env=settings | {"POLYGAIT_HOME": str(tmp_path / "home")},
        )
        assert told.returncode == 0, (words, told.stderr)
