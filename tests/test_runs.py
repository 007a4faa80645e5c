"""train, resume, extend: the same bits however a run is interrupted, and damage that is named."""

import dataclasses
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import polygait as pg
from polygait import cli
from polygait.errors import UserError
from polygait.population.store import RunFolder
from tests import tiny
from tests.tiny import Killed, Terminal, assert_same_run, crash_at, crashed, digests

MULTI = {"method": "multi", "members": 3}
SMERL = {"method": "smerl", "members": 3}
DVD = {"method": "dvd", "members": 3}
WORLDS = {
    "worlds": "nominal, broken(any(*)):hold@2..9, delay=0..2, sensor(any(*)):drop=0.3, push=-20..20N@random",
    "curriculum": 0.5,
}
PAPER = {"preset": "paper", "steps": 1000}
POSTURES: dict[str, Any] = {"alpha": None}
SPECIALISTS = {"members": 4, "specialists": 2, "against": "delay=2, gravity=1.4", "specialist_steps": 64 * 30}
PENDULUM = {"task": "gym:Pendulum-v1", "envs": 4, "remove": ("*",)}


pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run left alone."""
    out = tmp_path_factory.mktemp("finished") / "run"
    tiny.train(out)
    return out


@pytest.fixture
def terminal():
    opened = Terminal()
    yield opened
    opened.close()


LONG = tiny.config(iterations=24)
LONG_LINES = 48


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory):
    """A longer run that another process trained without a stop."""
    out = tmp_path_factory.mktemp("alone") / "run"
    opened = Terminal()
    done = opened.run(*tiny.words(LONG, out))
    opened.close()
    assert done.returncode == 0, done.stderr
    return out


def newest_checkpoint(run: Path) -> Path:
    return max((run / "checkpoints").iterdir())


# Real processes and real signals.


def killed_until_finished(terminal, command, out, kills, lines):
    """Kill a run `kills` times, each time further on, then let it end."""
    chance = random.Random(0)
    killed = 0
    at = sorted(chance.sample(range(1, lines), kills))
    for line in at:
        words = command if not (out / "manifest.json").exists() else ["resume", out]
        child = terminal.start(*words, checkpoint_seconds=0.0)
        tiny.wait_for_lines(child, out, line)
        time.sleep(chance.uniform(0.0, 0.04))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        killed += child.returncode == -signal.SIGKILL
        assert tiny.group_is_gone(child)
    done = terminal.run("resume", out)
    assert done.returncode == 0, done.stderr
    return killed


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_in_the_same_bits(terminal, left_alone, tmp_path):
    out = tmp_path / "run"
    killed = killed_until_finished(terminal, tiny.words(LONG, out), out, kills=2, lines=LONG_LINES)
    assert killed >= 1
    assert_same_run(out, left_alone)


def check_kills(terminal, tmp_path, wanted, kills, lines):
    alone, often = tmp_path / "alone", tmp_path / "often"
    done = terminal.run(*tiny.words(wanted, alone))
    assert done.returncode == 0, done.stderr
    assert killed_until_finished(terminal, tiny.words(wanted, often), often, kills, lines) >= kills - 1
    assert_same_run(often, alone)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({}, 60),
        (MULTI, 30),
        (SMERL, 30),
        (DVD, 30),
        (PENDULUM, 60),
        ({"method": "pg", "members": 1}, 30),
        (WORLDS, 60),
        ({**PAPER, "steps": 20_000}, 17),
        (POSTURES, 60),
        (SPECIALISTS, 120),
    ],
    ids=["dir", "multi", "smerl", "dvd", "pendulum", "pg", "worlds", "paper", "postures", "specialists"],
)
def test_ten_kills(terminal, tmp_path, options, lines):
    check_kills(terminal, tmp_path, tiny.config(iterations=30, **options), kills=10, lines=lines)


@pytest.mark.slow
def test_kills_with_the_best_episode_kept(terminal, tmp_path):
    check_kills(terminal, tmp_path, tiny.config("keep=best-episode", iterations=12), kills=4, lines=24)


@pytest.mark.slow
def test_an_interrupted_run_is_saved_locked_and_resumed(terminal, left_alone, tmp_path):
    """Ctrl-C, and before it what a second process may do: nothing but read."""
    out = tmp_path / "run"
    child = terminal.start(*tiny.words(LONG, out))
    tiny.wait_for_lines(child, out, 3)
    child.send_signal(signal.SIGSTOP)
    with pytest.raises(UserError, match=f"Process {child.pid} is writing"):
        pg.resume(out)
    with pytest.raises(UserError, match="There is a run in"):
        pg.train(LONG, out)
    with pytest.raises(UserError, match="is not finished"):
        pg.extend(out, pg.Extension(1))
    with pytest.raises(UserError, match="no finished member yet"):
        pg.load(out)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGCONT)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 130
    assert f"polygait resume {out}" in errors and "Traceback" not in errors
    assert tiny.group_is_gone(child)
    reached = len(RunFolder.open(out).metrics())
    assert 3 <= reached < 24
    assert newest_checkpoint(out).stem == f"{reached:08d}"  # saved then, not some seconds before

    done = terminal.run("resume", out)
    assert done.returncode == 0, done.stderr
    assert "2 members" in done.stdout
    assert_same_run(out, left_alone)

    before = digests(out)
    again = terminal.run("resume", out)
    assert again.returncode == 0
    assert "already finished" in again.stdout and f"polygait extend {out}" in again.stdout
    assert digests(out) == before


@pytest.mark.slow
def test_being_asked_to_end_saves_too(terminal, tmp_path):
    out = tmp_path / "run"
    child = terminal.start(*tiny.words(tiny.config(iterations=60), out))
    tiny.wait_for_lines(child, out, 2)
    child.send_signal(signal.SIGTERM)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 130 and f"polygait resume {out}" in errors
    assert newest_checkpoint(out).stem == f"{len(RunFolder.open(out).metrics()):08d}"


@pytest.mark.slow
def test_the_verbs_name_mistakes_without_a_traceback(terminal, tmp_path):
    out = tmp_path / "run"
    assert terminal.run(*tiny.words(tiny.config(iterations=1), out)).returncode == 0
    for words in (
        tiny.words(tiny.config(), out),
        ["train", "hoper", "--out", tmp_path / "other"],
        ["train", "hopper", "--out", tmp_path / "other", "--set", "ppo.epoch=3"],
        ["train", "hopper", "--out", tmp_path / "other", "--remove", "wing.*"],
        ["resume", tmp_path / "nowhere"],
        ["extend", out],
        ["extend", out, "--members", "0"],
    ):
        done = terminal.run(*words)
        assert done.returncode == 2, words
        assert "Traceback" not in done.stderr and done.stderr.startswith("polygait: ")
        assert len(done.stderr.strip().splitlines()) <= 3
    assert not (tmp_path / "other").exists()
    extended = terminal.run("extend", out, "--members", "1")
    assert extended.returncode == 0 and "3 members" in extended.stdout


# Crashes at chosen places, in this process.


@pytest.mark.parametrize("at", [1, 2, 3, 4, 6])
def test_a_crash_at_any_iteration_changes_nothing(at, finished, tmp_path, monkeypatch):
    crashed(tmp_path / "run", at, monkeypatch, tiny.config())
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", finished)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "call"), [("save_member", 0), ("clear_checkpoints", 0)])
@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
def test_a_crash_while_members_are_written_changes_nothing(
    command, call, afterwards, finished, tmp_path, monkeypatch
):
    original = getattr(RunFolder, command)

    def crash(self, *arguments):
        if afterwards:
            original(self, *arguments)
        raise Killed

    with monkeypatch.context() as broken, pytest.raises(Killed):
        broken.setattr(RunFolder, command, crash)
        tiny.train(tmp_path / "run")
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", finished)


def test_a_cohort_half_written_is_written_again(tmp_path, monkeypatch):
    tiny.train(tmp_path / "alone", **MULTI)
    original = RunFolder.save_member

    def crash(self, index, *arguments):
        if index == 2:
            raise Killed
        original(self, index, *arguments)

    with monkeypatch.context() as broken, pytest.raises(Killed):
        broken.setattr(RunFolder, "save_member", crash)
        tiny.train(tmp_path / "run", **MULTI)
    assert sorted(RunFolder.open(tmp_path / "run").members) == [0, 1]
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "alone")


@pytest.mark.parametrize("options", [MULTI, SMERL, DVD, PENDULUM], ids=["multi", "smerl", "dvd", "pendulum"])
def test_other_methods_and_tasks_resume_exactly(options, tmp_path, monkeypatch):
    wanted = tiny.config(**options)
    pg.train(wanted, tmp_path / "alone")
    crashed(tmp_path / "run", 2, monkeypatch, wanted)
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "alone")


def test_postures_resume_exactly_in_the_member_that_has_a_bonus(tmp_path, monkeypatch):
    wanted = tiny.config("fade=1", **POSTURES)
    population = pg.train(wanted, tmp_path / "alone")
    own = population.config.method_config
    assert own.objective == "posture" and own.enough and own.regulate
    crashed(tmp_path / "run", 5, monkeypatch, wanted)
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "alone")


@pytest.mark.parametrize("preset", ["robust", pytest.param("paper", marks=pytest.mark.slow)])
def test_classifiers_resume_exactly_in_the_member_that_has_a_bonus(preset, tmp_path, monkeypatch):
    """In `robust`; and in `paper`, whose rollouts of whole episodes vary in size."""
    wanted = tiny.config("dir.objective=classifier")
    if preset == "paper":
        settings = ("ppo.episodes_per_iteration=6", "task.max_episode_steps=30")
        wanted = tiny.config("dir.objective=classifier", *settings, **{**PAPER, "steps": 300, "envs": 4})
    pg.train(wanted, tmp_path / "alone")
    log = RunFolder.open(tmp_path / "alone").metrics()
    second = [record["members"] == [1, 2] for record in log]
    assert ["classified" in record for record in log] == second
    crashed(tmp_path / "run", second.index(True) + 2, monkeypatch, wanted)
    assert len(RunFolder.open(tmp_path / "run").members) == 1
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "alone")
    if preset == "robust":
        pg.extend(tmp_path / "run", pg.Extension(members=1))
        pg.train(dataclasses.replace(wanted, members=3), tmp_path / "longer")
        assert_same_run(tmp_path / "run", tmp_path / "longer")


@pytest.mark.parametrize("member", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_whole_episodes_resume_exactly(member, tmp_path, monkeypatch):
    """In the first member, or in the second, which has a bonus."""
    settings = ("ppo.episodes_per_iteration=6", "ppo.anneal_iterations=none", "fade=0.9")
    settings += ("task.max_episode_steps=30",)
    wanted = tiny.config(*settings, **{**PAPER, "steps": 300, "envs": 4})
    pg.train(wanted, tmp_path / "alone")
    log = RunFolder.open(tmp_path / "alone").metrics()
    lines = [sum(record["members"] == [one, one + 1] for record in log) for one in range(2)]
    assert min(lines) >= 2
    crashed(tmp_path / "run", member * lines[0] + 2, monkeypatch, wanted)
    assert len(RunFolder.open(tmp_path / "run").members) == member
    pg.resume(tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "alone")


def test_the_number_of_threads_changes_no_bit(finished, tmp_path, monkeypatch):
    for threads in (1, 2):
        out = tmp_path / str(threads)
        pg.train(tiny.config(threads=threads), out)
        assert_same_run(out, finished)
    crashed(tmp_path / "changed", 2, monkeypatch, tiny.config(threads=1))
    pg.resume(tmp_path / "changed", threads=2)
    assert_same_run(tmp_path / "changed", finished)


# More members.


def test_extending_leaves_members_untouched_and_finds_what_a_longer_run_finds(finished, tmp_path):
    short, long = tmp_path / "short", tmp_path / "long"
    shutil.copytree(finished, short)
    before = digests(short)
    times = {file.name: file.stat().st_mtime_ns for file in (short / "members").iterdir()}
    extended = pg.extend(short, pg.Extension(members=1))
    assert len(extended) == 3 and extended.config.members == 3
    tiny.train(long, members=3)
    assert digests(short) == digests(long)
    assert before.items() < digests(short).items()
    for name, when in times.items():
        assert (short / "members" / name).stat().st_mtime_ns == when
    assert_same_run(short, long)


def test_an_interrupted_extension_goes_on(finished, tmp_path, monkeypatch):
    out, alone = tmp_path / "run", tmp_path / "alone"
    for copy in (out, alone):
        shutil.copytree(finished, copy)
    pg.extend(alone, pg.Extension(members=2))
    tiny.save_every_iteration(monkeypatch)
    with pytest.raises(Killed):
        pg.extend(out, pg.Extension(members=2), report=crash_at(2))
    assert not RunFolder.open(out).complete
    pg.resume(out)
    assert_same_run(out, alone)


def test_an_extension_ends_when_nothing_new_is_found(finished, tmp_path):
    once, never = tmp_path / "once", tmp_path / "never"
    for copy in (once, never):
        shutil.copytree(finished, copy)
    assert len(pg.extend(once, pg.Extension(members=3, until_novelty=1e9))) == 3
    assert len(pg.extend(never, pg.Extension(members=2, until_novelty=-1e9))) == 4
    for run in (once, never):
        folder = RunFolder.open(run)
        assert folder.complete and folder.manifest["config"]["members"] == len(folder.members)
        assert len(pg.resume(run)) == len(folder.members)


def test_an_interrupted_extension_keeps_its_limit(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    with pytest.raises(Killed):
        pg.extend(out, pg.Extension(members=3, until_novelty=1e9), report=crash_at(1))
    assert len(pg.resume(out)) == 3


def test_an_extension_may_run_out_of_time(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    assert len(pg.extend(out, pg.Extension(members=2, max_hours=1e-9))) == 2


def test_impossible_extensions_change_nothing(finished, tmp_path):
    before = digests(finished), (finished / "manifest.json").read_bytes()
    with pytest.raises(UserError) as caught:
        pg.extend(finished, pg.Extension(members=0, max_hours=-1.0))
    assert "members must be at least 1, got 0" in str(caught.value)
    assert "max_hours must be above 0, got -1.0" in str(caught.value)
    tiny.train(tmp_path / "pg", method="pg", members=1, iterations=1)
    with pytest.raises(UserError, match="pg trains one policy"):
        pg.extend(tmp_path / "pg", pg.Extension(1))
    with pytest.raises(UserError, match="until_novelty needs"):
        pg.extend(tmp_path / "pg", pg.Extension(1, until_novelty=1.0))
    assert (digests(finished), (finished / "manifest.json").read_bytes()) == before


@pytest.mark.parametrize("options", [SMERL, DVD], ids=["smerl", "dvd"])
def test_extending_members_that_train_together_adds_a_cohort_of_its_own(options, tmp_path):
    out = tmp_path / "run"
    tiny.train(out, **options)
    before = digests(out), (out / "manifest.json").read_bytes()
    with pytest.raises(UserError, match="needs another to differ from; extend by 2 or more"):
        pg.extend(out, pg.Extension(1))
    with pytest.raises(UserError, match="max_hours acts between members"):
        pg.extend(out, pg.Extension(2, max_hours=1.0))
    assert (digests(out), (out / "manifest.json").read_bytes()) == before
    with pytest.warns(
        UserWarning, match="the 2 new ones will differ among themselves; they do not know the 3"
    ):
        extended = pg.extend(out, pg.Extension(2))
    assert len(extended) == 5
    assert before[0].items() < digests(out).items()
    assert [record["members"] for record in RunFolder.open(out).metrics()] == [[0, 3]] * 3 + [[3, 5]] * 3


@pytest.mark.slow
def test_smerl_takes_its_target_from_a_run(tmp_path):
    reference = tiny.train(tmp_path / "pg", method="pg", members=3)
    assert [member.steps for member in reference.members] == [3 * 3 * 64]  # one policy, the steps of three
    wish = f"smerl.target_return={tmp_path / 'pg'}"
    population = tiny.train(tmp_path / "run", wish, **SMERL)
    assert population.config.method_config.target_return == reference.members[0].summary["training_return"]
    with pytest.raises(UserError, match="is a run of hopper, not of gym:Pendulum-v1"):
        tiny.train(tmp_path / "other", wish, method="smerl", **PENDULUM)
    with pytest.raises(UserError, match="Not a run folder"):
        tiny.train(tmp_path / "other", "smerl.target_return=3000O", **SMERL)
    tiny.train(tmp_path / "short", method="pg", iterations=1, **PENDULUM)  # its episodes last 200 steps
    with pytest.raises(UserError, match="ever ended an episode while it trained"):
        tiny.train(
            tmp_path / "other", f"smerl.target_return={tmp_path / 'short'}", method="smerl", **PENDULUM
        )
    assert not (tmp_path / "other").exists()


def test_the_verb_extends_by_as_many_as_asked(monkeypatch):
    asked = []

    def extend(path, extension, *_):
        asked.append(extension)
        raise Killed

    monkeypatch.setattr("polygait.runs.extend", extend)
    cases: list[tuple[str, pg.Extension, int]] = [
        ("--members 5", pg.Extension(5), 5),
        ("--members 0", pg.Extension(0), 0),  # which runs.extend refuses
        ("--until-novelty 2", pg.Extension(until_novelty=2.0), 100),
        ("--until-novelty 2 --max-members 7", pg.Extension(until_novelty=2.0, max_members=7), 7),
        ("--max-hours 3", pg.Extension(max_hours=3.0), 100),
    ]
    for words, wanted, most in cases:
        monkeypatch.setattr("sys.argv", ["polygait", "extend", "somewhere", *words.split()])
        with pytest.raises(Killed):
            cli.main()
        assert asked[-1] == wanted and wanted.most == most, words


def test_an_extension_has_one_end():
    assert pg.Extension(3, until_novelty=1.0).problems() == pg.Extension(max_hours=1.0).problems() == []
    (told,) = pg.Extension(max_members=3).problems()
    assert told.startswith("How far to extend?") and "`until_novelty=2`" in told
    (told,) = pg.Extension(members=3, max_members=3).problems()
    assert "exclude each other" in told


def test_multi_members_do_not_depend_on_their_number(tmp_path):
    two = tiny.train(tmp_path / "two", method="multi", members=2)
    three = tiny.train(tmp_path / "three", method="multi", members=3)
    for ours, theirs in zip(two.members, three.members, strict=False):
        ours_leaves, theirs_leaves = jax.tree.leaves(ours.policy), jax.tree.leaves(theirs.policy)
        for one, other in zip(ours_leaves, theirs_leaves, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
        assert ours.summary["training_return"] == pytest.approx(theirs.summary["training_return"], rel=1e-5)
    weights = [np.asarray(member.policy.policy.network.weights[0]) for member in three.members]
    assert not np.allclose(weights[0], weights[1], atol=1e-3)
    extended = pg.extend(tmp_path / "two", pg.Extension(1))
    np.testing.assert_allclose(
        np.asarray(extended.members[2].policy.policy.network.weights[0]), weights[2], rtol=1e-5, atol=1e-5
    )


# Damage.


def flip_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize("damage", [flip_a_bit, truncate])
def test_a_damaged_checkpoint_costs_time_but_no_bit(damage, finished, tmp_path, monkeypatch):
    out = tmp_path / "run"
    crashed(out, 3, monkeypatch, tiny.config())
    newest = newest_checkpoint(out)
    damage(newest)
    with pytest.warns(UserWarning, match="Passed over a damaged checkpoint") as caught:
        pg.resume(out)
    assert str(newest) in str(caught[0].message)
    assert_same_run(out, finished)


def test_with_every_checkpoint_damaged_nothing_is_guessed(tmp_path, monkeypatch):
    out = tmp_path / "run"
    crashed(out, 3, monkeypatch, tiny.config())
    for file in (out / "checkpoints").iterdir():
        truncate(file)
    with pytest.raises(UserError, match="No checkpoint can be read"):
        pg.resume(out)


@pytest.mark.parametrize("damage", [flip_a_bit, truncate, Path.unlink])
def test_a_damaged_member_is_named(damage, tmp_path, monkeypatch):
    out = tmp_path / "run"
    crashed(out, 5, monkeypatch, tiny.config())  # in the second member
    member = out / "members" / "000.safetensors"
    damage(member)
    for command in (pg.load, pg.resume):
        with pytest.raises(UserError, match="Damaged: ") as caught:
            command(out)
        assert str(member) in str(caught.value)


def test_a_run_of_a_newer_polygait_is_refused(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    for command in (pg.load, pg.resume, lambda path: pg.extend(path, pg.Extension(1))):
        with pytest.raises(UserError, match="newer polygait"):
            command(out)


def test_a_used_folder_is_left_alone(finished, tmp_path):
    before = tiny.contents(finished)
    with pytest.raises(UserError, match="There is a run in"):
        tiny.train(finished)
    assert tiny.contents(finished) == before
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="not empty"):
        tiny.train(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["letter.txt"]


def test_other_versions_are_mentioned(finished, tmp_path, monkeypatch):
    out = tmp_path / "run"
    crashed(out, 2, monkeypatch, tiny.config())
    folder = RunFolder.open(out)
    with folder.writing():
        folder.update_manifest({"versions": folder.manifest["versions"] | {"mujoco": "1.2.3"}})
    with pytest.warns(UserWarning, match=r"mujoco 1\.2\.3 → "):
        pg.resume(out)
    assert digests(out) == digests(finished)


def test_mistakes_leave_no_folder_behind(tmp_path):
    out = tmp_path / "run"
    for options, word in (
        ({"task": "hoper"}, "'hopper'"),
        ({"remove": ("wing.*",)}, "wing"),
        ({"envs": 7}, "envs 7 cannot share the 64 steps"),
        ({"task": "gym:Pendulm-v1"}, "Pendulum"),
    ):
        with pytest.raises(UserError, match=word):
            tiny.train(out, **options)
        assert not out.exists()
