"""The command on a page makes the same configuration."""

import shlex

import pytest
import tyro

import polygait as pg
from polygait.commands import training
from polygait.report.run.reproduce import train_command
from polygait.resolving import resolve


def read_back(command, monkeypatch):
    """The configuration that polygait would train after reading a command."""
    seen = []
    monkeypatch.setattr("polygait.runs.train", lambda config, out, report: seen.append((config, out)))
    monkeypatch.setattr(training, "show_training", lambda path, work, tensorboard: work(None))
    program, command, *words = shlex.split(command)
    assert (program, command) == ("polygait", "train")
    tyro.cli(training.train, args=words)
    ((config, out),) = seen
    return resolve(config), out


@pytest.mark.parametrize(
    "config",
    [
        pg.TrainConfig("walker"),
        pg.TrainConfig("ant", preset="paper", members=3, seed=7),
        pg.TrainConfig("hopper", method="dvd", members=2, alpha=0.2, envs=32),
        pg.TrainConfig("walker", remove=("right_leg.*", "torso.velocity")),
        pg.TrainConfig("walker", alpha=0.05),
        pg.TrainConfig("walker", method="pg", members=1, steps=5000),
        pg.TrainConfig(
            "walker",
            overrides=(
                "ppo.policy_hidden=32,16",
                "ppo.learn_std=true",
                "dir.bound=none",
                "keep=best-episode",
            ),
        ),
        pg.TrainConfig("minitaur", overrides=("task.max_episode_steps=2000", "task.randomize=false")),
        pg.TrainConfig("minitaur", preset="paper"),
        pg.TrainConfig("hopper", method="pg", learner="sac", overrides=("sac.updates_per_step=0.5",)),
        pg.TrainConfig("walker", overrides=("ppo.anneal_iterations=0", "ppo.learning_rate=1e-5")),
    ],
)
def test_the_command_makes_the_same_configuration(config, monkeypatch):
    resolved = resolve(config)
    found, out = read_back(train_command(resolved, "runs/a b"), monkeypatch)
    assert found == resolved and out == "runs/a b"


def test_what_is_usual_is_left_out():
    command = train_command(resolve(pg.TrainConfig("walker", members=5, steps=1_000_000)), "runs/walker")
    assert (
        command == "polygait train walker --method dir --members 5 --steps 1000000 --seed 0 --out runs/walker"
    )
