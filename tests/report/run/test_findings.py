"""A run folder is read as far as it can be, and what is missing is told with its remedy."""

import shutil

import pytest
from tests.report.conftest import become_gymnasium
from tests.report.run.measured import keep_adaptation, keep_evaluation, row

import polygait as pg
from polygait.errors import UserError
from polygait.population.store import RunFolder
from polygait.report.run.findings import gather


def told(findings):
    return {gap.what: gap.remedy for gap in findings.gaps}


def test_a_bare_run_says_which_commands_add_the_rest(run):
    findings = gather(run)
    assert [entry.index for entry in findings.entries] == [0, 1, 2, 3, 4] and findings.best == 1
    assert len(findings.log) == 5 * 160 and not findings.cells
    assert told(findings)["No condition is measured"] == f"polygait evaluate {run} --suite damage"
    assert told(findings)["No adaptation was made"] == f"polygait adapt {run} --variation NAME"


def test_only_suites_that_a_task_has_are_advised(run):
    become_gymnasium(run)
    commands = told(gather(run))
    assert commands["No condition is measured"] == f"polygait evaluate {run} --suite mesh"
    pg.make_task("gym:Walker2d-v5").set_variation("delay=2")
    keep_adaptation(run, "delay=2", [[1.0], [2.0]], best=1)
    assert "No sweep is measured" not in told(gather(run))


def test_measured_conditions_and_who_is_chosen(run):
    keep_evaluation(run, "damage", [row(0, "broken-foot", 10.0), row(1, "broken-foot", 20.0)])
    keep_evaluation(run, "paper", [row(0, "foot-mass", 5.0, scale=0.5)])
    findings = gather(run)
    assert {(cell["member"], cell["variation"]): cell["mean_return"] for cell in findings.cells} == {
        (0, "broken-foot"): 10.0,
        (1, "broken-foot"): 20.0,
        (0, "foot-mass=0.5"): 5.0,
    }
    measured = findings.choice("", "broken-foot")
    assert measured is not None and measured.member == 1 and measured.adaptation is None
    assert measured.source == "evaluation of suite damage (5 episodes each, seed 0)"
    assert findings.choice("", "broken-leg") is None
    assert "No sweep is measured" not in told(findings)
    keep_adaptation(run, "broken-foot", [[1.0], [2.0]], best=0)
    adapted = gather(run).choice("", "broken-foot")
    assert adapted is not None and adapted.member == 0 and adapted.mean_return == 1.0
    assert adapted.source == "exhaustive adaptation (1 episode each, seed 0)"


def test_trials_stand_in_for_what_was_not_measured(run):
    keep_adaptation(run, "broken-leg@30", [[1.0, 3.0], [None, None], [5.0, None]], best=2)
    findings = gather(run)
    assert [(cell["member"], cell["mean_return"], cell["episodes"]) for cell in findings.cells] == [
        (0, 2.0, 2),
        (2, 5.0, 1),
    ]
    assert told(findings)["No sweep is measured"].endswith("--suite dynamics")


def test_another_simulator_is_kept_apart(run):
    keep_evaluation(run, "walker.damage", [row(0, "broken-foot", 1.0)])
    keep_adaptation(run, "broken-foot", [[1.0], [2.0], [3.0], [4.0]], best=3, on="walker")
    findings = gather(run)
    assert [cell["where"] for cell in findings.cells] == ["walker"]
    choice = findings.choice("walker", "broken-foot")
    assert choice is not None and choice.member == 3 and findings.choice("", "broken-foot") is None
    assert list(findings.choices()) == [("walker", "broken-foot", "broken-foot")]


def test_damaged_files_are_named_and_the_rest_is_shown(run):
    (run / "members" / "002.safetensors").write_bytes(b"short")
    keep_evaluation(run, "damage", [row(0, "broken-foot", 1.0)])
    (run / "evaluations" / "sensors.parquet").write_bytes(b"PAR1 but not really")
    keep_adaptation(run, "broken-foot", [[1.0]], best=0)
    (run / "adaptations" / "odd.json").write_text('{"best": 1}')
    lines = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("\n".join([lines[0].replace("3", "4", 1), *lines[1:]]) + "\n")
    findings = gather(run)
    gaps = told(findings)
    assert findings.population is not None
    assert [member.index for member in findings.population.members] == [0, 1, 3, 4]
    assert "Member 2 cannot be shown" in gaps and "Learning curves cannot be shown" in gaps
    assert gaps["sensors.parquet cannot be read"] == f"polygait evaluate {run} --suite sensors"
    assert "odd.json cannot be read" in gaps and len(findings.cells) == 1


def test_a_run_in_which_nothing_is_whole_can_still_be_described(run):
    shutil.rmtree(run / "members")
    (run / "metrics.jsonl").unlink()
    findings = gather(run)
    assert findings.population is None and len(findings.entries) == 5
    assert "There are no learning curves" in told(findings)


def test_an_unfinished_run_says_how_to_go_on(run):
    folder = RunFolder.open(run)
    with folder.writing():
        folder.update_manifest({"complete": False})
    assert told(gather(run))["Training is not finished"] == f"polygait resume {run}"


def test_only_a_manifest_that_cannot_be_read_is_an_error(run, tmp_path):
    with pytest.raises(UserError, match="Not a run folder"):
        gather(tmp_path)
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace("walker", "walkie"))
    with pytest.raises(UserError, match="was altered"):
        gather(run)
