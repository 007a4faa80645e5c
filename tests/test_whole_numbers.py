"""Values of a wrong kind: refused by name, in a process of its own since tests refuse them even earlier."""

import subprocess
import sys
from pathlib import Path

CODE = """
import shutil, sys
import numpy as np
import polygait as pg
from polygait.config import FiltersConfig

shutil.copytree(sys.argv[1], sys.argv[2])
population = pg.load(sys.argv[2])
whole = "must be a whole number"

def refused(words, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except pg.UserError as error:
        assert words in str(error), error
    else:
        raise AssertionError((words, call, options))

for seed in (1.5, True, "1", None):
    refused(f"seed {whole}, got {seed!r}", pg.make_task, "hopper", seed=seed)
    refused(f"seed {whole}, got {seed!r}", pg.make_task, "gym:Pendulum-v1", seed=seed)
    refused(f"seed {whole}, got {seed!r}", pg.adapt, population, seed=seed)
    refused(f"seed {whole}, got {seed!r}", pg.evaluate, population, seed=seed)
    refused(f"seed {whole}, got {seed!r}", pg.diversity_score, population, seed=seed)
    refused(f"seed {whole}, got {seed!r}", pg.contact_pattern, population, seed=seed)
    assert FiltersConfig(seed=seed).problems() == [f"`seed` {whole}, got {seed!r}."]
    if seed is not None:
        refused(f"seed {whole}", pg.train, pg.TrainConfig("hopper", seed=seed), "nowhere")
for limit in (True, 1.5, "5", 0):
    refused("max_episode_steps must be", pg.make_task, "hopper", max_episode_steps=limit)
    refused("max_episode_steps must be", pg.make_task, "gym:Pendulum-v1", max_episode_steps=limit)
for count in (2.5, True, "2"):
    refused(f"num_envs {whole}", pg.make_task, "hopper", num_envs=count)
    refused(f"num_threads {whole}", pg.make_task, "hopper", num_threads=count)
    for name in ("episodes", "held_out", "threads"):
        refused(f"{name} {whole}", pg.adapt, population, **{name: count})
    refused(f"trials {whole}", pg.adapt, population, selector="racing", trials=count)
    refused(f"episodes {whole}", pg.evaluate, population, episodes=count)
    refused(f"members {whole}", pg.extend, sys.argv[2], pg.Extension(count))
made = pg.make_task("hopper", num_envs=np.int64(2), seed=np.int64(3), max_episode_steps=np.int32(7))
assert np.array_equal(made.reset(), pg.make_task("hopper", num_envs=2, seed=3).reset())
assert made.max_episode_steps == 7
"""


def test_seeds_limits_and_counts_are_whole_numbers(tmp_path):
    population = Path(__file__).parent / "data" / "hopper-dir"
    command = [sys.executable, "-c", CODE, str(population), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
