"""Files of results: several processes leave theirs in one folder, and nobody's is lost."""

import time

import pytest

from polygait.errors import UserError
from polygait.population import results
from polygait.population.results import save_bytes, writing_results

ADD_LINES = """
import sys
from pathlib import Path
from polygait.population.results import replace_result, writing_results
folder, name = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for count in range(20):
    with writing_results(folder):
        file = folder / "lines.txt"
        known = file.read_bytes() if file.exists() else b""
        replace_result(file, known + f"{name}.{count}\\n".encode())
print("done", flush=True)
"""

SAVE = """
import sys
from pathlib import Path
from polygait.population.results import save_bytes
print("ready", flush=True)
save_bytes(Path(sys.argv[1]), "mine.txt", b"mine")
print("done", flush=True)
"""


def test_every_process_has_its_turn(tmp_path, start):
    children = [start(ADD_LINES, tmp_path, name) for name in "abcde"]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    assert [child.communicate()[0] for child in children] == ["done\n"] * 5
    lines = (tmp_path / "lines.txt").read_text().split()
    assert sorted(lines) == sorted(f"{name}.{count}" for name in "abcde" for count in range(20))


def test_a_writer_waits_for_its_turn(tmp_path, start):
    with writing_results(tmp_path):
        child = start(SAVE, tmp_path)
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.2)
        assert child.poll() is None and not (tmp_path / "mine.txt").exists()
    assert child.communicate()[0] == "done\n" and (tmp_path / "mine.txt").read_bytes() == b"mine"


def test_who_holds_a_turn_for_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "_TURN_SECONDS", 0.1)
    with writing_results(tmp_path), pytest.raises(UserError, match="This process"):
        save_bytes(tmp_path, "mine.txt", b"mine")
    assert not (tmp_path / "mine.txt").exists()


def test_what_a_killed_writer_left_is_cleaned_up(tmp_path):
    (tmp_path / ".old.json.tmp").write_bytes(b"half of")
    save_bytes(tmp_path, "new.json", b"{}")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".lock", "new.json"]
