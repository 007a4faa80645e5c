"""How robots look on a terminal: a list, one in detail, what a check found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polygait.screen import console, print_table, styled

if TYPE_CHECKING:
    from rich.text import Text

    from polygait.tasks.check import Finding


def print_tasks(described: list[dict[str, Any]]) -> None:
    """All robots, a line each."""
    screen = console()
    rows = [
        (
            one["name"],
            str(one["observation_size"]),
            str(one["action_size"]),
            str(len(one["feet"])),
            ", ".join(one["removed"]),
            str(len(one.get("conditions", {}))),
        )
        for one in described
    ]
    print_table(
        screen, "", ("task", "state", "actions", "feet", "default filter removes", "conditions"), rows
    )
    screen.print("One robot's parts and conditions: polygait tasks NAME", style="dim")


def print_task(one: dict[str, Any]) -> None:
    """One robot: its state parts, conditions and names."""
    screen = console()
    screen.print(
        styled(one["name"], "bold"),
        f": {one['observation_size']} state numbers, {one['action_size']} actions, "
        f"{one['max_episode_steps']} steps an episode, feet: {', '.join(one['feet']) or 'none'}",
        sep="",
    )
    parts = [
        (
            part["name"],
            str(part["size"]),
            _shortened(part["numbers"]),
            _kept(part["kept"], part["size"]),
        )
        for part in one["parts"]
    ]
    for name, value in one.get("found", {}).items():
        screen.print(styled(name, "bold"), f": {_in_words(value)}", sep="", soft_wrap=True)
    print_table(screen, "State", ("part", "size", "numbers", "default filter"), parts)
    if "actions" in one:
        _print_actions(one["actions"])
    if "conditions" in one:
        print_table(screen, "Named conditions", ("condition", "stands for"), one["conditions"].items())
        for kind in ("joints", "motors", "bodies", "geoms"):
            screen.print(styled(kind, "bold"), f": {', '.join(one[kind])}", sep="")
        screen.print()
    title = "Edits: join several with +, let one begin at a step with @300"
    print_table(screen, title, ("edit", "how to write it"), one["edits"].items())


def print_findings(findings: Sequence[Finding]) -> None:
    """What was looked at, the problems with their remedies."""
    colours = {"good": "green", "note": "yellow", "problem": "red"}
    screen = console()
    for one in findings:
        told = styled(f"{one.verdict:<8}", colours[one.verdict])
        screen.print(told, f"{one.topic}: {one.text}", soft_wrap=True)
        if one.remedy:
            screen.print(f"         {one.remedy}", style="dim", soft_wrap=True)
    problems = sum(one.verdict == "problem" for one in findings)
    screen.print(f"{problems or 'no'} problem{'' if problems == 1 else 's'}", style="bold")


def _in_words(value: Any) -> str:
    """Names with what belongs to them, on one line."""
    if not isinstance(value, dict):
        return str(value)
    return "; ".join(f"{name} ({', '.join(map(str, parts))})" for name, parts in value.items()) or "none"


def _print_actions(law: dict[str, Any]) -> None:
    """What every action does: control = default + scale·action, within a range."""
    columns = ("names", "kinds", "default", "scale", "low", "high", "units", "stiffness", "damping", "effort")
    rows = [
        tuple("" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row)
        for row in zip(*(law[column] for column in columns), strict=True)
    ]
    pace = f", {law['rate']:g} a second" if law["rate"] else ""
    title = f"Actions{pace}: control = default + scale·action, cut to low … high"
    heads = ("drives", "law", "default", "scale", "low", "high", "unit", "kp", "kd", "largest effort")
    print_table(console(), title, heads, rows)
    if law["meaning"]:
        console().print(law["meaning"], soft_wrap=True)
    if law["gains"]:
        console().print(
            ", ".join(f"{name} {value:g}" for name, value in law["gains"].items()), soft_wrap=True
        )


def _kept(kept: int, size: int) -> Text:
    if kept == 0:
        return styled("removed", "yellow")
    return styled("kept" if kept == size else f"keeps {kept}")


def _shortened(names: list[str], most: int = 4) -> str:
    more = f", … ({len(names)})" if len(names) > most else ""
    return ", ".join(names[:most]) + more
