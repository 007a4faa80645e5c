"""The shipped smoke study from its file to its report, on both engines."""

from pathlib import Path

import polars as pl
import pytest
from tests.study import small

from polygait.study.grid import read_study

STUDY = Path(__file__).parents[2] / "studies" / "smoke.toml"


@pytest.mark.slow
def test_the_smoke_study_on_both_engines(tmp_path):
    pytest.importorskip("ray")
    terminal = small.Terminal()
    try:
        for engine in ("local", "ray"):
            done = terminal.run("study", "run", STUDY, "--out", tmp_path / engine, "--engine", engine)
            assert done.returncode == 0, done.stderr
        study = read_study(STUDY)
        assert small.results(study, tmp_path / "local") == small.results(study, tmp_path / "ray")
        told = terminal.run("study", "report", STUDY, "--out", tmp_path / "local")
        assert told.returncode == 0, told.stderr
    finally:
        terminal.close()
    report = tmp_path / "local" / "report"
    assert "8 of 8 jobs" in (report / "report.md").read_text()
    names = {file.stem for file in (report / "tables").glob("*.tex")}
    assert {"diversity", "nominal", "damage", "selected-walker", "comparison", "best-of"} <= names
    figures = {file.name for file in (report / "figures").iterdir()}
    for name in ("percentiles", "improvement", "profiles", "contacts-walker", "open-ended-hopper"):
        assert {f"{name}{ending}" for ending in (".html", ".svg", ".png", ".pdf")} <= figures
    damage = pl.read_csv(report / "tables" / "damage.csv")
    ours = damage.filter(source="ours, 2 seeds, 2 members", task="walker", condition="broken-foot")
    assert sorted(ours["method"]) == ["dir", "multi"] and ours["seeds"].to_list() == [2, 2]
    assert {"ours, 2 seeds, 2 members", "ours, fresh episodes", "published"} == set(damage["source"])
