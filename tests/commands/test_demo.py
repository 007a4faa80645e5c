"""The tour: what it shows is true of the zoo, it ends well, and it goes on where it was stopped."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import polygait as pg
from polygait import zoo
from polygait.commands.demo import has_screen, telling_damage
from polygait.resilience import stands_still


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYGAIT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def mesh():
    return pl.read_parquet(zoo.packaged_files(zoo.card("walker"))["evaluations/mesh.parquet"])


def test_the_damage_shown_is_one_in_which_the_usual_gait_fails_and_another_walks(home):
    population = pg.load("zoo:walker")
    usual = int(np.argmax([member.summary["nominal_return"] for member in population.members]))
    damage = telling_damage(population, usual)
    assert damage.startswith("broken(")
    frame = mesh()
    speeds = frame.filter(world=damage).sort("member")["mean_speed"].to_numpy()
    fastest = frame.filter(world="nominal")["mean_speed"].to_numpy().max()
    assert speeds.argmax() != usual and speeds.max() > 0.5 * fastest > speeds[usual]


def test_no_member_of_the_first_population_shown_stands_still():
    frame = mesh().filter(variation="nominal")
    fastest = float(frame["mean_speed"].to_numpy().max())
    assert not any(stands_still(row["mean_speed"], row["falls"], fastest) for row in frame.to_dicts())


@pytest.mark.skipif(sys.platform == "darwin", reason="which always has a screen")
def test_a_browser_needs_a_screen(home, monkeypatch):
    assert not has_screen()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_screen()


def tour(*words, **options):
    command = [sys.executable, "-m", "polygait", "demo", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.slow
def test_the_whole_tour_and_one_that_was_stopped(home):
    """Stopped while it trains, it says how to go on; begun again, it goes on to its end."""
    stopped = tour("--out", "mine", start_new_session=True)
    run = home / "mine" / "half-cheetah"
    while not (run / "metrics.jsonl").exists() and stopped.poll() is None:
        time.sleep(0.1)
    os.kill(stopped.pid, signal.SIGINT)
    out, err = stopped.communicate()
    assert stopped.returncode == 130 and f"polygait resume {run.relative_to(home)}" in err, err
    assert "Traceback" not in err and "Try next" not in out
    page = (home / "mine" / "walker.html").read_text()
    assert "<title>zoo:walker" in page and "data:image/png" in page
    before, after = map(float, re.findall(r"at (-?[\d.]+) m/s", out.split("Member", 3)[-1])[:2])
    assert after > 1.0 > before
    whole = tour("--out", "mine")
    out, err = whole.communicate()
    assert whole.returncode == 0, err
    assert f"{home / 'mine' / 'walker.html'}" in out
    told = out.partition("Try next")[2].strip().splitlines()
    assert len(told) == 3 and all(line.strip().startswith("polygait ") for line in told)
    own = pg.load(run)
    assert min(member.summary["nominal_speed"] for member in own.members) > 0.5  # they run
