"""Robot cards: a picture of a robot with the names by which its parts are changed and its state filtered."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from polygait.charts import FONT
from polygait.errors import UserError
from polygait.report.pictures.images import png
from polygait.report.pictures.labels import (
    LINE,
    NOTE_LINE,
    Anchor,
    Label,
    label_height,
    needed_height,
    place_labels,
)
from polygait.report.pictures.painters import make_painter
from polygait.report.pictures.scene import (
    FROM_ABOVE,
    Framing,
    Stage,
    bodies_above,
    is_planar,
    require_robot,
    torso,
)
from polygait.report.pictures.state_parts import state_patterns
from polygait.storage.files import write_atomically
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.registry import make_task
from polygait.tasks.robot import foot_geoms

WIDTH, LEAST_HEIGHT = 960, 560
CONTENT = "joints, bodies, feet and their parts of the state"
"""What a card shows, for those who cannot see it."""
_SHARE = 0.55  # of the width, for the robot; labels have the rest
_SPREAD = (0.04, 0.22)  # how far the joints of the first and of the last leg go into their range
_MARGIN, _HEAD, _FOOT = 16.0, 52.0, 44.0
_LETTER = 7.3  # pixels, wide enough for any letter of the font
_LENGTHS = {
    mujoco.mjtGeom.mjGEOM_CAPSULE.value: 1,
    mujoco.mjtGeom.mjGEOM_CYLINDER.value: 1,
    mujoco.mjtGeom.mjGEOM_BOX.value: 2,
}
"""Which of a geom's sizes is half its length."""
_NOTE_LETTER = 6.4  # the same for second lines
_INK, _PAPER, _STATE = "#1f2933", "#ffffff", "#0b63a5"
_MARKS = {"joint": "#1f2933", "body": "#5b6b7b", "foot": "#00695c"}


def save_card(
    name: str, path: str | Path, renderer: str = "auto", options: Mapping[str, Any] | None = None
) -> Path:
    """Write a robot's card as SVG or PNG, by the ending of its name; options are the robot's own."""
    path = Path(path)
    if path.suffix not in (".svg", ".png"):
        raise UserError(f"Cannot write a picture as {path.name!r}.", "End its name in .svg or .png.")
    svg = robot_card(require_robot(make_task(name, **(options or {}))), renderer)
    if path.suffix == ".svg":
        data = svg.encode()
    else:
        import vl_convert

        data = vl_convert.svg_to_png(svg, scale=2)
    write_atomically(path, data, "draw again")
    return path


def robot_card(task: MujocoTask, renderer: str = "auto") -> str:
    """A robot with its named joints, bodies and feet and their state, as an SVG that holds its picture."""
    notes = state_patterns(task)
    heights = [label_height(notes.get(part, "")) for part in _named_parts(task)]
    size = (WIDTH, 2 * math.ceil((max(LEAST_HEIGHT, needed_height(heights) + _HEAD + _FOOT)) / 2))
    stage = Stage(task.robot, size, Framing(_SHARE, FROM_ABOVE, _standing(task)))
    painter = make_painter(stage, renderer)
    try:
        picture = png(painter.paint())
    finally:
        painter.close()
    labels = place_labels(_anchors(task, stage, notes), _HEAD, size[1] - _FOOT)
    return _svg(task.name, size, picture, labels)


def _named_parts(task: MujocoTask) -> Iterator[tuple[str, str]]:
    """Kind and name of all that is labelled; the joints that hold the whole robot are left out."""
    root = torso(task.model)
    for name, (joint, _) in task.anatomy.joints.items():
        if task.model.jnt_bodyid[joint] != root or name in task.anatomy.actions:
            yield "joint", name
    for name in task.anatomy.bodies:
        yield "body", name
    for name in task.feet:
        yield "foot", name


def _anchors(task: MujocoTask, stage: Stage, notes: Mapping[tuple[str, str], str]) -> list[Anchor]:
    """Where in the picture every named part is, noted with its part of the state."""
    model, data = stage.model, stage.data
    parts = list(_named_parts(task))
    feet = dict(zip(task.feet, foot_geoms(task.robot), strict=True))
    points = []
    for kind, name in parts:
        if kind == "joint":
            points.append(data.xanchor[task.anatomy.joints[name][0]])
        elif kind == "body":
            body = task.anatomy.bodies[name]
            geoms = np.flatnonzero(model.geom_bodyid == body)
            points.append(data.geom_xpos[geoms].mean(axis=0) if len(geoms) else data.xpos[body])
        else:
            ends = [_end(model, data, model.geom(geom).id) for geom in feet[name]]
            points.append(min(ends, key=lambda end: end[2]))
    places = stage.project(np.array(points)).tolist()
    return [
        Anchor(name, kind, x, y, notes.get((kind, name), ""))
        for (kind, name), (x, y) in zip(parts, places, strict=True)
    ]


def _end(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> np.ndarray:
    """The end of a foot that is nearer to the ground."""
    place, axis = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)[:, 2]
    length = _LENGTHS.get(int(model.geom_type[geom]))
    half = 0.0 if length is None else model.geom_size[geom, length]
    ends = [place + sign * half * axis for sign in (-1, 1)]
    return min(ends, key=lambda end: end[2]) if abs(axis[2]) > 0.1 else ends[1]


def _standing(task: MujocoTask) -> np.ndarray:
    """A pose that shows all parts: joints inside their range, the legs of a robot in a plane spread.

    Where parts are tied together, only the robot itself knows a pose that fits: the one it starts in.
    """
    model = task.model
    if model.neq:
        task.reset()
        return task.physics.qpos[0].copy()
    qpos = model.qpos0.copy()
    legs = _legs(task)
    shares = (
        np.linspace(*_SPREAD, max(2, len(legs)))
        if is_planar(model) and len(legs) > 1
        else np.zeros(len(legs))
    )
    for joint in range(model.njnt):
        if not model.jnt_limited[joint] or model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_HINGE:
            continue
        place, (low, high) = model.jnt_qposadr[joint], model.jnt_range[joint]
        if not low <= qpos[place] <= high:
            qpos[place] = (low + high) / 2
        leg = next((index for index, bodies in enumerate(legs) if model.jnt_bodyid[joint] in bodies), None)
        if leg is not None:
            far = low if qpos[place] - low > high - qpos[place] else high
            qpos[place] += shares[leg] * (far - qpos[place])
    return _on_the_ground(task, qpos)


def _legs(task: MujocoTask) -> list[set[int]]:
    """The bodies of every leg, from its foot up to the torso."""
    root = torso(task.model)
    return [
        {body for geom in geoms for body in bodies_above(task.model, geom) if body != root}
        for geoms in foot_geoms(task.robot)
    ]


def _on_the_ground(task: MujocoTask, qpos: np.ndarray) -> np.ndarray:
    """The same pose with its lowest foot on the floor."""
    model = task.model
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    floor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM.value, task.robot.floor)
    upwards = [
        int(model.jnt_qposadr[joint]) + (2 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE else 0)
        for joint in range(model.njnt)
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        or (model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE and abs(model.jnt_axis[joint, 2]) > 0.9)
    ]
    feet = [model.geom(geom).id for geoms in foot_geoms(task.robot) for geom in geoms]
    if floor < 0 or not upwards or not feet:
        return qpos
    gaps = [mujoco.mj_geomDistance(model, data, floor, foot, 100.0, None) for foot in feet]
    return qpos - np.eye(model.nq)[upwards[0]] * min(gaps)


def _svg(name: str, size: tuple[int, int], picture: bytes, labels: list[Label]) -> str:
    width, height = size
    encoded = base64.b64encode(picture).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(name)}: {CONTENT}" '
        f'font-family="{FONT}" font-size="13">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{encoded}"/>'
        f'<text x="{_MARGIN}" y="32" font-size="20" font-weight="600" fill="{_INK}">{escape(name)}</text>'
        f"{''.join(_leader(label, width) for label in labels)}"
        f"{''.join(_mark(label.anchor.kind, label.anchor.x, label.anchor.y) for label in labels)}"
        f"{''.join(_plate(label, width) for label in labels)}{_legend(width, height - 20.0)}</svg>"
    )


def _legend(width: int, y: float) -> str:
    """What marks and the second lines of labels mean."""
    x, parts = width / 2 - 215.0, []
    for kind in _MARKS:
        parts.append(f"{_mark(kind, x, y)}{_text(kind, x + 12, y + 4.5)}")
        x += 80.0
    return "".join([*parts, _note("part of the state, as --remove takes it", x, y + 4.0)])


def _plate_width(anchor: Anchor) -> float:
    return max(_LETTER * len(anchor.text) + 30, _NOTE_LETTER * len(anchor.note) + 30)


def _plate(label: Label, width: int) -> str:
    """A label's text on its own light ground, with the mark of its kind; below it its part of the state."""
    anchor = label.anchor
    wide, top = _plate_width(anchor), label.y - anchor.height / 2
    x = _MARGIN if label.left else width - _MARGIN - wide
    first = top + LINE / 2
    note = _note(anchor.note, x + 22, first + NOTE_LINE + 2.5) if anchor.note else ""
    return (
        f'<rect x="{x:.1f}" y="{top + 1.5:.1f}" width="{wide:.1f}" height="{anchor.height - 3}" rx="6" '
        f'fill="{_PAPER}" fill-opacity="0.92" stroke="#c3ccd5" stroke-width="0.8"/>'
        f"{_mark(anchor.kind, x + 12, first)}{_text(anchor.text, x + 22, first + 4.5)}{note}"
    )


def _leader(label: Label, width: int) -> str:
    wide = _plate_width(label.anchor)
    x = _MARGIN + wide if label.left else width - _MARGIN - wide
    line = f'x1="{x:.1f}" y1="{label.y:.1f}" x2="{label.anchor.x:.1f}" y2="{label.anchor.y:.1f}"'
    return f'<line {line} stroke="#3e4c59" stroke-width="0.9" stroke-opacity="0.75"/>'


def _mark(kind: str, x: float, y: float) -> str:
    """A circle for a joint, a square for a body, a triangle for a foot."""
    style = f'fill="{_MARKS[kind]}" stroke="{_PAPER}" stroke-width="1.4"'
    if kind == "joint":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.6" {style}/>'
    if kind == "body":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {style}/>'
    return f'<path d="M{x - 5.5:.1f} {y + 4:.1f}h11l-5.5 -9.5z" {style}/>'


def _text(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{_INK}">{escape(text)}</text>'


def _note(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" fill="{_STATE}">{escape(text)}</text>'
