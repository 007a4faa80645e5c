"""Results and jobs from anywhere: what is wrong is named, the rest of a study is reported."""

import copy
import json
import random
from typing import Any

import pytest
from tests.report.study.test_report import result
from tests.study import small

from polygait.errors import UserError
from polygait.report.study.page import study_gaps, write_study_page
from polygait.report.study.report import write_report
from polygait.storage.strict_json import canonical, to_plain
from polygait.study.checking import check_result
from polygait.study.jobs import JobFolder, read_job
from polygait.study.results import read_results
from polygait.study.study_paths import locate


def at(data, path):
    for step in path[:-1]:
        data = data[step]
    return data


def changed(path, value):
    """A good result with one value replaced."""
    data = result()
    at(data, path)[path[-1]] = value
    return data


def without(*path):
    data = result()
    del at(data, path)[path[-1]]
    return data


def mesh(**other):
    """One member in one condition of the mesh."""
    return {
        "condition": ["gravity=1.4"],
        "variation": ["gravity=1.4"],
        "world": ["gravity=1.4"],
        "member": [0],
        "mean_return": [1.0],
        "falls": [0.0],
        "mean_speed": [0.1],
        "seconds": [8.0],
        "returns": [[1.0, 1.0]],
        "progress": [[0.8, 0.8]],
    } | other


UNFIT = {
    "it must be an object, got \\[\\]": [],
    "it must be an object, got 'text'": "text",
    "versions: missing": without("versions"),
    "returns, curves: missing": {
        name: one for name, one in result().items() if name not in ("returns", "curves")
    },
    "returns must be an object": changed(["returns"], [1, 2]),
    "returns.scale is missing": without("returns", "scale"),
    "returns.condition must be a list, got 3": changed(["returns", "condition"], 3),
    "returns.member must have 6 entries, got 1": changed(["returns", "member"], [0]),
    r"returns.mean_return\[2\] must be a number, got 'much'": changed(["returns", "mean_return", 2], "much"),
    r"returns.mean_return\[0\] must be a number, got None": changed(["returns", "mean_return", 0], None),
    r"returns.member\[1\] must be a whole number, got True": changed(["returns", "member", 1], True),
    r"returns.member\[1\] must be a whole number, got 1000": changed(["returns", "member", 1], 10**30),
    "returns names member 7; the job has 2": changed(["returns", "member", 1], 7),
    "members in 'nominal' equally often": changed(["returns", "member", 1], 0),
    "members in 'broken-leg=2' equally often": changed(["returns", "scale", 2], 2),
    r"curves.steps\[0\] must be a whole number, got 1.5": changed(["curves", "steps", 0], 1.5),
    "held_out must be an object": changed(["held_out"], "none"),
    "diversity must be a number, got 'many'": changed(["diversity"], "many"),
    "variance must be an object, got 2": changed(["variance"], 2),
    "variance.freed is missing": {**result(), "variance": {"part": ["torso"], "share": [None]}},
    r"variance.share\[0\] must be a number or null, got 'all'": {
        **result(),
        "variance": {"part": ["torso"], "share": ["all"], "freed": [0.0]},
    },
    "contacts must be an object, got 1": changed(["contacts"], 1),
    "contacts.feet must be a list": changed(["contacts", "feet"], "foot"),
    "contacts.feet must name each foot once": changed(["contacts", "feet"], ["foot", "foot"]),
    "contacts.down must have 2 entries, got 1": changed(["contacts", "down"], [[[0.5]]]),
    r"contacts.down\[1\]\[0\] must have 1 entries, got 2": changed(["contacts", "down", 1, 0], [0.5, 0.5]),
    r"contacts.down\[0\]\[0\] must be a list, got 0.5": changed(["contacts", "down", 0], [0.5]),
    "patterns must be an object, got None": changed(["patterns"], None),
    "patterns.time_step must be a number or null": changed(["patterns", "time_step"], "1"),
    r"patterns.down\[0\] must hold texts of 0 and 1": changed(["patterns", "down", 0], ["01x"]),
    "mesh must be an object, got 3": changed(["mesh"], 3),
    r"mesh.returns\[0\] must be a list, got 1.0": {**result(), "mesh": mesh(returns=[1.0])},
    r"mesh.progress\[0\] must have 2 entries, got 1": {**result(), "mesh": mesh(progress=[[1.0]])},
    "must both be known or unknown": {**result(), "mesh": mesh(progress=[None])},
    "mesh episodes of row 0 must be a number, got 'far'": {**result(), "mesh": mesh(progress=[[1.0, "far"]])},
    "mesh names member 9; the job has 2": {**result(), "mesh": mesh(member=[9])},
    r"unforeseen.returns\[0\] must be a list": {**result(), "unforeseen": mesh(returns=[1.0])},
    r"returns.mean_speed\[0\] must be a number or null, got 'fast'": changed(
        ["returns", "mean_speed"], ["fast"] * 6
    ),
    "versions must be an object": changed(["versions"], ["0.1.0"]),
    "versions.polygait must be a text, got 1": changed(["versions", "polygait"], 1),
}


@pytest.mark.parametrize(("told", "unfit"), UNFIT.items(), ids=UNFIT)
def test_a_result_that_is_none_is_explained(told, unfit):
    check_result(result(), 2)
    check_result(result() | {"mesh": mesh()}, 2)
    with pytest.raises(ValueError, match=told):
        check_result(unfit, 2)


@pytest.fixture
def study(tmp_path):
    """A folder with two finished jobs."""
    wanted = small.study(tmp_path)
    folder = tmp_path / "study"
    for job in wanted.jobs():
        home = JobFolder.of(folder, job)
        home.prepare(job)
        home.result.write_bytes(canonical(to_plain(result())))
    return wanted, folder


@pytest.mark.parametrize("content", [b"[]", b"{", b"{}", b"\xff", None], ids=repr)
def test_a_damaged_result_is_named_and_the_others_are_reported(study, content, tmp_path):
    wanted, folder = study
    damaged = JobFolder.of(folder, wanted.jobs()[1]).result
    damaged.unlink()
    damaged.mkdir() if content is None else damaged.write_bytes(content)
    with pytest.warns(UserWarning, match="Left out: ") as caught:
        results = read_results(wanted.jobs(), folder)
    assert str(damaged) in str(caught[0].message) and "run the study again" in str(caught[0].message)
    assert (results.done, results.jobs, len(results.damaged)) == (1, 2, 1)
    assert set(results.returns["method"]) == {"dir"}
    write_report(wanted, results, tmp_path / "report", charts=False)
    assert damaged.name in (tmp_path / "report" / "report.html").read_text()
    assert [gap.what for gap in study_gaps(wanted, results, {"some": 1})] == ["A population cannot be shown"]


def nodes(data, path=()):
    """The places of all values inside."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in inner:
        yield (*path, name)
        yield from nodes(value, (*path, name))


JUNK = [None, True, 0, -1, 1.5, "", "text", [], [[]], {}, {"a": 1}, 10**30, "NaN", "0" * 10]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Left out")
def test_whatever_a_result_holds_nothing_but_its_job_is_lost(study, tmp_path):
    wanted, folder = study
    job = wanted.jobs()[1]
    chance = random.Random(0)
    places, reported = sorted(nodes(result()), key=str), 0
    for _ in range(60):
        data: Any = result()
        place = chance.choice(places)
        at(data, place)[place[-1]] = copy.deepcopy(chance.choice(JUNK))
        JobFolder.of(folder, job).result.write_text(json.dumps(data))
        results = read_results(wanted.jobs(), folder)
        assert results.done + len(results.damaged) == 2 and results.done > 0
        if not results.damaged and reported < 3:
            reported += 1
            write_report(wanted, results, tmp_path / "report", charts=False)
    assert reported == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Left out")
def test_whatever_a_job_says_the_others_are_found(study):
    wanted, folder = study
    file = JobFolder.of(folder, wanted.jobs()[0]).path / "job.json"
    good = json.loads(file.read_text())
    chance = random.Random(0)
    for place in sorted(nodes(good), key=str):
        for junk in chance.sample(JUNK, 3):
            data = copy.deepcopy(good)
            at(data, place)[place[-1]] = copy.deepcopy(junk)
            file.write_text(json.dumps(data))
            try:
                read_job(file.parent)
            except UserError as error:
                assert str(file) in str(error)
                found = locate(folder)
                assert [job.run.method for job in found.jobs] == ["multi"] and len(found.damaged) == 1


@pytest.mark.parametrize("content", [b"[]", b"{", b'{"config": []}', b"null", b"[" * 10_000], ids=repr)
def test_a_damaged_job_is_named_and_the_others_are_reported(study, content, tmp_path):
    wanted, folder = study
    file = JobFolder.of(folder, wanted.jobs()[0]).path / "job.json"
    file.write_bytes(content)
    found = locate(folder)
    assert [job.run.method for job in found.jobs] == ["multi"] and len(found.damaged) == 1
    assert str(file) in found.damaged[0] and "polygait study report" in found.damaged[0]
    for other in wanted.jobs():
        (JobFolder.of(folder, other).path / "job.json").write_bytes(content)
    with pytest.raises(UserError, match="no job that can be read") as caught:
        write_study_page(folder)
    assert "job.json" in str(caught.value)


def test_jobs_of_one_method_that_trained_differently_are_of_two_studies(tmp_path):
    folder = tmp_path / "study"
    for wanted in (small.study(tmp_path, seeds=[0]), small.study(tmp_path, seeds=[1], steps=64 * 5)):
        for job in wanted.jobs():
            JobFolder.of(folder, job).prepare(job)
    with pytest.raises(UserError, match="more than one study"):
        locate(folder)


def test_jobs_of_two_tasks_may_be_measured_differently(tmp_path):
    own = "[task.walker.measure]\nepisodes = 5\n"
    wanted = small.study(tmp_path, tasks=["hopper", "walker"], more=own)
    folder = tmp_path / "study"
    for job in wanted.jobs():
        JobFolder.of(folder, job).prepare(job)
    found = locate(folder).study
    assert [found.measures_of(task).episodes for task in ("hopper", "walker")] == [2, 5]
    for job in small.study(tmp_path, tasks=["walker"], seeds=[1]).jobs():
        JobFolder.of(folder, job).prepare(job)
    with pytest.raises(UserError, match="more than one study"):
        locate(folder)
