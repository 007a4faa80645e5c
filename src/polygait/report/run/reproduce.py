"""The command that makes a run again."""

from __future__ import annotations

import dataclasses
import json
import shlex

from polygait.config import TrainConfig
from polygait.config.settings import setting_text
from polygait.run_config import RunConfig, resolve


def train_command(config: RunConfig, out: str) -> str:
    """`polygait train …` with all that differs from its preset."""
    asked = ("task", "method", "members", "steps", "seed", "preset")
    learner = config.learner.name
    base = resolve(TrainConfig(**{name: getattr(config, name) for name in asked}, learner=learner))
    words = ["polygait", "train", config.task, "--method", config.method, "--members", str(config.members)]
    words += ["--steps", str(config.steps), "--seed", str(config.seed)]
    if config.preset != TrainConfig.preset:
        words += ["--preset", config.preset]
    if learner != TrainConfig.learner:
        words += ["--learner", learner]
    for name in ("alpha", "envs"):
        if getattr(config, name) != getattr(base, name):
            words += [f"--{name}", setting_text(getattr(config, name))]
    if config.worlds:
        words += ["--worlds", config.worlds]
    if config.curriculum:
        words += ["--curriculum", setting_text(config.curriculum)]
    if config.remove is not None and config.remove != base.remove:
        words += ["--remove", *config.remove]
    if settings := _settings(config, base):
        words += ["--set", *settings]
    return shlex.join([*words, "--out", out])


def _settings(config: RunConfig, base: RunConfig) -> list[str]:
    """Every setting that differs, as section.field=value; those of other methods mean nothing here."""
    found = [] if config.keep == base.keep else [f"keep={config.keep}"]
    for name, value in config.task_options.items():
        if base.task_options.get(name) != value:
            found.append(f"task.{name}={json.dumps(value)}")  # JSON's scalars are TOML's
    for section, part in config.sections.items():
        usual = base.sections[section]
        found += [
            f"{section}.{one.name}={setting_text(getattr(part, one.name))}"
            for one in dataclasses.fields(part)
            if getattr(part, one.name) != getattr(usual, one.name)
        ]
    return found
