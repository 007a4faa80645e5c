"""The command line, as a user runs it."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from polygait import cli

DATA = Path(__file__).parent / "data"


def polygait(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "polygait", *arguments], capture_output=True, text=True, check=False
    )


def test_help_lists_the_verbs_with_examples():
    done = polygait("--help")
    assert done.returncode == 0
    assert "polygait tasks walker" in done.stdout
    assert polygait().stdout == done.stdout


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['polygait', '--help']\n"
        "from polygait.cli import main; main()\n"
        "heavy = {'jax', 'mujoco', 'gymnasium', 'numpy', 'polars', 'rich.table'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [["tasks", "--help"], ["tasks"], ["--version"]])
def test_verbs_answer(arguments):
    done = polygait(*arguments)
    assert done.returncode == 0
    assert done.stdout.strip()


def test_a_reader_who_has_enough_is_no_error():
    begun = subprocess.Popen(
        [sys.executable, "-m", "polygait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert begun.stdout is not None
    begun.stdout.close()
    assert begun.communicate()[1] == ""
    assert begun.returncode == 1


def test_one_task_is_described_in_names():
    shown = polygait("tasks", "ant").stdout
    for word in ("leg_1.position", "contact.forces", "78", "broken-ankle", "hip_4", "left_ankle", "removed"):
        assert word in shown


POOR = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin-1": {"PYTHONIOENCODING": "latin-1:strict"},
    "C": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.mark.parametrize("environment", POOR.values(), ids=POOR)
def test_poor_encodings_cost_looks_not_words(environment):
    for arguments, word in (
        (["--help"], b"usage: polygait COMMAND ..."),
        (["command–"], b"polygait: Unknown command"),
    ):
        command = [sys.executable, "-m", "polygait", *arguments]
        done = subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)
        said = done.stdout + done.stderr
        assert b"Traceback" not in said and word in said, said


def test_json_is_for_programs():
    one = json.loads(polygait("tasks", "walker", "--json").stdout)
    assert one["removed"] == ["right_leg"]
    assert one["conditions"]["broken-foot"] == "broken(foot_joint)"
    assert {part["name"]: part["size"] for part in one["parts"]}["torso.velocity"] == 3
    everything = json.loads(polygait("tasks", "--json").stdout)
    names = [task["name"] for task in everything]
    own = ["ant", "half-cheetah", "hopper", "humanoid", "minitaur", "quadruped", "swimmer", "walker"]
    assert names in (own, [*own, "minitaur-bullet"])  # which needs PyBullet


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a run, studies, suites and what should not be there."""
    place = tmp_path_factory.mktemp("place")
    shutil.copytree(DATA / "walker-dir", place / "run")
    (place / "empty").mkdir()
    (place / "full").mkdir()
    texts = {
        "file": "x",
        "full/notes.txt": "x",
        "broken.toml": "a = ",
        "nothing.toml": "",
        "suite.toml": 'variations = ["broken-fot"]',
        "study.toml": 'methods = ["dir"]\ntasks = ["walker"]\nseeds = [0]\nsteps = 64\n',
        "words.toml": 'methods = ["dir"]\ntasks = ["walker"]\nseeds = [0]\nsteps = "many"\n',
        "method.toml": 'methods = ["dri"]\ntasks = ["walker"]\nseeds = [0]\nsteps = 64\n',
    }
    for name, text in texts.items():
        (place / name).write_text(text)
    return place


MISTAKES = [  # words; then in the answer: what was given, the rule it breaks, how to mend it
    ("--verson", "'--verson'", "Unknown option", "'--version'"),
    ("trian walker --out new", "'trian'", "Unknown command", "'train'"),
    ("stduy run study.toml", "'stduy'", "Unknown command", "'study run'"),
    ("study rnu study.toml", "'study rnu'", "Unknown command", "'study run'"),
    ("train", "TASK", "Missing", "polygait train --help"),
    ("train walker", "--out", "Missing", "The run folder to make"),
    ("train walker --out", "'--out'", "Missing value", "polygait train --help"),
    ("train walker ant --out new", "ant", "Unrecognized", "polygait train --help"),
    ("train walker --out new --step 5", "--step,", "Unrecognized", "--steps INT"),
    ("train walkr --out new", "'walkr'", "Unknown task", "'walker'"),
    ("train gym:Pendulm-v1 --out new", "'Pendulm-v1'", "Unknown Gymnasium environment", "'Pendulum-v1'"),
    ("train walker --out new --method dri", "'dri'", "Unknown method", "'dir'"),
    ("train walker --out new --preset papr", "'papr'", "Unknown preset", "'paper'"),
    ("train walker --out new --steps many", "'many'", "--steps", "1M"),
    ("train walker --out new --steps 1.5", "'1.5'", "is not a whole number", "250k"),
    ("train walker --out new --steps 1e30", "'1e30'", "too large", "at most 9,223"),
    ("train walker --out new --steps 0", "got 0", "--steps", "at least 1"),
    ("train walker --out new --members -2", "got -2", "--members", "at least 1"),
    ("train walker --out new --members 1e9", "got 1000000000", "--members", "at most 1,000,000"),
    ("train walker --out new --envs 60", "--envs 60", "evenly", "2100"),
    ("train walker --out new --seed 5000000000", "got 5000000000", "--seed", "between 0 and"),
    ("train walker --out new --alpha nan", "got nan", "--alpha", "a finite number"),
    ("train walker --out new --alpha lots", "'lots'", "is not a number", "0.05"),
    ("train walker --out new --method multi --alpha 1", "multi", "does not have", "leave it out"),
    ("train walker --out new --method dvd --members 1", "got 1", "dvd", "at least 2"),
    ("train walker --out new --remove rightleg", "'rightleg'", "Unknown state part", "'right_leg'"),
    ("train walker --out new --set ppo.epoch=5", "'ppo.epoch=5'", "Unknown setting", "'ppo.epochs'"),
    ("train walker --out new --set ppo.epochs=x", "got 'x'", "ppo.epochs must be a whole", "4096"),
    ("train walker --out new --set ppo.learning_rate=nan", "got nan", "ppo.learning_rate", "above 0"),
    ("train walker --out new --set dir.hidden=8,-1", "(8, -1)", "dir.hidden", "from 1 to 1,000,000"),
    ("train walker --out new --set ppo.learn_std=maybe", "'maybe'", "ppo.learn_std", "true or false"),
    ("train walker --out new --set dvd.form=pairwise", "dvd.form", "is for dvd", "the method is dir"),
    ("train walker --out new --set task.max_episode_steps=0", "got 0", "max_episode_steps", "above 0"),
    ("train walker --out new --set task.colour=1", "'colour'", "Unknown option of walker", "Known: "),
    ("train walker --out file", "file", "it is a file", "another --out"),
    ("train walker --out file/new", "file/new", "Cannot write", "Check"),
    ("train walker --out full", "'notes.txt'", "not empty", "another --out"),
    ("train walker --out run", "run", "There is a run", "polygait resume run"),
    ("train hopper --out new --method smerl --set smerl.target_return=gone", "gone", "no such", "polygait"),
    ("resume absent", "absent", "no such folder", "polygait train --out"),
    ("resume file", "file", "Not a run folder", "polygait train --out"),
    ("resume empty", "empty", "no manifest.json", "polygait train --out"),
    ("extend run", "extend", "How far", "--members 5"),
    ("extend run --members 0", "got 0", "--members", "at least 1"),
    ("extend run --members 2 --max-members 3", "--max-members", "exclude", "Give the one"),
    ("extend run --max-hours -1", "got -1.0", "--max-hours", "above 0"),
    ("extend run --until-novelty nan", "got nan", "--until-novelty", "must be a number"),
    ("adapt run --variation broken-fot", "'broken-fot'", "Unknown variation", "'broken-foot'"),
    ("adapt run --variation foot-mass=heavy", "'heavy'", "Not a number", "foot-mass=1.5"),
    ("adapt run --variation mass(foot)=nan", "got nan", "finite scale above 0", "=1.5"),
    ("adapt run --variation broken(foot_join)", "'foot_join'", "Unknown joint", "'foot_joint'"),
    ("adapt run --selector race", "'race'", "Unknown selector", "'racing'"),
    ("adapt run --trials 40", "--trials", "belongs to informed and racing", "--selector racing"),
    ("adapt run --selector racing --trials 2", "2 trials", "do not reach 5", "give --trials 5"),
    ("adapt run --selector racing --episodes 3", "--episodes", "belongs to exhaustive", "--trials"),
    ("adapt run --trails 40", "--trails", "Unrecognized", "--trials INT"),
    ("adapt run --episodes 1e12", "got 1000000000000", "--episodes", "at most 1,000,000"),
    ("adapt run --held-out -1", "got -1", "--held-out", "not be negative"),
    ("adapt run --on ant", "ant", "other state parts", "same parts"),
    ("evaluate run --suite papr", "'papr'", "Unknown suite", "'paper'"),
    ("evaluate run --suite absent.toml", "absent.toml", "Cannot read", "Give the path"),
    ("evaluate run --suite broken.toml", "broken.toml", "is not TOML", "polygait evaluate --help"),
    ("evaluate run --suite suite.toml", "'broken-fot'", "Unknown variation", "'broken-foot'"),
    ("evaluate run --suite nothing.toml", "nothing.toml", "must name its variations", "broken-foot"),
    ("behaviour run --states 0", "got 0", "--states", "at least 1"),
    ("behaviour run --transitions 1e15", "got 1000", "--transitions", "at most 100,000,000"),
    ("filters run --member 99", "99", "There is no member", "0 to 4"),
    ("filters run --episodes 1", "got 1", "--episodes", "at least 3"),
    ("filters run --remove left", "'left'", "Unknown state part", "'left_leg'"),
    ("motivation --out new --steps -1", "got -1", "--steps", "at least 1"),
    ("motivation --out new --updates-per-step nan", "got nan", "--updates-per-step", "a whole number of"),
    ("render run --out film.avi", "'film.avi'", "Cannot draw", ".mp4"),
    ("render run --out film.mp4 --member 99", "'99'", "Unknown member", "Known: 0, 1"),
    ("render run --out film.mp4 --frames 3", "--frames", "is of a strip", "--seconds"),
    ("render run --out film.png --size 15 15", "(15, 15)", "--size", "even numbers"),
    ("render run --out film.png --size 640", "--size", "Missing value", "Expected 2"),
    ("render run --out film.png --renderer magic", "'magic'", "invalid choice", "'rays'"),
    ("render run --out film.png --seconds inf", "got inf", "--seconds", "above 0 and finite"),
    ("render run --out film.png --seed -1", "got -1", "--seed", "between 0 and"),
    ("report absent", "absent", "Not a run folder", "polygait train --out"),
    ("report run --out page.txt", "'page.txt'", "A report is a page", ".html"),
    ("tasks walkr", "'walkr'", "Unknown task", "'walker'"),
    ("tasks --picture card.svg", "robot", "Which", "polygait tasks walker"),
    ("tasks walker --picture card.gif", "'card.gif'", "Cannot write", ".svg"),
    ("study run absent.toml", "absent.toml", "Cannot read", "budget, laptop, paper, screening, smoke"),
    ("study run broken.toml", "broken.toml", "is not TOML", "polygait study run --help"),
    ("study run words.toml", "'many'", "steps must be", "a whole number"),
    ("study run method.toml", "'dri'", "Unknown method", "'dir'"),
    ("study run nothing.toml", "nothing.toml", "methods is missing", "Nothing was started"),
    ("study run study.toml --jobs 0", "got 0", "--jobs", "at least 1"),
    ("study run study.toml --retries -1", "got -1", "--retries must not", "Leave it out for 2"),
    ("study run study.toml --engine cloud", "'cloud'", "invalid choice", "'local'"),
    ("study run study.toml --shared", "--shared", "only for", "--engine ray"),
    ("study status empty", "empty", "Is a directory", "TOML file"),
    ("study report study.toml --out new", "study.toml", "No job", "polygait study run study.toml"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=[one[0] for one in MISTAKES])
def test_a_mistake_is_answered_with_value_rule_and_remedy(mistake, place, monkeypatch, capsys):
    """Without a traceback, with code 2, and nothing is left behind."""
    words, *parts = mistake
    before = sorted(place.rglob("*"))
    monkeypatch.chdir(place)
    said = mistaken(words, monkeypatch, capsys)
    for part in parts:
        assert part in said
    assert "Traceback" not in said
    assert len(said) < 700
    assert sorted(place.rglob("*")) == before


def mistaken(words, monkeypatch, capsys):
    """What the command line says to a user's mistake, in one line."""
    monkeypatch.setattr(
        sys, "argv", ["polygait", *shlex.split(words.replace("(", "'('").replace(")", "')'"))]
    )
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which it changes
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return " ".join(re.sub(r"[│╭╮╰╯]|[─-]{3,}", " ", shown.err).split())


def test_repeated_options_add_up(monkeypatch, capsys):
    said = mistaken(
        "train walker --out new --set ppo.epoch=1 --set dir.bond=x dir.fom=1", monkeypatch, capsys
    )
    for word in ("'ppo.epoch=1'", "'dir.bond=x'", "'dir.fom=1'"):
        assert word in said


@pytest.mark.parametrize("words", ["study", "study --help"])
def test_a_family_of_verbs_has_its_own_overview(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["polygait", *words.split()])
    cli.main()
    shown = capsys.readouterr().out
    assert "polygait study run smoke" in shown and "polygait train" not in shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_evaluation_on_a_terminal_that_has_nothing_left_to_run(tmp_path, monkeypatch, capsys):
    shutil.copytree(DATA / "hopper-dir", tmp_path / "run")
    words = ["evaluate", str(tmp_path / "run"), "--suite", "nominal", "--episodes", "1"]
    monkeypatch.setattr(sys, "argv", ["polygait", *words])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    tables, screens = [], []
    for _ in range(2):
        screen = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen)
            cli.main()
        tables.append(capsys.readouterr().out)
        screens.append(screen.getvalue())
    assert tables[0] == tables[1]
    assert "episodes to run" in screens[0] and "100 %" in screens[0]
    assert screens[1] == "Nothing to run: all was measured before.\n"


def test_a_mistake_as_a_user_sees_it():
    done = polygait("tasks", "walkr")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "polygait: Unknown task: 'walkr'.\nDid you mean 'walker'?\n"
