"""Real processes and real signals: locks, kills at any moment."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from polygait.errors import UserError
from polygait.population.store import RunFolder

HOLD = """
import sys
from polygait.population.store import RunFolder
run = RunFolder.open(sys.argv[1])
with run.writing():
    print("ready", flush=True)
    sys.stdin.readline()
"""

TRY = """
import sys
from polygait.errors import UserError
from polygait.population.store import RunFolder
try:
    with RunFolder.open(sys.argv[1]).writing():
        print("got it")
except UserError as error:
    print(error)
"""

HOLD_WITH_CHILDREN = """
import os, subprocess, sys, time
from polygait.population.store import RunFolder
run = RunFolder.open(sys.argv[1])
with run.writing():
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    forked = os.fork()
    if forked == 0:
        try:
            run.append_metrics({})
            os.write(1, b"the child may write\\n")
        except RuntimeError:
            os.write(1, b"the child may not write\\n")
        os.close(1), os.close(2)
        time.sleep(60)
        os._exit(0)
    time.sleep(0.2)
    print(started.pid, forked, flush=True)
    time.sleep(60)
"""

TRAIN = """
import sys
import numpy as np
from polygait.population.store import RunFolder
run = RunFolder.open(sys.argv[1])
with run.writing():
    checkpoint = run.load_checkpoint()
    iteration = checkpoint.iteration if checkpoint else 0
    run.truncate_metrics(checkpoint.metadata["metrics"] if checkpoint else 0)
    print("ready", flush=True)
    while True:
        iteration += 1
        run.append_metrics({"iteration": iteration})
        if iteration % 3 == 0:
            value = np.full(2000, iteration, dtype=np.float64)
            run.save_member(iteration % 4, {"value": value}, iteration, {"iteration": iteration})
        if iteration % 2 == 0:
            run.sync_metrics()
            tensors = {"value": np.full(20000, iteration, dtype=np.float64)}
            run.save_checkpoint(iteration, tensors, {"metrics": run.metrics_size()})
"""


def wait_until_ready(child):
    assert child.stdout.readline() == "ready\n", child.communicate()


def test_a_second_process_is_told_who_writes_and_may_read(run, start):
    holder = start(HOLD, run.path)
    wait_until_ready(holder)
    with pytest.raises(UserError, match=f"Process {holder.pid} is writing") as caught, run.writing():
        pass
    assert f"kill {holder.pid}" in caught.value.remedy
    answer = start(TRY, run.path).communicate()[0]
    assert f"Process {holder.pid} is writing {run.path}" in answer
    assert RunFolder.open(run.path).metrics() == []
    holder.communicate("\n")
    with run.writing():
        assert (run.path / "lock").read_text().split()[0] == str(os.getpid())
    assert (run.path / "lock").read_text() == ""
    assert start(TRY, run.path).communicate()[0] == "got it\n"


def test_one_process_cannot_write_twice_at_once(run):
    with run.writing():
        with pytest.raises(UserError, match="This process") as caught, RunFolder.open(run.path).writing():
            pass
        assert caught.value.remedy
        with pytest.raises(UserError, match="This process"), run.writing():
            pass
        run.append_metrics({"still": "writing"})
    with run.writing():
        pass


def test_the_lock_is_free_after_a_kill(run, start):
    holder = start(HOLD, run.path)
    wait_until_ready(holder)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with run.writing():
        run.update_manifest({"complete": True})
    assert RunFolder.open(run.path).complete


def test_children_do_not_keep_the_lock(run, start):
    holder = start(HOLD_WITH_CHILDREN, run.path)
    answer = holder.stdout.readline()
    children = [int(word) for word in holder.stdout.readline().split()]
    try:
        assert answer == "the child may not write\n"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with run.writing():
            for child in children:
                os.kill(child, 0)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


def test_a_lock_held_on_another_machine_or_without_a_note(run, start):
    holder = start(HOLD, run.path)
    wait_until_ready(holder)
    (run.path / "lock").write_text("17 far-away\n")
    with pytest.raises(UserError, match="Process 17 on 'far-away'"), run.writing():
        pass
    (run.path / "lock").write_bytes(b"\xff\xfe garbage")
    with pytest.raises(UserError, match="Another process"), run.writing():
        pass


@pytest.mark.slow
def test_a_run_killed_at_any_moment_opens_with_whole_contents(run, start):
    chance = random.Random(0)
    reached = 0
    for kill in range(24):
        child = start(TRAIN, run.path)
        wait_until_ready(child)
        time.sleep(chance.uniform(0.0, 0.15))
        child.send_signal(signal.SIGKILL)
        child.wait()
        opened = RunFolder.open(run.path)
        checkpoint = opened.load_checkpoint()
        if checkpoint is not None:
            assert checkpoint.iteration >= reached and checkpoint.skipped == ()
            reached = checkpoint.iteration
            np.testing.assert_array_equal(checkpoint.tensors["value"], np.full(20000, float(reached)))
        for index, entry in opened.members.items():
            member = opened.load_member(index)["value"]
            np.testing.assert_array_equal(member, np.full(2000, float(entry.summary["iteration"])))
        steps = [record["iteration"] for record in opened.metrics()]
        assert steps == list(range(1, len(steps) + 1)) and len(steps) >= reached, kill
    assert reached > 10
    with run.writing():
        assert not list(run.path.rglob("*.tmp"))


def test_reading_beside_a_writer_never_fails(run, start):
    writer = start(TRAIN, run.path)
    wait_until_ready(writer)
    newest = 0
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        checkpoint = RunFolder.open(run.path).load_checkpoint()
        if checkpoint is not None:
            assert checkpoint.iteration >= newest and checkpoint.skipped == ()
            newest = checkpoint.iteration
        RunFolder.open(run.path).metrics()
    assert newest > 0


def test_two_processes_begin_one_run(tmp_path, start, description):
    program = (
        "import json, sys\n"
        "from polygait.errors import UserError\n"
        "from polygait.population.store import RunFolder\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    RunFolder.create(sys.argv[1], json.loads(sys.argv[2]))\n"
        "    print('created')\n"
        "except UserError as error:\n"
        "    print('refused')\n"
    )
    text = '{"config":{},"task":"t","layout":[],"filter":{},"versions":{},"seeds":0}'
    children = [start(program, tmp_path / "run", text) for _ in range(4)]
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    answers = sorted(child.communicate()[0] for child in children)
    assert answers == ["created\n", "refused\n", "refused\n", "refused\n"]
    RunFolder.open(tmp_path / "run")


def test_opening_a_run_loads_no_jax(run):
    program = "import sys, polygait.population; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
