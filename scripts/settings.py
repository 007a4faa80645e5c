"""Print docs/settings.md: every setting of a run with its meaning, from the records in polygait.config."""

from __future__ import annotations

import ast
import dataclasses
import inspect

from polygait.config import TrainConfig
from polygait.presets import SECTIONS, RunConfig, resolve, setting_text

HEAD = """# Settings

Everything that `polygait train --set SECTION.NAME=VALUE …` can change, or a `TrainConfig` with
`overrides=("SECTION.NAME=VALUE",)`, or a study's file with `settings = ["SECTION.NAME=VALUE"]`. The two
columns are the presets' values for the Walker; for other robots see `src/polygait/presets.py`. A name that
does not exist is refused with the nearest one. A run's own values are in its `manifest.json`.

Several settings follow one `--set` or each their own. Counts, here and in every option and study file, may be
written 4096, 4_096, 250k, 1M or 1e6.

This page is made by `python scripts/settings.py > docs/settings.md`.
"""
TITLES = {
    "ppo": "How one policy learns",
    "dir": "Diversity in Regulation (`--method dir`)",
    "smerl": "SMERL (`--method smerl`)",
    "dvd": "DvD (`--method dvd`)",
}
TAIL = """
## Others

| setting | robust | paper | meaning |
|---|---|---|---|
| `keep` | last | best-episode | {keep} |
| `task.max_episode_steps` | 1000 | 1000 | The time limit of an episode; 2000 for Minitaur in `paper`. |
| `task.randomize` | true | true | Minitaur: another robot in every episode. |
| `task.contact_forces` | true | false | Ant: whether the state has the contact forces. |
"""


def meanings(record: type) -> dict[str, str]:
    """The sentences that follow the fields of a record."""
    (body,) = ast.parse(inspect.getsource(record)).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            assert isinstance(field.target, ast.Name) and isinstance(below.value, ast.Constant)
            found[field.target.id] = " ".join(str(below.value.value).split())
    return found


def value(config: RunConfig, section: str, name: str) -> str:
    """A setting's value as --set takes it."""
    found = getattr(getattr(config, section), name)
    if name == "anneal_iterations" and found == config.iterations:
        return "all"
    return setting_text(found)


def main() -> None:
    """Print the page."""
    print(HEAD)
    presets = [resolve(TrainConfig("walker", preset=name)) for name in ("robust", "paper")]
    for section, record in SECTIONS.items():
        told = meanings(record)
        print(f"## {TITLES[section]}\n\n| setting | robust | paper | meaning |\n|---|---|---|---|")
        for field in dataclasses.fields(record):
            values = " | ".join(value(one, section, field.name) for one in presets)
            meaning = told[field.name].replace("|", "\\|")
            print(f"| `{section}.{field.name}` | {values} | {meaning} |")
        print()
    print(TAIL.format(keep=meanings(RunConfig)["keep"]).strip())


if __name__ == "__main__":
    main()
