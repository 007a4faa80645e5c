"""The command that makes a run again."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping
from typing import Any

from polygait.config import TrainConfig
from polygait.config.settings import setting_text
from polygait.resolving import resolve
from polygait.run_config import RunConfig

_ALWAYS = ("method", "members", "steps", "seed")
"""Options that are told even where they are the usual ones."""


def run_command(config: RunConfig, manifest: Mapping[str, Any], out: str) -> str:
    """The command of a run: `polygait train …`, or `polygait finetune …` where it started from a member."""
    if "origin" not in manifest:
        return train_command(config, out)
    origin = manifest["origin"]
    words = ["polygait", "finetune", origin["run"], "--variation", origin["variation"]]
    words += ["--member", str(origin["member"]), "--steps", str(config.steps), "--seed", str(config.seed)]
    if origin["settings"]:
        words += ["--set", *origin["settings"]]
    return shlex.join([*words, "--out", out])


def train_command(config: RunConfig, out: str) -> str:
    """`polygait train …` with all that differs from its preset."""
    found = {**vars(config), "learner": config.learner.name}
    options = [one for one in dataclasses.fields(TrainConfig) if one.name in found]
    fixed = {one.name: found[one.name] for one in options if one.default is not None or one.name in _ALWAYS}
    base, always = resolve(TrainConfig(**fixed)), _ALWAYS
    if config.diversity is None and base.diversity is not None:
        # The usual alpha is said too: without it the bonus would be a share of what the task pays.
        base, always = resolve(TrainConfig(**fixed, alpha=config.alpha)), (*_ALWAYS, "alpha")
    words = ["polygait", "train", config.task]
    for name, default in ((one.name, one.default) for one in options if one.name != "task"):
        usual = default if name in fixed else getattr(base, name)
        if name in always or found[name] not in (usual, None):
            several = isinstance(found[name], tuple)
            words += [
                f"--{name.replace('_', '-')}",
                *(found[name] if several else [setting_text(found[name])]),
            ]
    if settings := _settings(config, base):
        words += ["--set", *settings]
    return shlex.join([*words, "--out", out])


def _settings(config: RunConfig, base: RunConfig) -> list[str]:
    """Every setting that differs, as section.field=value; those of other methods mean nothing here."""
    found = [
        f"{name}={setting_text(getattr(config, name))}"
        for name in ("keep", "fade", "guard")
        if getattr(config, name) != getattr(base, name)
    ]
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
