"""One job: trained, measured, written down; and what is said about it meanwhile."""

import json
import os
import shutil
import socket
import time

import polars as pl
import pytest
from tests import tiny
from tests.study import small

import polygait as pg
from polygait.behaviour import contact_shares, diversity_score
from polygait.errors import UserError
from polygait.information import variance_shares
from polygait.storage.strict_json import canonical, to_plain
from polygait.study.checking import check_result
from polygait.study.estimate import estimate, evaluation_steps, free_bytes
from polygait.study.grid import Measures, read_study
from polygait.study.jobs import PHASES, JobFolder, _evaluated, read_job, run_job, share_of_job
from polygait.study.results import read_results
from polygait.study.status import STALE_SECONDS, Overview, job_status

pytestmark = pytest.mark.usefixtures("quick_compilation")


def crash_at(count):
    """Told of progress, it ends the job the `count`-th time, as a crash would."""
    crash = tiny.crash_at(count)
    return lambda *said: crash(said)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study, its folder, and what was told while its first job ran."""
    folder = tmp_path_factory.mktemp("study")
    suite = folder / "mine.toml"
    suite.write_text('variations = ["broken-leg", "foot-mass=1.5"]')
    path = small.write(folder)
    path.write_text(path.read_text().replace('"damage"', f'"damage", "{suite}"'))
    study = read_study(path)
    suite.unlink()  # jobs may run where it is not
    told = []
    job = study.jobs()[0]
    where = JobFolder.of(folder, job)
    where.prepare(job)
    run_job(where.path, 1, lambda *said: told.append(said))
    return study, folder, told


def test_the_result_is_what_the_verbs_would_say(finished):
    study, out, _ = finished
    job = study.jobs()[0]
    folder = JobFolder.of(out, job)
    result = folder.read_result(2)
    population = pg.load(folder.run)
    frame = pg.evaluate(population, suite="damage", episodes=2, seed=0)
    assert result["returns"]["mean_return"][: frame.height] == frame["mean_return"].to_list()
    assert result["returns"]["condition"][frame.height :] == ["foot-mass=1.5"] * 2  # broken-leg only once
    place = result["held_out"]["condition"].index("broken-leg")
    adapted = pg.adapt(population, "broken-leg", episodes=2, held_out=2)
    assert result["held_out"]["member"][place] == adapted.best
    assert result["held_out"]["mean_return"][place] == adapted.held_out_return
    assert result["config"] == json.loads(json.dumps(job.run.to_json()))
    assert result["versions"]["mujoco"]
    assert result["diversity"] == diversity_score(population, 20)
    shares = variance_shares(population, 200)
    assert result["variance"]["part"] == list(shares) and result["variance"]["share"] == list(shares.values())
    freed = dict(zip(result["variance"]["part"], result["variance"]["freed"], strict=True))
    assert freed == population.filter.removed_shares and 0.0 < freed["leg"] <= 1.0 and freed["torso"] == 0.0
    assert result["contacts"]["down"] == contact_shares(population, 1).down.tolist()
    assert result["contacts"]["feet"] == ["foot"]
    share = sum(map(int, result["patterns"]["down"][1][0])) / len(result["patterns"]["down"][1][0])
    assert share == pytest.approx(result["contacts"]["down"][1][0][0])
    curves = pl.DataFrame(result["curves"])
    assert curves.sort("member", "steps")["steps"].to_list() == [64, 128, 192, 64, 128, 192]


def test_the_same_job_gives_the_same_bytes(finished, tmp_path):
    study, out, _ = finished
    job = study.jobs()[0]
    again = JobFolder.of(tmp_path, job)
    again.prepare(job)
    for at in (2, 7):  # in training, and then while measuring
        with pytest.raises(tiny.Killed):
            run_job(again.path, 1, crash_at(at))
    assert not again.done
    run_job(again.path, 1, lambda *_: None)
    assert again.result.read_bytes() == JobFolder.of(out, job).result.read_bytes()
    assert tiny.digests(again.run) == tiny.digests(JobFolder.of(out, job).run)


def test_progress_only_grows(finished):
    _, _, told = finished
    shares = [share_of_job(phase, share) for phase, share, _ in told]
    assert shares == sorted(shares) and shares[0] > 0 and shares[-1] < 1
    assert {phase for phase, _, _ in told} >= {"training", "evaluating", "fresh episodes"}
    assert sum(PHASES.values()) == pytest.approx(1.0)


def test_results_are_frames(finished):
    study, out, _ = finished
    results = read_results(study.jobs(), out)
    assert (results.done, results.jobs) == (1, 2)
    assert results.returns.columns == [
        "task",
        "method",
        "seed",
        "condition",
        "scale",
        "member",
        "mean_return",
        "falls",
        "mean_speed",
    ]
    assert results.returns["mean_speed"].null_count() == 0 and results.mesh.is_empty()
    assert results.returns.height == 2 * 5 and set(results.returns["method"]) == {"dir"}
    assert results.held_out.height == 5
    assert results.diversity.height == 1
    assert set(results.variance["part"]) > {"torso", "torso.position.pitch"}
    assert results.contacts["foot"].to_list() == ["foot", "foot"]
    assert set(results.patterns) == {("hopper", "dir", 0)}
    assert results.versions["polygait"] == [pg.__version__]


def test_suites_that_are_judged_as_a_whole_are_kept_by_themselves(finished, tmp_path):
    study, out, _ = finished
    job = study.jobs()[0]
    shutil.copytree(JobFolder.of(out, job).path, tmp_path / "job")
    folder = JobFolder(tmp_path / "job", job.measures)
    wanted = Measures(suites=("damage", "mesh", "unforeseen"), episodes=2)
    frame, whole = _evaluated(wanted, folder, pg.load(folder.run), 1, lambda *_: None)
    assert {suite: one.height for suite, one in whole.items()} == {"mesh": 2 * 22, "unforeseen": 2 * 27}
    mesh = whole["mesh"]
    assert mesh["progress"].null_count() == 0
    assert set(frame["condition"]) == {"nominal", "broken-thigh", "broken-leg", "broken-foot"}
    kept = mesh.drop("weights", "made_with", "episodes", "seed").to_dict(as_series=False)
    folder.result.write_bytes(canonical(to_plain(folder.read_result(2) | {"mesh": kept})))
    result = folder.read_result(2)
    assert result["mesh"]["progress"] == mesh["progress"].to_list()
    del result["mesh"]["seconds"][0]
    with pytest.raises(ValueError, match=r"mesh.seconds must have 44 entries, got 43"):
        check_result(result, 2)


def test_states_of_jobs(finished):
    study, out, _ = finished
    done, waiting = (job_status(job, out) for job in study.jobs())
    assert (done.state, done.share, waiting.state, waiting.share) == ("done", 1.0, "waiting", 0.0)
    job = study.jobs()[1]
    folder = JobFolder.of(out, job)
    folder.prepare(job)
    folder.write_status({"phase": "training", "share": 0.4, "steps_per_second": 100.0, "return": 7.0})
    running = job_status(job, out)
    assert (running.state, running.phase, running.share, running.steps_per_second) == (
        "running",
        "training",
        0.4,
        100,
    )
    line = Overview(study.jobs(), out)()
    assert line[0] == pytest.approx(0.7) and "1/2 jobs  1 running  100 steps/s" in line[1]
    old = time.time() - STALE_SECONDS - 1
    os.utime(folder.path / "status.json", (old, old))
    assert job_status(job, out).state == "stopped"
    folder.write_status({"phase": "failed", "reason": "no more"})
    failed = job_status(job, out)
    assert (failed.state, failed.reason) == ("failed", "no more")
    for text in (b"{torn", b"[1]"):
        (folder.path / "status.json").write_bytes(text)
        assert job_status(job, out).state == "waiting"


@pytest.mark.parametrize("process", [None, "many", 0, -1, 1.5, True, 10**30])
def test_an_odd_process_is_not_alive(process, tmp_path):
    (job, _) = small.study(tmp_path).jobs()
    folder = JobFolder.of(tmp_path, job)
    folder.prepare(job)
    said = {"phase": "training", "share": "half", "process": process, "host": socket.gethostname()}
    (folder.path / "status.json").write_text(json.dumps(said))
    found = job_status(job, tmp_path)
    assert (found.state, found.share) == ("stopped", 0.0)
    (folder.path / "status.json").write_text(json.dumps(said | {"process": os.getpid()}))
    assert job_status(job, tmp_path).state == "running"


@pytest.mark.parametrize(
    ("share", "shown"),
    [("half", 0.0), (True, 0.0), ("NaN", 0.0), (10**400, 0.0), (7, 1.0), (-1, 0.0), (0.5, 0.5)],
)
def test_an_odd_share_is_no_share(share, shown, tmp_path):
    (job, _) = small.study(tmp_path).jobs()
    folder = JobFolder.of(tmp_path, job)
    folder.prepare(job)
    (folder.path / "status.json").write_text(json.dumps({"phase": "training", "share": share}))
    assert job_status(job, tmp_path).share == shown


def test_damaged_files_are_named(finished, tmp_path):
    study, _, _ = finished
    folder = JobFolder(tmp_path, study.measures)
    folder.result.write_bytes(b"[")
    with pytest.raises(UserError, match="Damaged"):
        folder.read_result(2)
    with pytest.raises(UserError, match="not the folder of a job"):
        read_job(tmp_path)
    (tmp_path / "job.json").write_bytes(b"{}")
    with pytest.raises(UserError, match="not a job"):
        read_job(tmp_path)


@pytest.mark.parametrize("name", ["jobs", "jobs/JOB", "jobs/JOB/run", "jobs/JOB/log.txt"])
def test_links_inside_a_study_are_refused(tmp_path, name):
    job = small.study(tmp_path).jobs()[0]
    folder = JobFolder.of(tmp_path / "study", job)
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / "study" / name.replace("JOB", job.name)
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(UserError, match="is a symbolic link") as caught:
        folder.prepare(job)
    assert str(link) in caught.value.problem
    assert not list(outside.iterdir())


# What it will cost.


def test_costs_by_hand(tmp_path):
    dir_, multi = small.study(tmp_path).jobs()
    cost = estimate([dir_, multi])
    assert cost.training_steps == 2 * 2 * 192
    # 4 conditions (nominal and three damages), 2 members × 2 episodes and 2 fresh ones, 1000 steps each
    conditions = 4
    feet = 2 * 1 * 1000 + 20  # one episode of each member, and some random states
    assert evaluation_steps(dir_, conditions, 1000) == conditions * (2 * 2 + 2) * 1000 + feet + 2 * 200
    assert cost.evaluation_steps == 2 * evaluation_steps(dir_, conditions, 1000)
    assert cost.core_seconds > 0
    assert "2 jobs to do: 768 steps of training" in cost.on(2)
    assert estimate([]).jobs == 0 and free_bytes(tmp_path / "not" / "yet") > 0


def test_the_impossible_is_told_before_anything_starts(tmp_path):
    path = small.write(tmp_path, more='[task.hopper]\nremove = ["wing.*"]\n')
    path.write_text(path.read_text().replace('tasks = ["hopper"]', 'tasks = ["hopper", "hoper"]'))
    with pytest.raises(UserError) as caught:
        estimate(read_study(path).jobs())
    assert "wing" in str(caught.value) and "'hopper'" in str(caught.value)
    assert "Nothing was started" in str(caught.value)
    wrong = small.write(tmp_path)
    wrong.write_text(wrong.read_text().replace('"damage"', '"damages"'))
    with pytest.raises(UserError, match="Did you mean 'damage'"):
        estimate(read_study(wrong).jobs())


def test_every_condition_is_tried_before_anything_starts(tmp_path):
    (tmp_path / "mine.toml").write_text('variations = ["broken-fot", "broken-foot", "wing-mass=2"]')
    path = small.write(tmp_path)
    path.write_text(path.read_text().replace('"damage"', '"mine.toml"'))
    with pytest.raises(UserError) as caught:
        estimate(read_study(path).jobs())
    told = str(caught.value).splitlines()
    assert len(told) == 3 and told[-1] == "Nothing was started."
    assert "mine.toml, hopper" in told[0] and "'broken-foot'" in told[0]
    assert "wing-mass" in told[1]


def size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_disk_is_about_right(finished, tmp_path, monkeypatch):
    _, out, _ = finished
    job = small.study(tmp_path).jobs()[0]  # the same training, one suite less
    cost = estimate([job])
    assert 1 / 2 < cost.lasting_bytes / size(JobFolder.of(out, job).path) < 2
    tiny.save_every_iteration(monkeypatch)
    begun = JobFolder.of(tmp_path, job)
    begun.prepare(job)
    with pytest.raises(tiny.Killed):
        run_job(begun.path, 1, crash_at(3))
    checkpoints = begun.run / "checkpoints"
    assert len(list(checkpoints.iterdir())) == 2
    assert 1 / 3 < cost.checkpoint_bytes / size(checkpoints) < 3
    assert cost.disk_bytes(8) == cost.lasting_bytes + cost.checkpoint_bytes  # one job never runs twice
