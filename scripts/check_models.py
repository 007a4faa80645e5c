"""The table of docs/models.md: `tasks --check` on model files of others, one line each.

python scripts/check_models.py PATH_TO_SITE_PACKAGES/dm_control/suite/*.xml
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from polygait.tasks.check import GOOD, PROBLEM, check_task
from polygait.tasks.model_robot import robot_from_mjcf


def main(paths: list[str]) -> None:
    """Print one row per model file."""
    warnings.simplefilter("ignore")  # what MuJoCo finds old-fashioned in a file is not ours to mend
    print("| model | state, actions | feet found | answer |\n|---|---|---|---|")
    for path in paths:
        findings = check_task(path)
        problems = [one for one in findings if one.verdict == PROBLEM]
        told = [one.text if one.topic == "made" else f"{one.topic}: {one.text}" for one in problems]
        told = told or ["no problems"]
        told += [f"({one.topic}: {one.text})" for one in findings if one.verdict not in (GOOD, PROBLEM)]
        size = feet = "–"
        if findings[0].topic != "made":
            robot = robot_from_mjcf(path)
            law = robot.action_law
            assert law is not None
            kinds = ", ".join(f"{law.kinds.count(kind)} {kind}" for kind in dict.fromkeys(law.kinds))
            size, feet = f"{robot.layout.size}, {kinds}", ", ".join(robot.feet) or "none"
        name = "/".join(Path(path).parts[-2:])
        print(f"| {name} | {size} | {feet} | {'; '.join(told)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
