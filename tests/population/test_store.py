"""The run folder in one process: what is written is read, what cannot be is explained."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import polygait.population.manifest as manifest_module
import polygait.population.store as store_module
from polygait.errors import UserError
from polygait.population.store import RunFolder
from polygait.storage.files import write_atomically


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name


def test_create_then_open(run, description):
    opened = RunFolder.open(run.path)
    assert {name: opened.manifest[name] for name in description} == description
    assert opened.members == {} and not opened.complete
    assert opened.load_checkpoint() is None and opened.metrics() == []
    assert sorted(path.name for path in run.path.iterdir()) == ["lock", "manifest.json"]


def test_create_makes_parents(tmp_path, description):
    RunFolder.create(tmp_path / "a" / "b" / "run", description)
    assert (tmp_path / "a" / "b" / "run" / "manifest.json").exists()


def test_create_refuses_a_run_a_foreign_folder_and_a_file(run, tmp_path, description):
    with pytest.raises(UserError, match=r"already") as caught:
        RunFolder.create(run.path, description)
    assert f"polygait resume {run.path}" in caught.value.remedy and "--out" in caught.value.remedy
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match=r"not empty \('thesis.tex'\)"):
        RunFolder.create(foreign, description)
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]
    with pytest.raises(UserError, match="it is a file"):
        RunFolder.create(foreign / "thesis.tex", description)
    with pytest.raises(UserError, match="Cannot write"):
        RunFolder.create(foreign / "thesis.tex" / "run", description)


def test_create_goes_on_where_a_killed_create_stopped(tmp_path, description):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").write_text("1 nowhere\n")
    (tmp_path / "run" / ".manifest.json.tmp").write_text("{")
    run = RunFolder.create(tmp_path / "run", description)
    with run.writing():
        assert not (run.path / ".manifest.json.tmp").exists()


def test_create_requires_a_whole_description(tmp_path, description):
    del description["filter"]
    with pytest.raises(UserError, match="filter is missing"):
        RunFolder.create(tmp_path / "run", description)
    with pytest.raises(UserError, match="keeps members"):
        RunFolder.create(tmp_path / "run", description | {"members": []})
    assert not (tmp_path / "run").exists()


def test_open_explains_what_is_no_run(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        RunFolder.open(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"has no manifest\.json"):
        RunFolder.open(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="it is a file"):
        RunFolder.open(tmp_path / "file")


def test_an_older_format_is_migrated(run, monkeypatch):
    def rename_task(old):
        return old | {"task": old["task"].upper()}

    monkeypatch.setattr(manifest_module, "FORMAT", 3)
    monkeypatch.setitem(manifest_module.MIGRATIONS, 2, rename_task)
    opened = RunFolder.open(run.path)
    assert opened.manifest["task"] == "WALKER"
    with opened.writing():
        opened.update_manifest({"complete": True})
    assert RunFolder.open(run.path).manifest["task"] == "WALKER"
    monkeypatch.setattr(manifest_module, "FORMAT", 2)
    with pytest.raises(UserError, match=r"newer polygait \(format 3, this one reads up to 2\)") as caught:
        RunFolder.open(run.path)
    assert "Upgrade" in caught.value.remedy


def test_update_manifest(run):
    with run.writing():
        run.update_manifest({"complete": True, "seeds": [1, 2]})
        with pytest.raises(UserError, match="keeps created"):
            run.update_manifest({"created": "today"})
        with pytest.raises(UserError, match="complete must be bool"):
            run.update_manifest({"complete": 1})
    opened = RunFolder.open(run.path)
    assert opened.complete and opened.manifest["seeds"] == [1, 2]


def test_a_writer_sees_what_another_wrote_before_it(run):
    other = RunFolder.open(run.path)
    with other.writing():
        other.update_manifest({"seeds": 5})
    with run.writing():
        run.update_manifest({"complete": True})
    assert RunFolder.open(run.path).manifest["seeds"] == 5


def test_members_round_trip(run, tensors):
    with run.writing():
        run.save_member(0, tensors, 1000, {"return": np.float32(2.5), "worst": float("-inf")})
        run.save_member(12, {}, 0, {})
    opened = RunFolder.open(run.path)
    assert_same(opened.load_member(0), tensors)
    assert opened.load_member(12) == {}
    assert opened.members[0].summary == {"return": 2.5, "worst": float("-inf")}
    assert (opened.members[0].steps, opened.members[0].file) == (1000, "members/000.safetensors")
    with pytest.raises(UserError, match="no member 3") as caught:
        opened.load_member(3)
    assert "0, 12" in caught.value.remedy


def test_a_member_saved_again_replaces_the_first(run):
    with run.writing():
        for value in (1.0, 2.0, 2.0, 3.0, 1.0):
            run.save_member(0, {"a": np.array(value)}, int(value), {})
            assert RunFolder.open(run.path).load_member(0)["a"] == value
            assert len(list((run.path / "members").iterdir())) == 1


def test_a_member_file_that_no_manifest_lists_is_ignored_and_overwritten(run, tensors):
    (run.path / "members").mkdir()
    (run.path / "members" / "000.safetensors").write_bytes(b"torn")
    assert RunFolder.open(run.path).members == {}
    with run.writing():
        run.save_member(0, tensors, 1, {})
    assert_same(run.load_member(0), tensors)


def test_stopping_between_a_members_file_and_the_manifest_keeps_the_old_member(run, monkeypatch):
    with run.writing():
        run.save_member(0, {"a": np.array(1.0)}, 1, {})
        monkeypatch.setattr(run, "_write_manifest", lambda manifest: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run.save_member(0, {"a": np.array(2.0)}, 2, {})
    assert RunFolder.open(run.path).load_member(0)["a"] == 1.0


def test_damage_to_a_member_is_named_and_the_others_stay(run, tensors):
    with run.writing():
        for index in range(4):
            run.save_member(index, tensors, 1, {})
    files = [run.path / run.members[index].file for index in range(4)]
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-1])
    files[2].write_bytes(files[2].read_bytes()[:-1] + b"?")
    for index, word in enumerate(["missing", "truncated", "altered"]):
        with pytest.raises(UserError, match=word) as caught:
            run.load_member(index)
        assert str(files[index]) in caught.value.problem
    assert_same(run.load_member(3), tensors)
    files[3].write_bytes(files[3].read_bytes() + b" ")
    with pytest.raises(UserError, match="altered"):
        run.load_member(3)


def test_equal_arrays_give_equal_bytes_in_any_order(run, tensors):
    with run.writing():
        run.save_member(0, tensors, 1, {})
        run.save_member(1, dict(reversed(tensors.items())), 1, {})
        names = ["00000001", "00000002"]
        contents = []
        for _ in range(2):
            run.save_checkpoint(1, tensors, {"b": 1, "a": 2})
            contents.append((run.path / "checkpoints" / f"{names[0]}.safetensors").read_bytes())
    assert run.members[0].sha256 == run.members[1].sha256
    assert contents[0] == contents[1]


def test_arrays_that_are_not_contiguous_are_stored_right(run):
    grid = np.arange(12.0).reshape(3, 4)
    odd = {"transposed": grid.T, "strided": grid[:, ::2], "reversed": grid[::-1]}
    with run.writing():
        run.save_checkpoint(1, odd, {})
        run.save_member(0, odd, 1, {})
    for loaded in (run.load_checkpoint().tensors, run.load_member(0)):
        for name, array in odd.items():
            np.testing.assert_array_equal(loaded[name], array)


@pytest.mark.parametrize("dtype", ["complex128", "U3", "object", "bfloat16", ">f8"])
def test_arrays_that_could_not_be_read_back_are_refused(run, dtype):
    jax_numpy = pytest.importorskip("jax.numpy")
    array = np.zeros(2, jax_numpy.bfloat16 if dtype == "bfloat16" else dtype)
    with run.writing(), pytest.raises(UserError, match=r"Cannot store .* 'a'"):
        run.save_member(0, {"a": array}, 1, {})
    with run.writing(), pytest.raises(UserError, match=r"Cannot store .* 'a'"):
        run.save_checkpoint(0, {"a": array}, {})
    with run.writing(), pytest.raises(UserError, match="__metadata__"):
        run.save_member(0, {"__metadata__": np.zeros(1)}, 1, {})


def test_checkpoints_round_trip_and_the_newest_two_stay(run, tensors):
    with run.writing():
        for iteration in (5, 10, 99_999_999, 100_000_000):
            run.save_checkpoint(iteration, tensors, {"iteration": iteration, "best": float("nan")})
    kept = sorted(path.name for path in (run.path / "checkpoints").iterdir())
    assert kept == ["100000000.safetensors", "99999999.safetensors"]
    checkpoint = RunFolder.open(run.path).load_checkpoint()
    assert checkpoint is not None
    assert checkpoint.iteration == checkpoint.metadata["iteration"] == 100_000_000
    assert np.isnan(checkpoint.metadata["best"]) and checkpoint.skipped == ()
    assert_same(checkpoint.tensors, tensors)
    assert_same(safetensors.numpy.load_file(run.path / "checkpoints" / kept[0]), tensors)
    with run.writing():
        run.clear_checkpoints()
    assert run.load_checkpoint() is None


def test_a_damaged_checkpoint_is_named_and_the_one_before_used(run, tensors):
    with run.writing():
        run.save_checkpoint(10, tensors, {})
        run.save_checkpoint(20, tensors, {})
    newest = run.path / "checkpoints" / "00000020.safetensors"
    newest.write_bytes(newest.read_bytes()[:-3])
    checkpoint = run.load_checkpoint()
    assert checkpoint.iteration == 10
    assert len(checkpoint.skipped) == 1 and str(newest) in checkpoint.skipped[0]
    with run.writing():
        run.save_checkpoint(15, tensors, {})
    assert run.load_checkpoint().iteration == 15 and run.load_checkpoint().skipped == ()
    for path in (run.path / "checkpoints").iterdir():
        path.write_bytes(b"")
    with pytest.raises(UserError, match="No checkpoint can be read") as caught:
        run.load_checkpoint()
    assert "00000010" in caught.value.problem and "00000015" in caught.value.problem


def test_a_renamed_checkpoint_is_not_believed(run, tensors):
    with run.writing():
        run.save_checkpoint(10, tensors, {})
    folder = run.path / "checkpoints"
    (folder / "00000010.safetensors").rename(folder / "00000011.safetensors")
    with pytest.raises(UserError, match="altered"):
        run.load_checkpoint()


def test_an_unreadable_checkpoint_folder_is_not_taken_for_an_empty_one(run):
    (run.path / "checkpoints").write_text("a file")
    with pytest.raises(UserError, match="Cannot read"):
        run.load_checkpoint()


def test_an_interrupt_after_the_manifest_was_replaced_loses_no_member(run, tensors, monkeypatch):
    def interrupted(path, data):
        write_atomically(path, data)
        if path.name == "manifest.json":
            raise KeyboardInterrupt

    with run.writing():
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(store_module, "write_atomically", interrupted)
            run.save_member(0, tensors, 1, {})
        run.update_manifest({"complete": True})
    assert list(RunFolder.open(run.path).members) == [0]


def test_other_files_among_the_checkpoints_are_left_alone(run, tensors):
    (run.path / "checkpoints").mkdir()
    for name in ("mine", "000000001"):
        (run.path / "checkpoints" / f"{name}.safetensors").write_bytes(b"notes")
    with run.writing():
        run.save_checkpoint(1, tensors, {})
        assert run.load_checkpoint().skipped == ()
        run.clear_checkpoints()
    assert len(list((run.path / "checkpoints").iterdir())) == 2


def test_writing_needs_the_lock(run, tensors):
    for attempt in (
        lambda: run.save_member(0, tensors, 1, {}),
        lambda: run.save_checkpoint(1, tensors, {}),
        run.clear_checkpoints,
        lambda: run.update_manifest({"complete": True}),
        lambda: run.append_metrics({}),
        run.sync_metrics,
        lambda: run.truncate_metrics(0),
    ):
        with pytest.raises(RuntimeError, match=r"with run\.writing\(\)"):
            attempt()


def test_leftover_temporary_files_are_removed(run):
    for folder in (run.path, run.path / "members", run.path / "checkpoints"):
        folder.mkdir(exist_ok=True)
        (folder / ".000.safetensors.tmp").write_bytes(b"half")
    with run.writing():
        assert not list(run.path.rglob("*.tmp"))


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_files_have_ordinary_modes(tmp_path, description, tensors, umask):
    before = os.umask(umask)
    try:
        run = RunFolder.create(tmp_path / "run", description)
        with run.writing():
            run.save_member(0, tensors, 1, {})
            run.save_checkpoint(1, tensors, {})
            run.append_metrics({"a": 1})
    finally:
        os.umask(before)
    files = [path for path in run.path.rglob("*") if path.is_file()]
    assert len(files) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o666 & ~umask}


def test_a_path_may_be_text_and_relative(tmp_path, description, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RunFolder.create("runs/a", description)
    assert RunFolder.open("runs/a").path == Path("runs/a")
