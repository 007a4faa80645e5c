"""Who looks after jobs: retries, failures, Ctrl-C; then real processes and real signals."""

import json
import os
import re
import signal
import threading
import time
from typing import Any

import pytest
from tests import tiny
from tests.study import small

from polygait.commands import studies
from polygait.config import StudyRunConfig
from polygait.errors import UserError
from polygait.study import engines, worker
from polygait.study.effort import read_effort
from polygait.study.engines import Ended, Engine, LocalEngine, run_jobs, why
from polygait.study.grid import Measures, read_study
from polygait.study.jobs import JobFolder
from polygait.study.status import job_status

DONE, MISTAKE, BUSY, STOPPED, KILLED = 0, 2, 75, 130, -9


class Script(Engine):
    """An engine that ends every job at once, as its script says; what is not in it is done."""

    def __init__(self, **codes: list[int]) -> None:
        self._codes = codes
        self._running: list[tuple[str, JobFolder]] = []
        self.started: list[str] = []
        self.most = 0
        self.stops = 0

    @property
    def slots(self):
        return 2

    @property
    def running(self):
        return len(self._running)

    def start(self, job, folder):
        self.started.append(job.run.method)
        self._running.append((job.name, folder))
        self.most = max(self.most, len(self._running))

    def ended(self):
        gone = []
        for name, folder in self._running:
            script = self._codes.get(name.split("-")[1], [])
            code = script.pop(0) if script else DONE
            if code == DONE:
                folder.result.write_text("{}")
            gone.append(Ended(name, code, why(code, folder)))
        self._running.clear()
        return gone

    def stop(self):
        self.stops += 1
        self._running.clear()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(engines, "POLL_SECONDS", 0.0)


def test_every_job_is_done_once_and_then_skipped(tmp_path):
    jobs = small.study(tmp_path, seeds=[0, 1]).jobs()
    engine = Script()
    outcome = run_jobs(jobs, tmp_path / "out", engine)
    assert len(outcome.done) == 4 and not outcome.failed
    assert len(engine.started) == 4 and engine.most == 2 and engine.stops == 1
    again = Script()
    assert len(run_jobs(jobs, tmp_path / "out", again).done) == 4
    assert not again.started


def test_a_crash_is_tried_again_and_a_mistake_is_not(tmp_path):
    jobs = small.study(tmp_path, methods=["dir", "multi", "pg"]).jobs()
    engine = Script(dir=[KILLED, STOPPED], multi=[MISTAKE])
    outcome = run_jobs(jobs, tmp_path / "out", engine, retries=2)
    assert engine.started.count("dir") == 3 and engine.started.count("multi") == 1
    assert len(outcome.done) == 2
    ((name, reason),) = outcome.failed.items()
    assert name.startswith("hopper-multi") and reason == "exit code 2"
    states = {job.run.method: job_status(job, tmp_path / "out").state for job in jobs}
    assert states == {"dir": "done", "multi": "failed", "pg": "done"}


def test_a_job_that_always_crashes_does_not_stop_the_others(tmp_path):
    jobs = small.study(tmp_path, seeds=[0, 1]).jobs()
    engine = Script(dir=[KILLED] * 99)
    outcome = run_jobs(jobs, tmp_path / "out", engine, retries=1)
    assert engine.started.count("dir") == 4 and len(outcome.failed) == 2 and len(outcome.done) == 2
    assert set(outcome.failed.values()) == {"ended by SIGKILL"}
    later = Script()
    assert not run_jobs(jobs, tmp_path / "out", later).failed  # a new run tries again
    assert later.started == ["dir", "dir"]


def test_a_job_that_says_done_without_a_result_is_not(tmp_path):
    (job,) = small.study(tmp_path, methods=["pg"]).jobs()

    class Liar(Script):
        def ended(self):
            gone = [Ended(name, DONE, "") for name, _ in self._running]
            self._running.clear()
            return gone

    outcome = run_jobs([job], tmp_path / "out", Liar(), retries=0)
    assert list(outcome.failed) == [job.name]


def test_a_job_that_another_process_has_is_tried_again_and_left_in_peace(tmp_path):
    (job,) = small.study(tmp_path, methods=["pg"]).jobs()
    folder = JobFolder.of(tmp_path / "out", job)
    folder.prepare(job)
    folder.write_status({"phase": "training", "share": 0.5})
    engine = Script(pg=[BUSY] * 2)
    outcome = run_jobs([job], tmp_path / "out", engine, retries=1)
    assert engine.started == ["pg", "pg"]
    assert outcome.failed == {job.name: "another process has the job"}
    assert job_status(job, tmp_path / "out")[4:7] == ("running", "training", 0.5)
    assert not run_jobs([job], tmp_path / "out", Script(pg=[BUSY]), retries=1).failed


def test_a_worker_that_finds_its_job_taken_says_so(tmp_path, monkeypatch, capsys):
    (job,) = small.study(tmp_path, methods=["pg"]).jobs()
    folder = JobFolder.of(tmp_path, job)
    folder.prepare(job)
    folder.write_status({"phase": "training", "share": 0.5})
    before = (folder.path / "status.json").read_bytes()
    monkeypatch.setattr(worker, "LOCK_SECONDS", 0.1)
    monkeypatch.setattr(worker, "_end_with_parent", lambda: None)
    monkeypatch.setattr(worker.signal, "signal", lambda *_: None)
    with worker.alone(folder.path):
        assert worker.main([str(folder.path), "1"]) == BUSY
    assert "is already writing" in capsys.readouterr().err
    assert (folder.path / "status.json").read_bytes() == before
    with worker.alone(folder.path):  # and it is free again
        pass


def test_the_pulse_goes_on_after_a_failed_write(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "BEAT_SECONDS", 0.01)
    failures = iter([UserError("The disk is full."), OSError("gone")])
    written = threading.Event()

    class Stubborn(JobFolder):
        def write_status(self, status):
            if (failure := next(failures, None)) is not None:
                raise failure
            written.set()

    with worker.Pulse(Stubborn(tmp_path, Measures())) as pulse:
        assert written.wait(20)
        pulse.end("done")


@pytest.mark.parametrize(
    ("code", "told"), [(-9, "ended by SIGKILL"), (-40, "ended by signal 40"), (3, "exit code 3")]
)
def test_why_a_worker_ended(code, told, tmp_path):
    assert why(code, JobFolder(tmp_path, Measures())) == told


def test_hints_repeat_what_was_given():
    options = StudyRunConfig(engine="ray", shared=True, cpus_per_job=2, retries=0)
    told = studies._command("run", "a b.toml", out="my runs", **options.given)
    assert told == (
        "polygait study run 'a b.toml' --out 'my runs' --engine ray --retries 0 --cpus-per-job 2 --shared"
    )


def test_ctrl_c_stops_the_engine(tmp_path):
    jobs = small.study(tmp_path).jobs()
    engine = Script(dir=[KILLED] * 99)

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, tmp_path / "out", engine, retries=99, watch=interrupt)
    assert engine.stops == 1


def test_a_folder_has_one_study_at_a_time(tmp_path):
    jobs = small.study(tmp_path).jobs()

    def second():
        with pytest.raises(UserError, match="is already writing"):
            run_jobs(jobs, tmp_path / "out", Script())

    run_jobs(jobs, tmp_path / "out", Script(), watch=second)


def test_impossible_numbers_of_jobs():
    with pytest.raises(UserError, match="jobs must be at least 1"):
        LocalEngine(0)
    assert LocalEngine(3).slots == 3


# Real processes and real signals.


LONG: dict[str, Any] = {"steps": 64 * 40}
LINES = {"dir": 80, "multi": 40}
"""Of the log of a long job, which a kill must fall into."""


@pytest.fixture(scope="module")
def left_alone(terminal, tmp_path_factory):
    """A study's file, and its results when nothing disturbed it."""
    folder = tmp_path_factory.mktemp("alone")
    path = small.write(folder, **LONG)
    done = terminal.run("study", "run", path, "--out", folder / "out", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert "2 jobs to do: 10,240 steps of training" in done.stderr and "2 jobs are done" in done.stdout
    return path, folder / "out"


def assert_same_study(path, out, expected):
    wanted = read_study(path)
    assert small.results(wanted, out) == small.results(wanted, expected)
    for job in wanted.jobs():
        ours, theirs = (tiny.contents(JobFolder.of(folder, job).run) for folder in (out, expected))
        for one in (ours, theirs):  # locks do not travel
            one["files"] = [name for name in one["files"] if not name.endswith("lock")]
        assert ours == theirs


def wait_until(condition, child, seconds=200.0):
    until = time.monotonic() + seconds
    while not condition():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def lines(job, out):
    log = JobFolder.of(out, job).run / "metrics.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def worker_of(job, out):
    return int(JobFolder.of(out, job).status()["process"])


def begun_at(job, out):
    """Where each process took the job up, in percent."""
    said = JobFolder.of(out, job).log.read_text()
    return [float(share) for share in re.findall(r"Process .*: \w+, ([\d.]+) % done", said)]


def gone(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
def test_killed_jobs_and_a_killed_study_end_in_the_same_bits(terminal, left_alone, tmp_path):
    path, alone = left_alone
    out = tmp_path / "out"
    dir_, multi = read_study(path).jobs()
    child = terminal.start("study", "run", path, "--out", out, "--jobs", 2)
    wait_until(lambda: lines(dir_, out) >= 5, child)
    os.kill(first := worker_of(dir_, out), signal.SIGKILL)
    wait_until(lambda: lines(multi, out) >= 5 and lines(dir_, out) >= 20, child)
    assert worker_of(dir_, out) != first
    workers = [worker_of(job, out) for job in (dir_, multi)]
    seen = json.loads(terminal.run("study", "status", path, "--out", out, "--json").stdout)
    assert {one["state"] for one in seen} <= {"running", "done"} and "running" in {
        one["state"] for one in seen
    }
    child.send_signal(signal.SIGKILL)
    child.communicate()
    until = time.monotonic() + 40
    while not all(map(gone, workers)):  # they notice, save and end
        assert time.monotonic() < until
        time.sleep(0.05)
    assert lines(dir_, out) < LINES["dir"] and not JobFolder.of(out, dir_).done
    shown = terminal.run("study", "status", path, "--out", out)
    assert "stopped" in shown.stdout
    done = terminal.run("study", "run", path, "--out", out, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert_same_study(path, out, alone)
    first, second, third = begun_at(dir_, out)
    assert 0 < first < 2 < second < third  # percent; the log had 5 of 80 lines, each a percent
    efforts = {job.run.method: read_effort(JobFolder.of(out, job).path) for job in (dir_, multi)}
    assert efforts["dir"] is not None and efforts["dir"].processes == 3 and efforts["dir"].seconds > 1
    again = terminal.run("study", "run", path, "--out", out)
    assert again.returncode == 0 and "All 2 jobs are done" in again.stderr
    assert f"polygait study report {path} --out {out}\n" in again.stderr


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(terminal, left_alone, tmp_path):
    path, alone = left_alone
    out = tmp_path / "out"
    dir_, multi = read_study(path).jobs()
    child = terminal.start("study", "run", path, "--out", out, "--jobs", 2)
    wait_until(lambda: min(lines(dir_, out), lines(multi, out)) >= 3, child)
    second = terminal.run("study", "run", path, "--out", out)
    assert second.returncode == 2 and "is writing" in second.stderr
    workers = [worker_of(job, out) for job in (dir_, multi)]
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 130, errors
    assert f"Go on with: polygait study run {path} --out {out} --jobs 2\n" in errors
    assert "Traceback" not in errors
    assert all(map(gone, workers))
    done = terminal.run("study", "run", path, "--out", out, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert_same_study(path, out, alone)


@pytest.mark.slow
def test_a_broken_job_is_told_and_the_others_are_done(terminal, tmp_path):
    path, out = small.write(tmp_path), tmp_path / "out"
    dir_, multi = read_study(path).jobs()
    broken = JobFolder.of(out, dir_)
    broken.run.mkdir(parents=True)
    (broken.run / "manifest.json").write_text("no manifest")
    done = terminal.run("study", "run", path, "--out", out)
    assert done.returncode == 1
    assert f"Failed: {dir_.name}: Damaged" in done.stderr and str(broken.log) in done.stderr
    assert "Damaged" in broken.log.read_text()
    assert JobFolder.of(out, multi).done
    shown = terminal.run("study", "status", path, "--out", out)
    assert "failed" in shown.stdout and "Damaged" in shown.stdout


@pytest.mark.slow
def test_mistakes_end_without_a_traceback(terminal, tmp_path):
    path = small.write(tmp_path)
    for words in (
        ["study", "run", tmp_path / "nowhere.toml"],
        ["study", "run", path, "--jobs", 0],
        ["study", "run", path, "--retries", -1],
        ["study", "run", path, "--address", "auto"],
        ["study", "report", path, "--out", tmp_path / "empty"],
        ["study", "ruin", path],
    ):
        done = terminal.run(*words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("polygait: ") and "Traceback" not in done.stderr
        if "report" in words:
            assert f"First: polygait study run {path} --out {tmp_path / 'empty'}\n" in done.stderr
    assert not (tmp_path / "empty").exists()
    dry = terminal.run("study", "run", path, "--out", tmp_path / "dry", "--dry-run")
    assert dry.returncode == 0 and "768 steps of training" in dry.stderr
    assert not (tmp_path / "dry").exists()
