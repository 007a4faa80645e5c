"""A job's folder on its way: whole, only what changed, never outside, and resumable however it is cut."""

import shutil

import pytest
from tests import tiny

import polygait as pg
from polygait.errors import UserError
from polygait.study import mirror
from polygait.study.mirror import Copy, copy_of, put_down


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def fill(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def copied(folder, known=None):
    found = copy_of(folder, known or {})
    assert found is not None
    return found


def test_a_copy_is_whole_and_then_only_what_changed(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    fill(here, job="1", run__manifest="2", run__checkpoints__a="3", lock="me")
    first = copied(here)
    put_down(there, first.copy)
    assert tree(there) == tree(here) and "lock" not in first.copy.names
    fill(here, run__checkpoints__b="4", run__manifest="22")
    (here / "run/checkpoints/a").unlink()
    second = copied(here, first.stamps)
    assert set(second.copy.changed) == {"run/checkpoints/b", "run/manifest"}
    fill(there, lock="another")
    fill(there, notes="a stranger's")
    put_down(there, second.copy, first.copy.names)
    assert tree(there) == tree(here) | {"notes": b"a stranger's"}
    assert (there / "lock").read_text() == "another"
    assert not copied(here, second.stamps).copy.changed


def test_nothing_is_there_before_the_first_time(tmp_path):
    assert copied(tmp_path / "nowhere").copy == Copy({}, ())


def test_half_written_files_stay_behind(tmp_path):
    fill(tmp_path / "here", **{"run__.manifest.json.tmp": "torn", "job": "1"})
    assert copied(tmp_path / "here").copy.names == ("job",)


def test_a_folder_that_changes_too_fast_is_copied_later(tmp_path, monkeypatch):
    fill(tmp_path, run__manifest="1", **{"status.json": "0"})
    look, count = mirror.stamps, 0

    def busy(folder, name):
        nonlocal count
        count += 1
        (folder / name).write_text("x" * count)
        return look(folder)

    monkeypatch.setattr(mirror, "stamps", lambda folder: busy(folder, "run/manifest"))
    assert copy_of(tmp_path, {}) is None
    monkeypatch.setattr(mirror, "stamps", lambda folder: busy(folder, "status.json"))
    assert copy_of(tmp_path, {}) is not None


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "run/../../outside", ""])
def test_nothing_is_written_outside(name, tmp_path):
    for copy in (Copy({name: b"x"}, ("job",)), Copy({}, (name,))):
        with pytest.raises(UserError, match="Do not trust"):
            put_down(tmp_path / "inside", copy)
    assert not list(tmp_path.rglob("outside"))


def test_a_copy_is_put_down_behind_no_link(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "run").symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="is a symbolic link"):
        put_down(tmp_path / "inside", Copy({"run/manifest.json": b"x"}, ("run/manifest.json",)))
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("quick_compilation")
def test_training_goes_on_from_a_copy_cut_at_any_place(tmp_path, monkeypatch):
    """Copies of a run before and after its second member began, the second put down only in part."""
    tiny.train(tmp_path / "alone")
    here = tmp_path / "here"
    wanted = tiny.config()
    tiny.crashed(here / "run", 2, monkeypatch, wanted)
    first = copied(here)
    with pytest.raises(tiny.Killed):
        pg.resume(here / "run", report=tiny.crash_at(3))
    second = copied(here, first.stamps)
    changed = sorted(second.copy.changed, key=mirror._rank)
    assert {name.split("/")[1] for name in changed} >= {"members", "manifest.json", "checkpoints"}
    for count in range(len(changed) + 1):
        there = tmp_path / f"there-{count}"
        put_down(there, first.copy)
        part = {name: second.copy.changed[name] for name in changed[:count]}
        everything = (*first.copy.names, *part)  # deleting comes last
        put_down(there, Copy(part, everything), first.copy.names)
        pg.resume(there / "run")
        tiny.assert_same_run(there / "run", tmp_path / "alone")
        shutil.rmtree(there)
