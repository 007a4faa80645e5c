"""Ray: the same results as locally, reachable from this machine alone, and a lost node costs no bit."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.study import small
from tests.study.test_engines import assert_same_study, begun_at, wait_until

from polygait.errors import UserError
from polygait.study import ray_engine, worker
from polygait.study.grid import read_study
from polygait.study.jobs import JobFolder
from polygait.study.ray_engine import RayEngine
from polygait.study.status import job_status

pytest.importorskip("ray")
HERE = Path(__file__).parent
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


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


@pytest.mark.slow
def test_ray_client_is_refused_before_ray_starts(terminal, tmp_path):
    words = ("--engine", "ray", "--address", "ray://10.0.0.5:10001")
    done = terminal.run("study", "run", small.write(tmp_path), *words)
    assert done.returncode == 2
    assert "Ray Client" in done.stderr and "--address auto or --address HOST:6379" in done.stderr


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


def test_a_job_that_is_away_is_locked_here(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "LOCK_SECONDS", 0.0)
    (tmp_path / "job.json").write_text("{}")
    with contextlib.ExitStack() as lock:
        assert ray_engine._taken(tmp_path, lock).changed == {"job.json": b"{}"}
        with pytest.raises(worker.BusyError), worker.alone(tmp_path):
            raise AssertionError("two have the job")
    monkeypatch.setattr(ray_engine, "copy_of", lambda *_: None)
    with contextlib.ExitStack() as lock, pytest.raises(UserError, match="changes although"):
        ray_engine._taken(tmp_path, lock)
    with worker.alone(tmp_path):  # free again
        pass


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_only_this_machine_can_reach_it(terminal):
    *addresses, usage, slots = run_script(terminal, "loopback.py").split()
    assert addresses and set(addresses) <= LOOPBACK
    assert (usage, slots) == ("0", "1")


@pytest.mark.slow
def test_what_fits_on_no_node_is_refused(terminal):
    told = run_script(terminal, "fitting.py")
    assert "2 jobs of 3 cores: 2 slots" in told
    assert "asks for 2 cores fits on no node: the largest has 1" in told
    assert "already uses Ray" in told and "2 slots after that" in told


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
    first, *_, last = begun_at(read_study(path).jobs()[0], tmp_path / "out")
    assert 0 < first < 2 < last  # percent; the log had 5 of 80 lines, each a percent


@pytest.mark.slow
def test_ctrl_c_brings_the_last_checkpoint_home(left_alone, tmp_path):
    """Messages are 10 s apart: what is home after Ctrl-C came with the last one."""
    path, alone = left_alone
    out, private = tmp_path / "out", tmp_path / "private"
    private.mkdir()
    words = ("study", "run", path, "--out", out, "--engine", "ray", "--jobs", 2)
    terminal = small.Terminal(TMPDIR=str(private), RAY_TMPDIR="/tmp")
    child = terminal.start(*words)
    job = read_study(path).jobs()[0]
    log = f"polygait-{job.name}-*/run/metrics.jsonl"
    wait_until(lambda: any(file.read_bytes().count(b"\n") >= 5 for file in private.glob(log)), child)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: Ray's own processes get it, too
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 130, errors
    assert f"Go on with: polygait study run {path} --out {out} --engine ray --jobs 2\n" in errors
    assert not list(private.glob("polygait-*"))
    home = JobFolder.of(out, job)
    assert not home.done and list(home.run.glob("checkpoints/*"))
    assert job_status(job, out).state == "stopped"
    done = terminal.run(*words)
    terminal.close()
    assert done.returncode == 0, done.stderr
    first, last = begun_at(job, out)
    assert 0 < first < 2 < last
    assert_same_study(path, out, alone)
