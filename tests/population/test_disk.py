"""Disks that are full, read-only or limited: the error helps and nothing saved before is lost."""

import errno
import os
import shutil
import subprocess
import time

import numpy as np
import pytest

from polygait.errors import UserError
from polygait.storage.files import explaining_writes

PRIVATE_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount")

FILL = """
import json, subprocess, sys
from pathlib import Path
import numpy as np
from polygait.errors import UserError
from polygait.population.store import RunFolder

place, description = Path(sys.argv[1]), json.loads(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=True)
run = RunFolder.create(place / "run", description)

def refused(write, reason):
    try:
        write()
    except UserError as error:
        assert reason in str(error) and str(place) in str(error), error
        assert "polygait resume" in error.remedy and "intact" in error.remedy, error
    else:
        raise AssertionError("not refused")
    assert not list(place.rglob("*.tmp"))

with run.writing():
    run.append_metrics({"a": 1})
    run.save_checkpoint(1, {"a": np.ones(30_000)}, {})
    run.save_member(0, {"a": np.ones(30_000)}, 1, {})
    for _ in range(3):
        refused(lambda: run.save_checkpoint(2, {"a": np.ones(100_000)}, {}), "No space left")
        refused(lambda: run.save_member(1, {"a": np.ones(100_000)}, 1, {}), "No space left")
        refused(lambda: run.save_member(0, {"a": np.zeros(100_000)}, 1, {}), "No space left")
        refused(lambda: run.update_manifest({"config": {"a": "x" * 900_000}}), "No space left")
        refused(lambda: run.append_metrics({"a": "x" * 900_000}), "No space left")
    assert not run.complete and run.metrics() == [{"a": 1}]
    (place / "ballast").write_bytes(b"x")
    with open(place / "ballast", "ab", buffering=0) as ballast:
        try:
            while ballast.write(b"x" * 4096):
                pass
        except OSError:
            pass
with run.writing():
    refused(lambda: run.update_manifest({"complete": True}), "No space left")
subprocess.run(["mount", "-o", "remount,ro", place], check=True)
refused(lambda: run.writing().__enter__(), "Read-only")
run = RunFolder.open(place / "run")
assert (run.load_member(0)["a"] == 1).all() and list(run.members) == [0]
assert (run.load_checkpoint().tensors["a"] == 1).all() and run.load_checkpoint().skipped == ()
assert run.metrics() == [{"a": 1}] and run.manifest["config"] == {}
try:
    RunFolder.create(place / "other", description)
except UserError as error:
    assert "Read-only" in str(error) and "start again" in error.remedy
print("kept")
"""

LIMIT = """
import resource, sys
import numpy as np
from polygait.errors import UserError
from polygait.population.store import RunFolder
run = RunFolder.open(sys.argv[1])
with run.writing():
    run.save_checkpoint(1, {"a": np.ones(100)}, {})
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    run.append_metrics({"a": 1})
    for write in (
        lambda: run.save_checkpoint(2, {"a": np.ones(10_000)}, {}),
        lambda: run.append_metrics({"a": "x" * 30_000}),
    ):
        try:
            write()
        except UserError as error:
            assert "File too large" in str(error) and "ulimit" in error.remedy, error
        else:
            raise AssertionError
    run.append_metrics({"a": 2})
print("kept")
"""

DESCRIPTION = '{"config":{},"task":"t","layout":[],"filter":{},"versions":{},"seeds":0}'


def can_mount(place):
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    command = [*PRIVATE_MOUNTS, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_full_and_a_read_only_disk(tmp_path, start):
    if not can_mount(tmp_path):
        pytest.skip("this system does not allow mounting a small private disk")
    output, errors = start(FILL, tmp_path, DESCRIPTION, wrapper=PRIVATE_MOUNTS).communicate()
    assert output == "kept\n", errors


def test_a_limit_on_file_sizes(run, start):
    output, errors = start(LIMIT, run.path).communicate()
    assert output == "kept\n", errors
    assert run.load_checkpoint().iteration == 1 and run.metrics() == [{"a": 1}, {"a": 2}]
    assert not list(run.path.rglob("*.tmp"))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_the_right_to_write(run):
    run.path.chmod(0o500)
    try:
        with pytest.raises(UserError, match="Permission denied") as caught, run.writing():
            run.save_checkpoint(1, {"a": np.ones(1)}, {})
        assert "writable" in caught.value.remedy
    finally:
        run.path.chmod(0o700)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EDQUOT, "Free some space"),
        (errno.EROFS, "writable or choose another --out"),
        (errno.EACCES, "writable or choose another --out"),
        (errno.EIO, "Check the disk"),
    ],
)
def test_every_refusal_has_a_remedy(tmp_path, number, advice):
    with pytest.raises(UserError) as caught, explaining_writes(tmp_path / "file"):
        raise OSError(number, os.strerror(number))
    assert str(tmp_path / "file") in caught.value.problem and os.strerror(number) in caught.value.problem
    assert advice in caught.value.remedy and "last checkpoint, which is intact" in caught.value.remedy


def test_a_checkpoint_is_quick_to_save(run):
    tensors = {str(index): np.ones(6_500) for index in range(100)}
    times = []
    with run.writing():
        for iteration in range(5):
            before = time.process_time()  # leaves out the waiting for the disk
            run.save_checkpoint(iteration, tensors, {})
            times.append(time.process_time() - before)
    assert min(times) < 0.05
