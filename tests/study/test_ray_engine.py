"""Ray: the same results as locally, reachable from this machine alone, and a lost node costs no bit."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.study import small
from tests.study.test_engines import assert_same_study

from polygait.errors import UserError
from polygait.study.grid import read_study
from polygait.study.ray_engine import RayEngine

pytest.importorskip("ray")
HERE = Path(__file__).parent
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


@pytest.fixture(scope="module")
def terminal():
    opened = small.Terminal()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def left_alone(terminal, tmp_path_factory):
    """A study's file, and what the local engine makes of it."""
    folder = tmp_path_factory.mktemp("alone")
    path = small.write(folder, steps=64 * 40)
    done = terminal.run("study", "run", path, "--out", folder / "out", "--jobs", 2)
    assert done.returncode == 0, done.stderr
    return path, folder / "out"


def run_script(terminal, name, *words):
    child = terminal.start_script(HERE / name, *words)
    output, errors = child.communicate(timeout=900)
    assert child.returncode == 0, errors
    return output


def test_impossible_numbers():
    with pytest.raises(UserError, match="cpus_per_job must be at least 1"):
        RayEngine(cpus_per_job=0)


def test_without_ray_the_remedy_is_told(tmp_path):
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from polygait.study.ray_engine import RayEngine\n"
        "from polygait.errors import UserError\n"
        "try: RayEngine()\n"
        "except UserError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "polygait[ray]"' in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_only_this_machine_can_reach_it(terminal):
    *addresses, usage, slots = run_script(terminal, "loopback.py").split()
    assert addresses and set(addresses) <= LOOPBACK
    assert (usage, slots) == ("0", "1")


@pytest.mark.slow
def test_ray_gives_the_same_results_as_the_local_engine(terminal, left_alone, tmp_path):
    path, alone = left_alone
    out = tmp_path / "out"
    done = terminal.run("study", "run", path, "--out", out, "--engine", "ray", "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert_same_study(path, out, alone)
    shared = tmp_path / "shared"
    done = terminal.run("study", "run", path, "--out", shared, "--engine", "ray", "--jobs", 2, "--shared")
    assert done.returncode == 0, done.stderr
    assert_same_study(path, shared, alone)


@pytest.mark.slow
def test_a_lost_node_costs_no_bit(terminal, left_alone, tmp_path):
    path, alone = left_alone
    output = run_script(terminal, "lost_node.py", path, tmp_path / "out", tmp_path)
    told = output.strip().splitlines()[-1]
    assert "after" in told and "done 2, failed {}" in told, output
    assert_same_study(path, tmp_path / "out", alone)
    log = (tmp_path / "out" / "jobs" / read_study(path).jobs()[0].name / "log.txt").read_text()
    assert log
