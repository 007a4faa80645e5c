"""The command line, as a user runs it."""

import json
import os
import subprocess
import sys

import pytest


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
        (["--help"], b"usage: polygait VERB ..."),
        (["--verb–"], b"polygait: Unknown verb"),
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
    assert names == ["hopper", "walker", "ant", "minitaur", "minitaur-bullet"][: len(names)]
    assert len(names) >= 4  # the last needs PyBullet


@pytest.mark.parametrize(("arguments", "near"), [(["tasks", "walkr"], "'walker'"), (["taks"], "'tasks'")])
def test_mistakes_end_with_code_2_and_no_traceback(arguments, near):
    done = polygait(*arguments)
    assert done.returncode == 2
    assert near in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3
