"""MuJoCo's viewer: opened where there is a screen, otherwise what to do instead."""

import os
import re
import shutil
import signal
import subprocess
import sys

import gymnasium
import pytest
from tests.report.conftest import copy_run

from polygait.config import WatchConfig
from polygait.errors import UserError
from polygait.report.pictures import window
from polygait.report.pictures.watching import watch
from polygait.report.pictures.window import NoScreenError, require_screen


@pytest.fixture
def no_screen(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.mark.usefixtures("no_screen")
def test_without_a_screen_a_film_is_proposed(population):
    with pytest.raises(NoScreenError, match=r"no screen here.*\nMake a film: polygait render .* --member 3"):
        watch(population, 3, WatchConfig(variation="broken-leg"))


@pytest.mark.usefixtures("no_screen")
def test_without_a_screen_gymnasium_is_told_of_pictures():
    env = gymnasium.make("polygait/Hopper-v0", render_mode="human")
    with pytest.raises(NoScreenError, match=r'render_mode="rgb_array".*ssh -X'):
        env.reset(seed=0)
    env.close()


def test_a_screen_that_does_not_answer_is_told(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":7123")
    monkeypatch.setattr(window, "_opens", lambda *_: False)
    with pytest.raises(NoScreenError, match=r"No window can be opened on this screen.\nDo that.*:7123"):
        require_screen("Do that")


@pytest.mark.parametrize(
    ("member", "options", "problem"),
    [
        (9, {}, "There is no member 9"),
        (0, {"speed": 0.0}, "speed must be above 0"),
        (0, {"episodes": 0}, "episodes must be at least 1"),
        (0, {"variation": "broken-fot"}, "'broken-foot'"),
    ],
)
def test_what_cannot_be_watched_is_told_before_a_window_opens(population, member, options, problem):
    with pytest.raises(UserError, match=problem):
        watch(population, member, WatchConfig(**options))


@pytest.fixture
def screen(monkeypatch):
    """A screen that nobody sees."""
    if shutil.which("Xvfb") is None:
        pytest.skip("no Xvfb here (Debian: apt install xvfb)")
    reads, writes = os.pipe()
    command = ["Xvfb", "-displayfd", str(writes), "-screen", "0", "640x480x24", "-nolisten", "tcp"]
    process = subprocess.Popen(command, pass_fds=[writes], stderr=subprocess.DEVNULL)
    os.close(writes)
    with os.fdopen(reads) as found:
        display = f":{found.readline().strip()}"
    monkeypatch.setenv("DISPLAY", display)
    yield display
    process.send_signal(signal.SIGTERM)
    process.wait()


@pytest.mark.slow
def test_a_member_is_watched_to_the_end_of_its_episode(screen, tmp_path):
    run = copy_run(tmp_path / "walker", steps=40)
    command = [sys.executable, "-m", "polygait", "watch", str(run), "--variation", "broken-leg@20"]
    done = subprocess.run([*command, "--episodes", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[0] == "member 1, broken-leg@20: close the window to end."
    assert [re.sub(r"return [\d.,]+", "return R", line) for line in told[1:]] == [
        "seed 0: ends after 0.3 s with return R",
        "seed 1: ends after 0.3 s with return R",
    ]


@pytest.mark.slow
def test_gymnasium_shows_every_step_in_no_less_than_its_time(screen):
    code = """
import gymnasium, time
env = gymnasium.make("polygait:polygait/Hopper-v0", render_mode="human")
env.reset(seed=0)
begun = time.monotonic()
for _ in range(25):
    env.step(env.action_space.sample())
print(time.monotonic() - begun, env.render())
env.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seconds, rendered = done.stdout.split()
    assert float(seconds) >= 25 * 0.008 - 0.02 and rendered == "None"
