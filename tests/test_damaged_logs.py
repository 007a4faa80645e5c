"""Runs whose log is damaged or whose folder vanishes: named, and mended where a checkpoint allows it."""

import shutil

import pytest

import polygait as pg
from polygait.errors import UserError
from polygait.population.store import RunFolder
from tests import tiny
from tests.tiny import assert_same_run, crashed

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run left alone."""
    out = tmp_path_factory.mktemp("finished") / "run"
    tiny.train(out)
    return out


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The same run, crashed after three iterations, with checkpoints of the first two."""
    out = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        crashed(out, 3, patch, tiny.config())
    return out


@pytest.fixture
def run(stopped, tmp_path):
    shutil.copytree(stopped, tmp_path / "run")
    return tmp_path / "run"


def exchange(lines, place):
    return [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]


DAMAGES = {
    "garbage": lambda lines, place: [*lines[:place], b"garbage\n", *lines[place + 1 :]],
    "cut off": lambda lines, place: [*lines[:place], lines[place][:7]],
    "lost": lambda lines, place: lines[:place],
    "NUL": lambda lines, place: [*lines[:place], bytes(len(lines[place])), *lines[place + 1 :]],
    "order": exchange,
}


def damage(run, how, place):
    path = run / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(DAMAGES[how](lines, place)))
    return path.read_bytes()


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_log_is_mended_from_the_checkpoint_before(how, run, finished):
    damage(run, how, 1)
    with pytest.warns(UserWarning, match=r"Damaged: .*metrics\.jsonl"):
        pg.resume(run)
    assert_same_run(run, finished)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_log_that_no_checkpoint_can_mend_is_named_and_left(how, run):
    found = damage(run, how, 0)
    before = {path: path.read_bytes() for path in run.rglob("*.*") if path.is_file()}
    with pytest.raises(UserError, match=r"Damaged: .*metrics\.jsonl") as caught:
        pg.resume(run)
    assert "Restore it" in caught.value.remedy and "delete it" in caught.value.remedy
    assert {path: path.read_bytes() for path in run.rglob("*.*") if path.is_file()} == before
    assert (run / "metrics.jsonl").read_bytes() == found


def test_a_deleted_log_is_mentioned_and_begins_anew(run, finished):
    (run / "metrics.jsonl").unlink()
    with pytest.warns(UserWarning, match="is missing: the log begins anew"):
        pg.resume(run)
    assert tiny.digests(run) == tiny.digests(finished)
    assert [line["iteration"] for line in RunFolder.open(run).metrics()] == [2, 0, 1, 2]


def test_lines_whose_checkpoints_are_gone_are_not_kept_twice(run, finished):
    shutil.rmtree(run / "checkpoints")
    pg.resume(run)
    assert_same_run(run, finished)


def test_a_run_with_a_damaged_log_is_not_extended(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    damage(run, "order", 0)
    before = (run / "manifest.json").read_bytes()
    with pytest.raises(
        UserError, match=r"Damaged: lines of .*metrics\.jsonl were added, removed or exchanged"
    ):
        pg.extend(run, pg.Extension(1))
    assert (run / "manifest.json").read_bytes() == before


def test_a_run_deleted_while_it_trains_ends_with_an_error(tmp_path):
    run = tmp_path / "run"

    def delete(_):
        shutil.rmtree(run, ignore_errors=True)

    with pytest.raises(UserError, match="deleted or moved while it was being written"):
        pg.train(tiny.config(), run, delete)
    assert not run.exists()
