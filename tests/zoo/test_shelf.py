"""The zoo: whole populations in the package, copies that can be written, damage that is named."""

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polygait as pg
from polygait import UserError, cli, zoo
from polygait.population.store import RunFolder
from polygait.zoo import shelf
from polygait.zoo.cards import decode_card

SHELF = Path(shelf.__file__).parent / "populations"


@pytest.fixture
def own_shelf(tmp_path, monkeypatch):
    """A shelf with one population that a test may damage."""
    shutil.copytree(SHELF / "hopper", tmp_path / "shelf" / "hopper")
    monkeypatch.setattr(shelf, "_shelf", lambda: tmp_path / "shelf")
    return tmp_path / "shelf"


def said(action, *arguments, **options) -> str:
    with pytest.raises(UserError) as error:
        action(*arguments, **options)
    return str(error.value)


@pytest.mark.parametrize("name", zoo.names())
def test_every_population_is_whole_and_its_card_says_what_was_measured(name):
    card = zoo.card(name)
    files = zoo.packaged_files(card)
    kept = {str(path.relative_to(SHELF / name)) for path in (SHELF / name).rglob("*") if path.is_file()}
    assert set(files) | {zoo.CARD} == kept
    frame = pl.read_parquet(files["evaluations/mesh.parquet"])
    nominal = frame.filter(variation="nominal")
    assert len(nominal) == card.members and name.split("-")[0] == card.robot
    assert card.best_return == pytest.approx(nominal["mean_return"].max())
    assert card.mean_speed == pytest.approx(nominal["mean_speed"].mean())
    assert frame["world"].n_unique() == card.conditions + 1 and set(frame["episodes"]) == {card.episodes}
    assert 0 < card.single_survival <= card.chosen_survival <= 1
    assert max(map(len, (data for file, data in files.items() if file.startswith("members/")))) < 250_000


def test_a_card_counts_specialists_apart(monkeypatch, capsys):
    card = zoo.card("walker-specialists")
    assert (card.members, card.specialists, card.specialist_steps) == (17, 15, 200_000)
    assert decode_card(zoo.encode_card(card)) == card
    assert "2 × 1M, 15 × 200k" in called("zoo", monkeypatch, capsys)
    assert "15 specialists" in called("zoo walker-specialists", monkeypatch, capsys)
    assert "specialists" not in zoo.card("hopper").to_json()


def test_a_population_of_the_zoo_is_loaded_like_any_other(home):
    population = pg.load("zoo:hopper")
    assert len(population) == zoo.card("hopper").members
    assert population.path.is_relative_to(home) and zoo.spoken(population.path) == "zoo:hopper"
    assert np.isfinite(population.act(np.zeros((2, population.layout.size)), member=0)).all()
    assert pg.load(population.path).weights(0) == population.weights(0)
    assert zoo.spoken("runs/hopper-000000000000") == "runs/hopper-000000000000"


@pytest.mark.slow
def test_the_package_stays_as_it_was_and_results_are_kept(home):
    before = {path: path.stat().st_mtime_ns for path in SHELF.rglob("*")}
    population = pg.load("zoo:hopper")
    pg.evaluate(population, suite="nominal", episodes=1)
    assert before == {path: path.stat().st_mtime_ns for path in SHELF.rglob("*")}
    assert (pg.load("zoo:hopper").path / "evaluations" / "nominal.parquet").exists()


def test_an_unknown_name_lists_those_that_there_are():
    told = said(pg.load, "zoo:whale")
    assert "'whale'" in told and all(name in told for name in zoo.names())


@pytest.mark.parametrize("file", ["members/001.safetensors", "manifest.json", "evaluations/mesh.parquet"])
def test_a_damaged_file_of_the_package_is_named(own_shelf, home, file):
    data = bytearray((own_shelf / "hopper" / file).read_bytes())
    data[len(data) // 2] ^= 1
    (own_shelf / "hopper" / file).write_bytes(data)
    told = said(pg.load, "zoo:hopper")
    assert file in told and "checksum" in told and "pip install" in told
    assert not list(home.rglob("manifest.json"))
    (own_shelf / "hopper" / file).unlink()
    assert "No such file" in said(pg.load, "zoo:hopper")


def test_a_card_that_was_altered_is_not_believed(own_shelf):
    path = own_shelf / "hopper" / zoo.CARD
    plain = json.loads(path.read_text())
    path.write_text(json.dumps(plain | {"chosen_survival": 1.0}))
    assert "checksum" in said(zoo.card, "hopper")
    path.write_text(json.dumps({name: plain[name] for name in plain if name != "licence"}))
    assert "fields of a card" in said(zoo.card, "hopper")
    for text in ("{", "[]", '{"format": 99}', ""):
        path.write_text(text)
        assert "Damaged" in said(zoo.card, "hopper")


def test_a_copy_that_was_altered_is_named_and_can_be_made_anew(home):
    folder = zoo.own_copy("zoo:hopper")
    (folder / "members" / "000.safetensors").write_bytes(b"")
    told = said(pg.load, "zoo:hopper")
    assert "000.safetensors" in told and f"Delete the folder {folder}" in told
    shutil.rmtree(folder)
    assert len(pg.load("zoo:hopper")) == zoo.card("hopper").members


def test_a_copy_that_was_interrupted_is_made_to_its_end(home, monkeypatch):
    write = shelf.write_atomically

    def until_the_manifest(path, data, afterwards):
        if path.name == "manifest.json":
            raise KeyboardInterrupt
        write(path, data, afterwards)

    with monkeypatch.context() as patch:
        patch.setattr(shelf, "write_atomically", until_the_manifest)
        with pytest.raises(KeyboardInterrupt):
            zoo.own_copy("hopper")
    assert RunFolder.open(zoo.own_copy("hopper")).complete


def test_several_ask_at_once(home):
    """The lock belongs to an open file, so threads meet it as processes do."""
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(zoo.own_copy, ["hopper"] * 8))
    assert len(set(folders)) == 1 and RunFolder.open(folders[0]).complete


def test_where_nothing_can_be_written_another_home_is_asked_for(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYGAIT_HOME", str(tmp_path / "file"))
    told = said(pg.load, "zoo:hopper")
    assert "Cannot write" in told and "POLYGAIT_HOME=" in told


def test_homes_follow_the_users_wishes(monkeypatch):
    for name in ("POLYGAIT_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert shelf._copies() == Path("/home/somebody/.local/share/polygait/zoo")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")  # which the standard says to ignore
    assert shelf._copies() == Path("/home/somebody/.local/share/polygait/zoo")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert shelf._copies() == Path("/data/polygait/zoo")


def test_the_zoo_cannot_be_trained_into_or_extended(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "stays as it is" in said(pg.train, "hopper", out="zoo:mine", members=1, steps=64)
    assert "stays as it is" in said(pg.finetune, "zoo:hopper", "broken-leg", "zoo:mine", member="0", steps=64)
    for run in ("zoo:hopper", zoo.own_copy("hopper")):
        assert "polygait zoo hopper --copy" in said(pg.extend, run, 1)
    assert not (tmp_path / "zoo:mine").exists()


def called(words, monkeypatch, capsys) -> str:
    monkeypatch.setattr(sys, "argv", ["polygait", *words.split()])
    cli.main()
    return capsys.readouterr().out


def test_the_command(home, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    listed = called("zoo", monkeypatch, capsys)
    assert all(f"zoo:{name}" in listed for name in zoo.names())
    card = zoo.card("hopper")
    shown = called("zoo hopper", monkeypatch, capsys)
    assert card.command in shown and f"{100 * card.chosen_survival:.0f} %" in shown and card.licence in shown
    assert json.loads(called("zoo hopper --json", monkeypatch, capsys)) == card.to_json()
    assert [one["name"] for one in json.loads(called("zoo --json", monkeypatch, capsys))] == zoo.names()
    assert "polygait extend mine" in called("zoo hopper --copy mine", monkeypatch, capsys)
    assert pg.load("mine").weights(0) == pg.load("zoo:hopper").weights(0)
    assert "already finished" in called("resume zoo:hopper", monkeypatch, capsys)


def test_a_copy_of_ones_own_can_be_extended(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    called("zoo hopper --copy mine", monkeypatch, capsys)
    run = RunFolder.open("mine")
    with run.writing():
        run.rewind_metrics()  # the log is as the manifest remembers it
    assert run.metrics()
