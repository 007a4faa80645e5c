"""The maintainers' tool that puts a run into the zoo."""

import dataclasses
import importlib.util
import shutil
from pathlib import Path

import pytest

from polygait import UserError, zoo
from polygait.population.store import RunFolder

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("zoo_script", ROOT / "scripts" / "zoo.py")
assert _spec and _spec.loader
script = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(script)


@pytest.fixture
def run(tmp_path):
    """A run with its mesh: what the zoo has of Hopper, and what lies in folders in use."""
    for file, data in zoo.packaged_files(zoo.card("hopper")).items():
        path = tmp_path / "run" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "run" / "checkpoints").mkdir()
    (tmp_path / "run" / "checkpoints" / "00000001.safetensors").write_bytes(b"x")
    (tmp_path / "run" / "report.html").write_text("x")
    return tmp_path / "run"


def test_what_was_added_can_be_added_again_and_stays_the_same(run, tmp_path):
    card = script.add(run, "hopper", tmp_path / "shelf")
    table = {"evaluations/mesh.parquet": card.files["evaluations/mesh.parquet"]}  # polars' versions differ
    known = zoo.card("hopper")
    assert card == dataclasses.replace(known, files={**known.files, **table})
    kept = {
        str(path.relative_to(tmp_path / "shelf" / "hopper")) for path in (tmp_path / "shelf").rglob("*.*")
    }
    assert kept == {zoo.CARD, *card.files}  # without checkpoints and pages


def test_only_measured_and_finished_runs_are_added(run, tmp_path):
    with pytest.raises(UserError, match="small letters"):
        script.add(run, "../Hopper", tmp_path / "shelf")
    (run / "evaluations" / "mesh.parquet").unlink()
    with pytest.raises(UserError, match="polygait evaluate"):
        script.add(run, "hopper", tmp_path / "shelf")
    folder = RunFolder.open(run)
    with folder.writing():
        folder.update_manifest({"complete": False})
    with pytest.raises(UserError, match="not finished"):
        script.add(run, "hopper", tmp_path / "shelf")
    shutil.rmtree(run)
    assert not (tmp_path / "shelf").exists()


def test_a_card_is_renewed_where_defaults_have_changed(tmp_path):
    shelf = tmp_path / "shelf"
    shutil.copytree(script.SHELF, shelf)
    assert list(script.renew(shelf)) == [], "the cards of the package say today's commands: ./dev zoo renew"
    old = dataclasses.replace(zoo.card("hopper"), command="polygait train hopper")
    (shelf / "hopper" / zoo.CARD).write_bytes(zoo.encode_card(old))
    assert list(script.renew(shelf)) == [zoo.card("hopper")]
    assert (shelf / "hopper" / zoo.CARD).read_bytes() == (script.SHELF / "hopper" / zoo.CARD).read_bytes()
