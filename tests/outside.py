"""A package that somebody else wrote, as pip would have installed it."""

from __future__ import annotations

from pathlib import Path


def write_package(folder: Path, name: str, source: str, points: dict[str, dict[str, str]]) -> None:
    """One module and its entry points (group → name → object); `folder` must then be on the path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    information = folder / f"{name}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, objects in points.items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in objects.items()))
    ]
    (information / "entry_points.txt").write_text("\n".join(lines) + "\n")
