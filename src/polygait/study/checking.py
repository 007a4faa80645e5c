"""What a job's result must look like: it may come from anywhere, so it is checked before it is believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from polygait.suites import MADE_FROM_ANATOMY

_KINDS: dict[str, str] = {
    "condition": "text",
    "scale": "number or null",
    "member": "whole number",
    "mean_return": "number",
    "steps": "whole number",
    "return": "number",
    "variation": "text",
    "world": "text",
    "falls": "number",
    "mean_speed": "number or null",
    "seconds": "number or null",
    "part": "text",
    "share": "number or null",
    "freed": "number",
}
RETURNS = ("condition", "scale", "member", "mean_return")
MEASURED = ("falls", "mean_speed")
CURVES = ("member", "steps", "return")
MESH = ("condition", "variation", "world", "member", "mean_return", "falls", "mean_speed", "seconds")
VARIANCE = ("part", "share", "freed")
_EPISODES = ("returns", "progress")
_PARTS = ("returns", "held_out", "diversity", "curves", "contacts", "patterns", "versions")
_LARGEST = 2**63


def check_result(result: Any, members: int) -> None:
    """Raise a ValueError that says what is wrong with the result of a population of so many members."""
    require_object(result, "it")
    if missing := [name for name in _PARTS if name not in result]:
        raise ValueError(f"{', '.join(missing)}: missing")
    require_object(result["returns"], "returns")
    measured = tuple(name for name in MEASURED if name in result["returns"])  # results of 0.1 have none
    _check_columns(result["returns"], "returns", (*RETURNS, *measured), members)
    _check_columns(result["curves"], "curves", CURVES, members)
    _check_every_member(result["returns"], members)
    if result["held_out"] is not None:
        _check_columns(result["held_out"], "held_out", RETURNS, members)
    for suite in MADE_FROM_ANATOMY:
        if result.get(suite) is not None:  # whether it was measured
            _check_columns(result[suite], suite, MESH, members)
            _check_episodes(result[suite], suite)
    if result["diversity"] is not None:
        _require(result["diversity"], "number", "diversity")
    if result.get("variance") is not None:  # earlier results have none
        _check_columns(result["variance"], "variance", VARIANCE, members)
    if result["contacts"] is not None:
        _check_contacts(result["contacts"], members)
        _check_patterns(result["patterns"], members, len(result["contacts"]["feet"]))
    require_object(result["versions"], "versions")
    for name, version in result["versions"].items():
        _require(version, "text", f"versions.{name}")


def require_object(value: Any, where: str) -> None:
    """Raise a ValueError for what is not a JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object, got {_shown(value)}")


def _check_columns(table: Any, where: str, names: tuple[str, ...], members: int) -> None:
    """Columns of equal length, their values of the right kind, their members among those of the job."""
    require_object(table, where)
    if missing := [name for name in names if name not in table]:
        raise ValueError(f"{where}.{missing[0]} is missing")
    for name in names:
        _require_list(table[name], f"{where}.{name}")
        _require_list(table[name], f"{where}.{name}", len(table[names[0]]))
        for row, value in enumerate(table[name]):
            _require(value, _KINDS[name], f"{where}.{name}[{row}]")
    if strangers := sorted({member for member in table.get("member", ()) if not 0 <= member < members}):
        raise ValueError(f"{where} names member {strangers[0]}; the job has {members}")


def _check_episodes(table: Mapping[str, Any], where: str) -> None:
    """What every episode came to; progress may be unknown, but not of some episodes only."""
    for name in _EPISODES:
        _require_list(table.get(name), f"{where}.{name}", len(table["member"]))
    for row, (returns, progress) in enumerate(zip(table["returns"], table["progress"], strict=True)):
        _require_list(returns, f"{where}.returns[{row}]")
        if (progress is None) != (table["seconds"][row] is None):
            told = f"{where}.progress[{row}] and {where}.seconds[{row}]"
            raise ValueError(f"{told} must both be known or unknown")
        if progress is not None:
            _require_list(progress, f"{where}.progress[{row}]", len(returns))
        for value in (*returns, *(progress or ())):
            _require(value, "number", f"{where} episodes of row {row}")


def _check_every_member(returns: Mapping[str, Any], members: int) -> None:
    """In each condition every member was measured, and all of them as often."""
    if not returns["condition"]:
        raise ValueError("returns are empty")
    cells = Counter(zip(returns["condition"], returns["scale"], returns["member"], strict=True))
    for condition, scale in {cell[:2]: None for cell in cells}:
        counts = {cells[condition, scale, member] for member in range(members)}
        if len(counts) > 1:
            where = condition if scale is None else f"{condition}={scale}"
            raise ValueError(f"returns do not have each of {members} members in {where!r} equally often")


def _check_contacts(contacts: Any, members: int) -> None:
    """Shares of time on the ground: member × episode × foot."""
    require_object(contacts, "contacts")
    feet = contacts.get("feet")
    _require_list(feet, "contacts.feet")
    for place, foot in enumerate(feet):
        _require(foot, "text", f"contacts.feet[{place}]")
    if not feet or len(set(feet)) < len(feet):
        raise ValueError(f"contacts.feet must name each foot once, got {_shown(feet)}")
    _require_list(contacts.get("down"), "contacts.down", members)
    for member, episodes in enumerate(contacts["down"]):
        _require_list(episodes, f"contacts.down[{member}]")
        for episode, shares in enumerate(episodes):
            where = f"contacts.down[{member}][{episode}]"
            _require_list(shares, where, len(feet))
            for share in shares:
                _require(share, "number", where)


def _check_patterns(patterns: Any, members: int, feet: int) -> None:
    """Steps of an episode as texts of 0 and 1: member × foot."""
    require_object(patterns, "patterns")
    _require(patterns.get("time_step"), "number or null", "patterns.time_step")
    _require_list(patterns.get("down"), "patterns.down", members)
    for member, texts in enumerate(patterns["down"]):
        where = f"patterns.down[{member}]"
        _require_list(texts, where, feet)
        for text in texts:
            if not isinstance(text, str) or set(text) - {"0", "1"}:
                raise ValueError(f"{where} must hold texts of 0 and 1, got {_shown(text)}")


def _require_list(value: Any, where: str, length: int | None = None) -> None:
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list, got {_shown(value)}")
    if length is not None and len(value) != length:
        raise ValueError(f"{where} must have {length} entries, got {len(value)}")


def _require(value: Any, kind: str, where: str) -> None:
    if not _is_a(value, kind):
        raise ValueError(f"{where} must be a {kind}, got {_shown(value)}")


def _is_a(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a kind; true and false are no numbers."""
    if value is None:
        return kind.endswith("or null")
    if kind == "text":
        return isinstance(value, str)
    whole = type(value) is int and abs(value) < _LARGEST
    return whole or (kind != "whole number" and type(value) is float)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
