"""A study's report: its files and its page, with whatever there is."""

import dataclasses
import json
import re
import shutil
import sys

import polars as pl
import pytest
from tests.report.run.test_page import own_text
from tests.report.study.made_up import made_up
from tests.study import small

import polygait as pg
from polygait import cli
from polygait.config import ReportConfig
from polygait.errors import UserError
from polygait.report.pictures.scene import require_drawable
from polygait.report.study.contents import study_figures, study_sources
from polygait.report.study.page import caption, study_page, write_study_page
from polygait.report.study.report import write_report
from polygait.report.study.sources import published
from polygait.report.study.tables import all_tables, damage_table, diversity_table
from polygait.report.study.trained import told_effort, trained_table
from polygait.resolving import resolve
from polygait.storage.strict_json import canonical, to_plain
from polygait.study.grid import read_study
from polygait.study.jobs import JobFolder
from polygait.study.kept import read_kept
from polygait.study.results import read_results
from polygait.study.study_paths import is_study, locate, report_folder
from polygait.tasks.schedule import of_kind, schedule
from polygait.variations import ModelChange, parse_variation


def test_a_report_has_tables_figures_and_a_page(tmp_path):
    study = read_study(small.write(tmp_path))
    report = write_report(study, made_up(), tmp_path / "report", charts=False)
    page = (tmp_path / "report" / "report.md").read_text()
    assert (
        "1 of 2 jobs" in page
        and "mujoco 4.0.0 and 4.0.1 (jobs differ in mujoco: they are not of one kind)" in page
    )
    assert "**Adaptation under component damage**" in page
    damage = (tmp_path / "report" / "tables" / "damage.txt").read_text()
    assert (
        "ours, 1 seed" in damage
        and "200.0\n" in damage
        and "200.0 ±" not in damage
        and "1341.9 ± 409.6" in damage
    )
    assert not report.figures and all(file.exists() for file in report.files)
    numbers = pl.read_csv(tmp_path / "report" / "results.csv")
    assert numbers.columns[:7] == ["task", "method", "seed", "member", "condition", "scale", "episodes"]
    fresh = numbers.filter(episodes="fresh")
    assert len(numbers) == 6 + 3 and set(fresh["member"]) == {1} and set(fresh["mean_return"]) == {200.0}
    html = own_text(tmp_path / "report" / "report.html")
    assert "There are no figures" in html and "1 of 2 populations are not there" in html


def test_a_report_is_made_again_from_its_own_data(tmp_path, monkeypatch, capsys):
    own = '[method.dir]\nsettings = ["dir.epochs=2"]\n[task.hopper.measure]\nepisodes = 7\n'
    study = read_study(small.write(tmp_path, more=own))
    whole, again = tmp_path / "whole", tmp_path / "again"
    written = write_report(study, made_up(), whole, charts=False)
    kept = read_kept(whole)
    assert kept.study == dataclasses.replace(study, file="small.toml")
    assert kept.results.patterns == made_up().patterns and kept.results.versions == made_up().versions
    shutil.copytree(whole / "data", again / "data")
    monkeypatch.setattr(sys, "argv", ["polygait", "study", "report", str(again), "--no-charts"])
    cli.main()
    assert "200.0" in capsys.readouterr().out
    for file in written.files:
        first = file.read_bytes().replace(study.file.encode(), b"small.toml")  # the page says how to go on
        assert (again / file.relative_to(whole)).read_bytes() == first, file.name
    page = write_study_page(again, tmp_path / "page.html")
    assert page.path.exists() and is_study(again)
    for name, content in {"returns.parquet": b"PAR1", "results.json": b'{"format": 2}'}.items():
        (again / "data" / name).write_bytes(content)
        with pytest.raises(UserError, match=r"does not hold a study's results"):
            read_kept(again)


def test_two_methods_of_one_seed_have_figures_without_intervals(tmp_path):
    study = read_study(small.write(tmp_path))
    ours, other = made_up("dir"), made_up("multi")
    both = {
        name: pl.concat([getattr(ours, name), getattr(other, name)])
        for name in ("returns", "held_out", "diversity", "curves", "contacts")
    }
    results = ours._replace(**both)
    figures = study_figures(results, study_sources(results))
    assert "nan" in repr(figures["improvement"].to_dict()).lower()
    for name in ("improvement", "profiles", "percentiles"):
        assert "1 seed: too few to decide" in repr(figures[name].to_dict()), name
        assert "decide" in caption(name, []), name
    html = study_page(study, results, [], figures)
    specs = json.loads(re.findall(r'id="charts"[^>]*>(.*?)</script>', html)[0])
    assert '"low":null' in json.dumps(specs["improvement"], separators=(",", ":"))


def test_the_page_tells_what_one_method_has_in_one_task(tmp_path):
    study = read_study(small.write(tmp_path, more="[task.hopper.method.dir]\nalpha = 0.125\n"))
    html = study_page(study, made_up(), [], {})
    assert "task.hopper.method.dir.alpha" in html and "0.125" in html


def beside_published(returns):
    """Our made-up returns as the report's sources, with what was published for the same tasks."""
    results = made_up()._replace(returns=returns, held_out=returns.clear())
    return study_sources(results)


def test_rows_that_show_both_say_how_they_were_measured():
    walker = made_up().returns
    ant = walker.filter(pl.col("condition") != "broken-foot").with_columns(
        task=pl.lit("ant"), condition=pl.col("condition").replace({"broken-leg": "leg-2-sensor"})
    )
    sources = beside_published(pl.concat([walker, ant]))
    tables = {table.name: table for table in all_tables(sources)}

    def marked(name):
        return [row[1].text for row in tables[name].rows if row[1].text.startswith("published")]

    assert marked("sensors-ant") == ["published [a, b]"]  # only leg 2 has numbers of ours to stand beside
    assert "[b] Ant: a failed leg sensor hides the leg's hip and ankle here" in tables["sensors-ant"].note
    assert "2 its z, hip 1, ankle 1" in tables["sensors-ant"].note
    assert marked("nominal") == ["published [a]", "published [b]"]
    assert "[a] Walker: both feet have friction 1.9 here" in tables["nominal"].note
    assert "Walker: both feet" in tables["diversity"].note and "[a]" not in tables["diversity"].note
    assert marked("damage")[:2] == ["published [a]", "published [a]"]
    for name in ("damage", "nominal", "sensors-ant", "diversity", "comparison", "aggregate", "best-of"):
        assert "Multi, DvD and SMERL kept all ten members" in tables[name].note, name
    assert {row["source"] for row in tables["damage"].data} == {"ours, 1 seed, 2 members", "published"}


def test_published_numbers_alone_need_no_remark():
    for table in all_tables([published()]):
        assert "kept all ten" not in table.note and "friction 1.9" not in table.note, table.name
        assert not any("[a" in cell.text for row in table.rows for cell in row[:2]), table.name


def test_sweeps_say_what_was_scaled_in_another_way():
    ant, walker = caption("sweeps", ["ant"]), caption("sweeps", ["walker", "hopper"])
    assert "twelve bodies" in ant and "mj_setConst" in ant and "friction 1.9" not in ant
    assert "Hopper: after a mass is scaled" in walker and "friction 1.9" in walker and "twelve" not in walker
    assert "sensor" not in ant and caption("profiles", ["ant"]) == caption("profiles", [])


def test_the_differences_are_what_our_robots_are():
    """What remarks say about us, and how the numbers lie that were hidden in threes."""
    walker, ant = (require_drawable(pg.make_task(name)) for name in ("walker", "ant"))
    feet = [walker.model.geom(name).id for name in ("foot_geom", "foot_left_geom")]
    assert walker.model.geom_friction[feet, 0].tolist() == [1.9, 1.9]
    effects = schedule([parse_variation("leg-mass=2", ant.conditions)], ant.anatomy)
    (masses,) = of_kind(effects, ModelChange)
    assert masses.effect.field == "body_mass" and set(masses.effect.rows) == set(range(2, 14))
    threes = [ant.layout.names[first : first + 3] for first in (1, 4, 7, 10)]
    assert [[name.split(".")[0] + "." + name.split(".")[-1] for name in three] for three in threes] == [
        ["torso.w", "torso.x", "torso.y"],
        ["torso.z", "leg_1.hip", "leg_1.ankle"],
        ["leg_2.hip", "leg_2.ankle", "leg_3.hip"],
        ["leg_3.ankle", "leg_4.hip", "leg_4.ankle"],
    ]


def finished(tmp_path, name="small", **options):
    """A study with one finished job of two, as its folder would be."""
    file = small.write(tmp_path, name, **options)
    study = read_study(file)
    folder = tmp_path / "runs" / study.name
    for place, job in enumerate(study.jobs()):
        home = JobFolder.of(folder, job)
        home.prepare(job)
        if place == 0:
            home.result.write_bytes(canonical(to_plain(result())))
    return file, folder


def result():
    """What one job measured."""
    returns = {"condition": [], "scale": [], "member": [], "mean_return": []}
    for condition in ("nominal", "broken-leg", "broken-foot"):
        for member in (0, 1):
            for name, value in zip(returns, (condition, None, member, 100.0 * (member + 1)), strict=True):
                returns[name].append(value)
    return {
        "returns": returns,
        "held_out": None,
        "diversity": 12.5,
        "curves": {"member": [0, 0, 1, 1], "steps": [64, 128] * 2, "return": [1.0, 2.0, 3.0, 4.0]},
        "contacts": {"feet": ["foot"], "down": [[[0.5]], [[0.25]]]},
        "patterns": {"time_step": 0.5, "down": [["0110"], ["1000"]]},
        "versions": {"polygait": "0.1.0"},
    }


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return finished(tmp_path)


@pytest.mark.parametrize("by", ["file", "folder"])
def test_a_page_by_the_file_or_the_folder(study, by, tmp_path):
    file, folder = study
    written = write_study_page(file if by == "file" else folder)
    assert written.path.resolve() == folder / "report" / "report.html"
    assert [gap.what for gap in written.gaps] == ["1 of 2 populations are not there"]
    text = own_text(written.path)
    for words in (
        "<h1>small</h1>",
        "Study · DiR · Multi on hopper",
        "1 of 2",
        "Adaptation under component damage",
        '<td class="number">200.0</td>',
        'id="plot-percentiles"',
        "hopper - broken leg".capitalize(),
        "polygait 0.1.0",
        "measure.episodes",
    ):
        assert words in text, words
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", text)


def test_names_are_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, folder = finished(tmp_path, "<script>alert(1)<∕script>")
    for path in (file, folder):
        text = write_study_page(path, tmp_path / "page.html").path.read_text()
        assert "<script>alert(1)" not in text and "&lt;script&gt;alert(1)&lt;∕script&gt;" in text


@pytest.mark.slow
def test_the_verb_writes_page_and_figures(study, tmp_path, capsys):
    file, folder = study
    cli.report(str(file), options=ReportConfig(figures=str(tmp_path / "figures")))
    assert str(folder / "report" / "report.html").endswith(capsys.readouterr().out.split(" ")[0])
    assert {one.suffix for one in (tmp_path / "figures").iterdir()} == {".svg", ".png"}
    with pytest.raises(UserError, match="for the page of a run"):
        cli.report(str(file), options=ReportConfig(video=True))


def test_studies_are_told_from_runs(study, tmp_path):
    file, folder = study
    assert is_study(file) and is_study(folder) and not is_study(tmp_path)
    found, asked = locate(folder), locate(file)
    assert sorted(job.name for job in found.jobs) == sorted(job.name for job in asked.jobs)
    assert found.study.training == {"members": 2, "steps": 192, "preset": "robust"}


def test_mistakes_are_explained(study, tmp_path):
    file, folder = study
    with pytest.raises(UserError, match=r"End its name in \.html"):
        write_study_page(file, tmp_path / "page.pdf")
    for job in JobFolder.of(folder, read_study(file).jobs()[0]).path.glob("result-*"):
        job.unlink()
    with pytest.raises(UserError, match=r"No job of .* is done"):
        write_study_page(file)
    other = read_study(small.write(tmp_path, "other", steps=64 * 4)).jobs()[0]
    JobFolder.of(folder, other).prepare(other)
    with pytest.raises(UserError, match="more than one study"):
        write_study_page(folder)
    with pytest.raises(UserError, match="holds no job"):
        (tmp_path / "empty" / "jobs").mkdir(parents=True)
        write_study_page(tmp_path / "empty")


@pytest.mark.parametrize("task", ["/../../../x", "..", "gym:../../x"])
def test_no_task_leads_out_of_the_folder_of_a_study(tmp_path, task):
    folder = tmp_path / "a" / "b" / "study"
    (_, job) = small.study(tmp_path).jobs()
    config = dataclasses.replace(job.config, task=task)
    stranger = dataclasses.replace(job, config=config, run=resolve(config))
    home = JobFolder.of(folder, stranger)
    home.prepare(stranger)
    measured = result()
    measured["returns"]["condition"] = [
        one.replace("foot", "foot-sensor") for one in measured["returns"]["condition"]
    ]
    home.result.write_bytes(canonical(to_plain(measured)))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    study, jobs, where, _ = locate(folder)
    written = write_report(study, read_results(jobs, where), report_folder(where), charts=False)
    assert any(table.name.startswith("sensors-") for table in written.tables)
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert new == set(written.files) and all(folder / "report" in path.resolve().parents for path in new)


@pytest.mark.parametrize("name", ["report", "report/tables"])
def test_a_report_follows_no_link(study, tmp_path, name):
    file, folder = study
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(outside)
    asked = read_study(file)
    with pytest.raises(UserError, match="is a symbolic link"):
        write_report(asked, read_results(asked.jobs(), folder), report_folder(folder), charts=False)
    with pytest.raises(UserError, match="is a symbolic link"):
        write_study_page(folder)
    assert not list(outside.iterdir())


def test_a_report_says_what_was_trained():
    results = made_up()
    more = results.curves.with_columns(seed=pl.col("seed") + 1)
    third = results.curves.filter(member=0).with_columns(
        seed=pl.col("seed") + 4, steps=pl.lit(2_001_920, pl.Int64)
    )
    table = trained_table(results._replace(curves=pl.concat([results.curves, more, third])))
    assert [cell.text for cell in table.rows[0]] == [
        "Walker",
        "DiR",
        "0, 1, 4",
        "2 × 128 or 1 × 2M",
        "0.7M",
        "–",
    ]
    assert table.data == [{"task": "walker", "method": "dir", "seeds": 3, "steps": (4 * 128 + 2_001_920) / 3}]


def test_a_report_says_what_it_cost():
    results = made_up()
    assert told_effort(results) == ""
    schema = results.effort.schema
    effort = pl.DataFrame([("walker", "dir", 0, 3, 5400.0)], schema=schema, orient="row")
    known = results._replace(effort=effort)
    assert told_effort(known) == "1.5 processor hours; stopped and resumed 2 times"
    told = told_effort(known._replace(done=2))
    assert (
        told
        == "1.5 processor hours (1 of 2 jobs, of the others it is not known); stopped and resumed 2 times"
    )
    assert trained_table(known).rows[0][-1].text == "1.50"


def test_ours_are_counted_by_method():
    results = made_up()
    other = results.returns.filter(member=0).with_columns(method=pl.lit("multi"))
    twice = pl.concat([results.returns, other, other.with_columns(seed=pl.col("seed") + 1)])
    label = study_sources(results._replace(returns=twice))[0].label
    assert label == "ours, 1 to 2 seeds, 1 to 2 members"
    assert study_sources(results)[0].label == "ours, 1 seed, 2 members"


def test_a_single_seed_has_no_spread():
    source = study_sources(made_up())[0]
    assert [row[2].text for row in damage_table([source]).rows] == ["200.0", "200.0"]
    assert diversity_table([source]).rows[0][2].text == "20.0"
