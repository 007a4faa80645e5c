"""Every command that takes a run takes a population of the zoo."""

import json
import subprocess
import sys

import pytest

import polygait as pg
from polygait.population.store import RunFolder

COMMANDS = [
    "adapt zoo:hopper --variation broken-leg --selector informed --trials 3 --held-out 0",
    "evaluate zoo:hopper --suite nominal --episodes 1",
    "behaviour zoo:hopper --episodes 1 --states 50 --transitions 200",
    "filters zoo:hopper --episodes 4 --epochs 1 --member 0 --remove leg.*",
    "render zoo:hopper --out gait.png --frames 2",
    "report zoo:hopper --no-pictures --out page.html",
    "export zoo:hopper --member 1 --format numpy --out gait.npz",
    "finetune zoo:hopper --variation broken-leg --member 0 --steps 64 --out mended",
    "resume zoo:hopper",
]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
def test_every_command(words, tmp_path):
    done = polygait(words, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "zoo:hopper" not in {path.name for path in tmp_path.iterdir()}
    if words.startswith("finetune"):
        assert RunFolder.open(tmp_path / "mended").manifest["origin"]["run"] == "zoo:hopper"
        assert len(pg.load(tmp_path / "mended")) == 1
    if words.startswith("report"):
        page = (tmp_path / "page.html").read_text()
        assert "polygait render zoo:hopper" in page and "--out runs/hopper" in page


@pytest.mark.slow
def test_trials_on_a_robot_are_kept(tmp_path):
    words = "trial zoo:hopper --budget 2 --json"
    first, second = (polygait(words, tmp_path, "1.5\n") for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert [len(json.loads(one.stdout)["told"]) for one in (first, second)] == [1, 2]


def polygait(words, place, answers=""):
    return subprocess.run(
        [sys.executable, "-m", "polygait", *words.split()],
        input=answers,
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        env={"POLYGAIT_HOME": str(place / "home"), "PATH": "", "HOME": str(place)},
    )
