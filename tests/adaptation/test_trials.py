"""Trials by hand: asked, told, kept, and gone on with; whatever is typed and whenever the power fails."""

import io
import json
import math
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polygait as pg
from polygait.cli import main
from polygait.errors import UserError

TRAINED = Path(__file__).parent.parent / "data" / "hopper-dir"
MEMBERS = 5
FAR = (3.0, 1.0, 4.0, 1.5, 5.0)
"""How far each member comes on a robot that never varies."""


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(TRAINED, tmp_path / "hopper")


def play(trials: pg.Trials, most: int = 1000) -> list[int]:
    """Make trials on the robot that never varies; who was tried."""
    tried = []
    while len(tried) < most and (member := trials.ask()) is not None:
        trials.tell(member, FAR[member], fell=FAR[member] < 2)
        tried.append(member)
    return tried


def test_exhaustive_tries_everybody_once_before_anybody_twice(run):
    trials = pg.Trials(run, selector="exhaustive", budget=7)
    assert play(trials) == [0, 1, 2, 3, 4, 0, 1]
    assert trials.best == 4 and trials.ask() is None
    told = trials.report()
    assert told["trials"].to_list() == [2, 2, 1, 1, 1] and told["falls"].to_list() == [0, 2, 0, 1, 0]
    assert told["mean"].to_list() == list(FAR) and told["best"].to_list() == [False] * 4 + [True]


def test_a_question_stays_the_same_until_it_is_answered(run):
    trials = pg.Trials(run, selector="racing", budget=10)
    assert trials.best is None and trials.ask() == trials.ask() == 0
    trials.tell(0, 1.0)
    assert trials.ask() == 1 and trials.best == 0


def test_a_race_by_hand_is_the_race_of_adapt(run):
    """The simulator's own returns, told one by one, lead to adapt's trials and choice."""
    population = pg.load(run)
    result = pg.adapt(population, "broken-leg", selector="racing", trials=12, held_out=0)
    trials = pg.Trials(population, selector="racing", budget=12)
    begun = [0] * MEMBERS
    while (member := trials.ask()) is not None:
        trials.tell(member, float(result.returns[member, begun[member]]))
        begun[member] += 1
    assert begun == np.isfinite(result.returns).sum(axis=1).tolist() and trials.best == result.best


def test_trials_of_the_same_name_go_on(run):
    alone = pg.Trials(run, selector="racing", budget=12, name="alone")
    order = play(alone)
    first = pg.Trials(run, selector="racing", budget=12, name="day 1")
    before = play(first, 5)
    again = pg.Trials(run, name="day 1")
    assert len(again.told) == 5 and again.budget == 12 and again.selector == "racing"
    assert before + play(again) == order and again.best == alone.best
    assert [one.value for one in again.told] == [FAR[member] for member in order]
    assert pg.Trials(run, name="day 1").ask() is None
    assert pg.Trials(run, selector="exhaustive", name="day 2").told == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"selector": "exhaustive"}, "begun with selector='racing', not 'exhaustive'"),
        ({"budget": 30}, "begun with budget=12, not 30"),
        ({"settings": ("max_falls=1",)}, r"begun with settings=\(\)"),
    ],
)
def test_the_rules_do_not_change_on_the_way(run, options, words):
    play(pg.Trials(run, selector="racing", budget=12), 2)
    with pytest.raises(UserError, match=words):
        pg.Trials(run, **options)
    assert len(pg.Trials(run).told) == 2


@pytest.mark.usefixtures("unchecked_annotations")
@pytest.mark.parametrize("value", [math.nan, math.inf, "far", "3.5", None, True, [1.0], 10**400])
def test_what_is_no_number_is_refused_and_nothing_is_lost(run, value):
    trials = pg.Trials(run, selector="exhaustive", budget=5)
    play(trials, 2)
    member = trials.ask()
    assert member is not None
    with pytest.raises(UserError, match="must be a finite number"):
        trials.tell(member, value)
    assert len(trials.told) == len(pg.Trials(run).told) == 2 and trials.ask() == member
    trials.tell(member, np.float64(2.5))
    assert pg.Trials(run).told[-1].value == 2.5


@pytest.mark.usefixtures("unchecked_annotations")
@pytest.mark.parametrize(
    ("member", "words"),
    [
        (9, "There is no member 9"),
        ("0", "There is no member '0'"),
        (3, "Member 3 was not asked for: member 0"),
    ],
)
def test_another_member_than_asked_is_refused(run, member, words):
    trials = pg.Trials(run, selector="exhaustive", budget=5)
    trials.ask()
    with pytest.raises(UserError, match=words):
        trials.tell(member, 1.0)
    assert trials.told == () == pg.Trials(run).told


def test_telling_without_asking_or_beyond_the_budget_is_refused(run):
    trials = pg.Trials(run, selector="exhaustive", budget=1)
    with pytest.raises(UserError, match="without being asked for"):
        trials.tell(0, 1.0)
    play(trials)
    with pytest.raises(UserError, match="budget of 1 trials is spent"):
        trials.tell(1, 1.0)
    assert len(pg.Trials(run).told) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0}, "budget must be at least 1"),
        ({"selector": "luck"}, "Unknown selector"),
        ({"selector": "racing", "budget": 3}, "3 trials do not reach 5 members"),
        ({"selector": "racing", "settings": ("max_fall=2",)}, "Did you mean 'max_falls'"),
        ({"name": ""}, "name must not be empty"),
        ({"buget": 3}, "Did you mean 'budget'"),
        ({}, "polygait evaluate .*hopper --suite mesh"),
    ],
)
def test_bad_wishes_are_explained(run, options, words):
    with pytest.raises(UserError, match=words):
        pg.Trials(run, **options)
    assert not list(run.glob("trials/*.json"))


def test_a_slip_of_the_hand_is_taken_back(run):
    trials = pg.Trials(run, selector="exhaustive", budget=5)
    with pytest.raises(UserError, match="no trial to take back"):
        trials.take_back()
    play(trials, 2)
    assert trials.take_back().member == 1 and trials.ask() == 1
    assert len(pg.Trials(run).told) == 1
    trials.tell(1, 9.0)
    assert trials.best == 1


def test_two_at_once_do_not_overwrite_each_other(run):
    mine = pg.Trials(run, selector="exhaustive", budget=5)
    yours = pg.Trials(run)
    play(mine, 1)
    member = yours.ask()
    assert member == 0
    with pytest.raises(UserError, match="changed by another process"):
        yours.tell(member, 7.0)
    assert [one.value for one in pg.Trials(run).told] == [FAR[0]]


def test_other_members_do_not_go_on_with_these_trials(run):
    trials = pg.Trials(run, selector="exhaustive", budget=5)
    play(trials, 1)
    kept = json.loads(trials.path.read_text())
    trials.path.write_text(json.dumps(kept | {"weights": ["other"] * MEMBERS}))
    with pytest.raises(UserError, match="made with other members"):
        pg.Trials(run)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', "{"])
def test_a_damaged_log_is_named_and_left_alone(run, text):
    path = pg.Trials(run, selector="exhaustive", budget=5).path
    path.write_text(text)
    with pytest.raises(UserError, match=r"robot\.json cannot be read"):
        pg.Trials(run)
    assert path.read_text() == text


def test_a_full_disk_loses_nothing(run, monkeypatch):
    trials = pg.Trials(run, selector="exhaustive", budget=5)
    play(trials, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("polygait.storage.files.write_all", full)
        with pytest.raises(UserError, match="No space left"):
            trials.tell(1 if trials.ask() == 1 else 0, 2.0)
    assert len(trials.told) == len(pg.Trials(run).told) == 1
    assert len(play(trials)) == 4


_AFTERNOON = """
import sys
import polygait as pg
far = [float(one) for one in sys.argv[2].split(",")]
trials = pg.Trials(sys.argv[1], selector="racing", budget=14)
while (member := trials.ask()) is not None:
    trials.tell(member, far[member])
    print(len(trials.told), flush=True)
"""


def test_killed_between_two_tells_nothing_told_is_lost(run, tmp_path):
    command = [sys.executable, "-c", _AFTERNOON, str(run), ",".join(map(str, FAR))]
    told = 0
    for kill_at in (3, 8):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for line in child.stdout:
            told = int(line)
            if told >= kill_at:
                child.send_signal(signal.SIGKILL)
                break
        child.communicate()
        assert child.returncode == -signal.SIGKILL
        assert len(pg.Trials(run).told) >= told
    trials = pg.Trials(run)
    play(trials)
    alone = pg.Trials(shutil.copytree(TRAINED, tmp_path / "alone"), selector="racing", budget=14)
    play(alone)
    assert [one[:2] for one in trials.told] == [one[:2] for one in alone.told]
    assert trials.best == alone.best


def answer(monkeypatch: pytest.MonkeyPatch, run: Path, answers: str, *words: str) -> None:
    """Type answers at the prompts of polygait trial."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    monkeypatch.setattr(sys, "argv", ["polygait", "trial", str(run), *words])
    main()


def test_a_person_is_led_through_it(run, monkeypatch, capsys):
    answer(monkeypatch, run, "3\n1 fell\n\nback\n1.25 f\n", "--selector", "exhaustive", "--budget", "5")
    first = capsys.readouterr()
    assert "Trial 1 of 5: load member 0." in first.out and "Take member 0." in first.out
    assert "2 of 5 trials are kept. Go on with: polygait trial" in first.err
    with pytest.raises(SystemExit, match="2"):
        answer(monkeypatch, run, "4\nvery far\n5\n")
    assert "Cannot read 'very far'" in capsys.readouterr().err
    assert [(one.member, one.value, one.fell) for one in pg.Trials(run).told] == [
        (0, 3.0, False),
        (1, 1.25, True),
        (2, 4.0, False),
    ]
    answer(monkeypatch, run, "1.5\n5\n", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == 4 and len(found["told"]) == 5 and found["members"][1]["falls"] == 1


@pytest.mark.slow
def test_ctrl_c_at_the_prompt_keeps_what_was_told(run):
    command = [sys.executable, "-m", "polygait", "trial", str(run), "--selector", "racing", "--name", "noon"]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1)
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write("3\n")
    child.stdin.flush()
    for line in child.stdout:
        if "Trial 2" in line:
            child.send_signal(signal.SIGINT)
            break
    _, errors = child.communicate(timeout=100)
    assert child.returncode == 130 and "Go on with: polygait trial" in errors and "--name noon" in errors
    assert len(pg.Trials(run, name="noon").told) == 1
