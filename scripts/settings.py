"""Print docs/settings.md: every setting with its meaning, from the records of learners and methods."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any

from polygait.config import TrainConfig
from polygait.config.settings import setting_text
from polygait.diversity.method import Method
from polygait.diversity.registry import METHODS
from polygait.learning.learner import Learner
from polygait.learning.registry import LEARNERS
from polygait.resolving import resolve
from polygait.run_config import RunConfig
from polygait.tasks.defaults import PRESETS

OWN = ("polygait.learning.learners.", "polygait.diversity.methods.")
"""Where the learners and methods are defined that everybody has; those of other packages are left out."""
HEAD = """# Settings

Everything that `polygait train --set SECTION.NAME=VALUE …` can change, or a `TrainConfig` with
`overrides=("SECTION.NAME=VALUE",)`, or a study's file with `settings = ["SECTION.NAME=VALUE"]`. The two
columns are the presets' values for the Walker; what another robot needs is in its file in
`src/polygait/tasks/`. A run has the settings of its learner and of its method; a name that does not exist is
refused with the nearest one. A run's own values are in its `manifest.json`.

Several settings follow one `--set` or each their own. Counts, here and in every option and study file, may be
written 4096, 4_096, 250k, 1M or 1e6.

This page is made by `python scripts/settings.py > docs/settings.md`.
"""
TAIL = """
## Others

| setting | robust | paper | meaning |
|---|---|---|---|
| `keep` | validated | best-episode | {keep} |
| `fade` | 0.0 | 0.0 | {fade} |
| `guard` | 0.0 | 0.0 | {guard} |
| `task.max_episode_steps` | 1000 | 1000 | The time limit of an episode; 2000 for Minitaur in `paper`. |
| `task.randomize` | true | true | Minitaur: another robot in every episode. |
| `task.right_foot_friction` | 1.9 | 0.9 | Walker: friction of the right foot; 0.9 before Gymnasium v5. |
| `task.contact_forces` | true | false | Ant: whether the state has the contact forces. |
"""


def meanings(record: type) -> dict[str, str]:
    """The sentences that follow the fields of a record, its own and those it inherits."""
    found = {}
    for kind in filter(dataclasses.is_dataclass, reversed(record.mro())):
        (body,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                found[field.target.id] = " ".join(str(below.value.value).split())
    return found


def value(config: RunConfig, section: str, name: str) -> str:
    """A setting's value as --set takes it."""
    found = getattr(config.sections[section], name)
    if name == "anneal_iterations" and found == config.iterations:
        return "all"
    return setting_text(found)


def print_section(title: str, owner: type[Learner | Method], **options: Any) -> None:
    """The settings of one learner or method."""
    presets = [resolve(TrainConfig("walker", preset=name, **options)) for name in PRESETS]
    told = meanings(owner.Config)
    print(f"## {title}\n\n| setting | {' | '.join(PRESETS)} | meaning |\n|---|---|---|---|")
    for field in dataclasses.fields(owner.Config):
        values = " | ".join(value(one, owner.name, field.name) for one in presets)
        meaning = told[field.name].replace("|", "\\|")
        print(f"| `{owner.name}.{field.name}` | {values} | {meaning} |")
    print()


def main() -> None:
    """Print the page."""
    print(HEAD)
    for learner in LEARNERS.all():
        if learner.__module__.startswith(OWN):
            title = f"{learner.name.upper()} (`--learner {learner.name}`)"
            print_section(title, learner, learner=learner.name, method="multi")
    for method in METHODS.all():
        if method.__module__.startswith(OWN) and dataclasses.fields(method.Config):
            print_section(f"{method.title} (`--method {method.name}`)", method, method=method.name)
    print(TAIL.format(**meanings(RunConfig)).strip())


if __name__ == "__main__":
    main()
