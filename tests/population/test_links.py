"""Links inside a run, folders that vanish, files of others: nothing outside the run is written or deleted."""

import shutil

import numpy as np
import pytest

from polygait.errors import UserError
from polygait.population.results import save_result
from polygait.population.store import RunFolder


@pytest.fixture
def outside(tmp_path):
    """A folder of somebody else, with names that a run uses too."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("00000007.safetensors", "000.safetensors", ".000.safetensors.tmp", "file"):
        (folder / name).write_text("precious")
    return folder


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def write_everything(run):
    with run.writing():
        run.append_metrics({"a": 1})
        run.save_member(0, {"a": np.ones(3)}, 1, {})
        run.save_checkpoint(8, {"a": np.ones(3)}, {})
        run.clear_checkpoints()
        run.update_manifest({"complete": True})


FOLDERS = ("members", "checkpoints", "evaluations", "tensorboard")
FILES = ("lock", "metrics.jsonl", "manifest.json", ".manifest.json.tmp", "members/000.safetensors")


@pytest.mark.parametrize("name", [*FOLDERS, *FILES])
def test_a_link_inside_a_run_is_named_and_nothing_is_written(run, outside, name):
    link = run.path / name
    link.parent.mkdir(exist_ok=True)
    target = outside / ("file" if name in FILES else "")
    if name == "manifest.json":
        shutil.copy(link, target)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    before = contents(outside)
    with pytest.raises(UserError, match="is a symbolic link") as caught:
        write_everything(run)
    assert str(link) in caught.value.problem and "real file or folder" in caught.value.remedy
    assert contents(outside) == before


def test_a_run_reached_through_a_link_is_as_good(run, tmp_path):
    (tmp_path / "link").symlink_to(run.path)
    write_everything(RunFolder.open(tmp_path / "link"))
    assert RunFolder.open(run.path).complete


def test_a_run_with_links_can_be_read(run, tmp_path):
    write_everything(run)
    shutil.move(run.path / "members", tmp_path / "elsewhere")
    (run.path / "members").symlink_to(tmp_path / "elsewhere")
    np.testing.assert_array_equal(RunFolder.open(run.path).load_member(0)["a"], np.ones(3))


def test_beginning_a_run_follows_no_link_out_of_the_folder(tmp_path, outside, description):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".manifest.json.tmp").symlink_to(outside / "file")
    with pytest.raises(UserError, match="Cannot write"):
        RunFolder.create(tmp_path / "run", description)
    assert (outside / "file").read_text() == "precious"


@pytest.mark.parametrize("name", ["adaptations", "adaptations/.lock", "adaptations/nominal.json"])
def test_results_follow_no_link(run, outside, name):
    link = run.path / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / ("" if name == "adaptations" else "file"))
    before = contents(outside)
    with pytest.raises(UserError, match="is a symbolic link"):
        save_result(run.path / "adaptations", "nominal", {"best": 1})
    assert contents(outside) == before


def test_files_of_others_inside_a_run_stay(run):
    (run.path / "lock").write_text("the combination is 17-4-33")
    (run.path / ".letter.txt.tmp").write_text("dear")
    write_everything(run)
    assert (run.path / "lock").read_text() == "the combination is 17-4-33"
    assert (run.path / ".letter.txt.tmp").read_text() == "dear"


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_folder_that_vanishes_while_it_is_written_is_not_made_anew(run, tmp_path, how):
    with run.writing():
        run.append_metrics({"a": 1})
        if how == "deleted":
            shutil.rmtree(run.path)
        else:
            run.path.rename(tmp_path / "moved")
        if how == "replaced":
            shutil.copytree(tmp_path / "moved", run.path)
        for write in (
            lambda: run.append_metrics({"a": 2}),
            lambda: run.save_checkpoint(1, {"a": np.ones(1)}, {}),
            lambda: run.save_member(0, {"a": np.ones(1)}, 1, {}),
            lambda: run.update_manifest({"complete": True}),
        ):
            with pytest.raises(UserError, match="deleted or moved") as caught:
                write()
            assert str(run.path) in caught.value.problem
    assert run.path.exists() == (how == "replaced")
    if how != "deleted":
        assert RunFolder.open(tmp_path / "moved").metrics() == [{"a": 1}]
