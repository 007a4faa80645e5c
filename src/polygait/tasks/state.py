"""Names for the numbers of an observation, and the filter f(s) that keeps some of them.

A layout is the ordered tuple of its leaf names ("right_leg.position.foot"); every prefix of a
leaf ("right_leg.position", "right_leg") is a part. Patterns may use globs at every level.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygait.errors import UserError, unknown_name

_WRITE_LAYOUT = 'Write StateLayout.of({"torso.position": ("height", "pitch")}).'


@dataclass(frozen=True)
class StateLayout:
    """The name of every number in an observation, in order."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.names, str) or not isinstance(self.names, Sequence):
            raise UserError(f"A state layout is a list of names, got {self.names!r}.", _WRITE_LAYOUT)
        object.__setattr__(self, "names", tuple(self.names))
        seen: set[str] = set()
        for name in self.names:
            words = name.split(".") if isinstance(name, str) else [""]
            if not all(words) or any(character in name for character in "*?[] "):
                raise UserError(
                    f"Not a state name: {name!r}.",
                    "Use words joined by dots, such as 'torso.position.height'.",
                )
            if name in seen:
                raise UserError(f"State name given twice: {name!r}.", "Every number needs its own name.")
            seen.add(name)
        for name in self.names:
            if clash := seen.intersection(_prefixes(name)[:-1]):
                raise UserError(
                    f"State name {clash.pop()!r} is both a number and a part (of {name!r}).",
                    "Give the number a longer name.",
                )

    @classmethod
    def of(cls, parts: Mapping[str, Sequence[str]]) -> StateLayout:
        """A layout from part names and the leaf names inside each, in order."""
        if not isinstance(parts, Mapping) or not all(
            isinstance(leaves, Sequence) and not isinstance(leaves, str) for leaves in parts.values()
        ):
            raise UserError(f"A state layout is parts with lists of names, got {parts!r}.", _WRITE_LAYOUT)
        return cls(tuple(f"{part}.{leaf}" for part, leaves in parts.items() for leaf in leaves))

    @classmethod
    def numbered(cls, size: int, part: str = "state") -> StateLayout:
        """Generated names for a state nobody has named: state.0, state.1, …."""
        return cls.of({part: [str(index) for index in range(size)]})

    @property
    def size(self) -> int:
        """How many numbers the observation has."""
        return len(self.names)

    @functools.cached_property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """Every part at every level, from coarse names to leaves, and the indices it covers."""
        members: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            for prefix in _prefixes(name):
                members.setdefault(prefix, []).append(index)
        return {part: tuple(indices) for part, indices in members.items()}

    @functools.cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """The parts with two words ("torso.position"): the rows of a readable table."""
        members: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            words = name.split(".")
            members.setdefault(".".join(words[: max(1, min(2, len(words) - 1))]), []).append(index)
        return {part: tuple(indices) for part, indices in members.items()}

    def select(self, patterns: str | Iterable[str]) -> np.ndarray:
        """The sorted indices of every number whose name, or a part it belongs to, matches a pattern."""
        single = isinstance(patterns, str) or not isinstance(patterns, Iterable)
        wanted: list[Any] = [patterns] if single else list(patterns)
        if not all(isinstance(pattern, str) for pattern in wanted):
            raise UserError(
                f"State parts are named by texts, got {patterns!r}.", 'Write for example ["right_leg.*"].'
            )
        chosen: set[int] = set()
        for pattern in wanted:
            matching = [part for part in self.parts if fnmatch.fnmatchcase(part, pattern)]
            if not matching:
                raise unknown_name("state part", pattern, self.parts)
            for part in matching:
                chosen.update(self.parts[part])
        return np.array(sorted(chosen), dtype=np.intp)

    def slice(self, part: str) -> slice:
        """Where one part lies in the observation; the part must be contiguous."""
        if part not in self.parts:
            raise unknown_name("state part", part, self.parts)
        indices = self.parts[part]
        if indices[-1] - indices[0] + 1 != len(indices):
            raise UserError(
                f"State part {part!r} is not contiguous: it lies at {list(indices)}.",
                "Use layout.select(...) for its indices.",
            )
        return slice(indices[0], indices[-1] + 1)

    def to_json(self) -> list[str]:
        """The layout as plain data."""
        return list(self.names)

    @classmethod
    def from_json(cls, data: Any) -> StateLayout:
        """The layout that to_json() described."""
        if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
            raise UserError("A state layout must be a list of names.", "Write it with StateLayout.to_json().")
        return cls(tuple(data))

    def __str__(self) -> str:
        return str(StateFilter.identity(self))


@dataclass(frozen=True)
class StateFilter:
    """f(s): the numbers of a state that the diversity objective may see.

    Removing a part frees it to become different; what is kept is meant to regulate, and does so in part
    (docs/methods/dir.md). Works on the last axis of NumPy and JAX arrays. `nothing` keeps a zero-width state.
    """

    layout: StateLayout
    kept: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_layout(self.layout)
        if list(self.kept) != sorted(set(self.kept) & set(range(self.layout.size))):
            raise UserError(
                f"A filter's indices must be sorted, unique and within 0…{self.layout.size - 1}, "
                f"got {list(self.kept)}.",
                "Make filters with StateFilter.remove(layout, [...]) or .keep(layout, [...]).",
            )

    @classmethod
    def remove(cls, layout: StateLayout, patterns: str | Iterable[str]) -> StateFilter:
        """Keep everything but the parts named."""
        _require_layout(layout)
        removed = set(layout.select(patterns).tolist())
        return cls(layout, tuple(index for index in range(layout.size) if index not in removed))

    @classmethod
    def keep(cls, layout: StateLayout, patterns: str | Iterable[str]) -> StateFilter:
        """Keep only the parts named."""
        _require_layout(layout)
        return cls(layout, tuple(layout.select(patterns).tolist()))

    @classmethod
    def identity(cls, layout: StateLayout) -> StateFilter:
        """Keep the whole state: f(s) = s."""
        _require_layout(layout)
        return cls(layout, tuple(range(layout.size)))

    @classmethod
    def nothing(cls, layout: StateLayout) -> StateFilter:
        """Keep no state: f(s) = ∅."""
        return cls(layout, ())

    @property
    def size(self) -> int:
        """The width of f(s)."""
        return len(self.kept)

    @property
    def kept_names(self) -> tuple[str, ...]:
        """The names of the numbers that remain."""
        return tuple(self.layout.names[index] for index in self.kept)

    @property
    def removed_names(self) -> tuple[str, ...]:
        """The names of the numbers that are taken away."""
        kept = set(self.kept)
        return tuple(name for index, name in enumerate(self.layout.names) if index not in kept)

    @property
    def removed_shares(self) -> dict[str, float]:
        """For every part of the state, from coarse ones to numbers, the share that is taken away."""
        kept = set(self.kept)
        return {
            part: 1 - len(kept.intersection(places)) / len(places)
            for part, places in self.layout.parts.items()
        }

    def __call__(self, state: Any) -> Any:
        """f(s) over the last axis."""
        if state.shape[-1:] != (self.layout.size,):
            raise UserError(
                f"Expected states of shape (..., {self.layout.size}), one number per name of the layout, "
                f"got {tuple(state.shape)}.",
                "Filter full observations, once.",
            )
        return state[..., np.asarray(self.kept, dtype=np.intp)]

    def to_json(self) -> dict[str, list[str]]:
        """The filter as plain data: the layout and the names kept."""
        return {"layout": self.layout.to_json(), "kept": list(self.kept_names)}

    @classmethod
    def from_json(cls, data: Any) -> StateFilter:
        """The filter that to_json() described."""
        if not isinstance(data, dict) or set(data) != {"layout", "kept"}:
            raise UserError(
                "A state filter must be an object with 'layout' and 'kept'.",
                "Write it with StateFilter.to_json().",
            )
        layout = StateLayout.from_json(data["layout"])
        if not isinstance(data["kept"], list) or not layout.parts.keys() >= {
            str(name) for name in data["kept"]
        }:
            raise UserError(
                "A state filter must keep names of its layout.", "Write it with StateFilter.to_json()."
            )
        return cls.keep(layout, data["kept"]) if data["kept"] else cls.nothing(layout)

    def __str__(self) -> str:
        kept = set(self.kept)
        lines = [f"{'part':<28}{'size':>5}  f(s)"]
        for part, indices in self.layout.groups.items():
            share = len(kept.intersection(indices))
            verdict = {0: "removed", len(indices): "kept"}.get(share, f"keeps {share}")
            lines.append(f"{part:<28}{len(indices):>5}  {verdict}")
        return "\n".join([*lines, f"{'total':<28}{self.layout.size:>5}  keeps {self.size}"])


def _require_layout(layout: object) -> None:
    if not isinstance(layout, StateLayout):
        raise UserError(
            f"A filter needs a StateLayout, got {layout!r}.", "Give the layout of a task: task.layout."
        )


def _prefixes(name: str) -> list[str]:
    """A leaf's parts from coarse to fine, itself last."""
    words = name.split(".")
    return [".".join(words[: depth + 1]) for depth in range(len(words))]
